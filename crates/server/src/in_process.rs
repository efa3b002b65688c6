//! Answers requests of this process, without a connection.

use std::collections::BTreeMap;

use axum::{
    Router,
    body::Body,
    http::{HeaderValue, Request, header::HOST},
};
use entourage_engine::Engine;
use reqwest::Response;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::{Auth, Error, Result, Settings, problem::Cause, router};

/// The routes of an engine for the program that it is part of: who can call this is the operator.
#[derive(Clone)]
pub struct InProcess {
    routes: Router,
}

impl InProcess {
    /// The address of requests. None leaves the process.
    pub const URL: &str = "http://localhost";

    /// The routes of this engine.
    ///
    /// # Errors
    /// As for [`router()`](crate::router()).
    pub fn new(engine: Engine) -> Result<Self> {
        let settings = Settings { auth: Auth::None, webhooks: BTreeMap::new(), ..Settings::default() };
        Ok(Self { routes: router(engine, &settings, CancellationToken::new())? })
    }

    /// The engine's error behind a response, if that is one.
    pub fn cause(response: &Response) -> Option<entourage_engine::Error> {
        response.extensions().get::<Cause>()?.take()
    }

    /// Answers a request.
    ///
    /// # Errors
    /// [`Error::Request`] if it is none that HTTP allows.
    pub async fn answer(&self, request: reqwest::Request) -> Result<Response> {
        let request = Request::<reqwest::Body>::try_from(request);
        let mut request = request.map_err(|error| Error::Request(error.to_string()))?.map(Body::new);
        request.headers_mut().insert(HOST, HeaderValue::from_static("localhost"));
        let Ok(answer) = self.routes.clone().oneshot(request).await;
        Ok(answer.map(|body| reqwest::Body::wrap_stream(body.into_data_stream())).into())
    }
}
