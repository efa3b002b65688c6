//! How long the body of a request may take to arrive.

use std::time::Duration;

use axum::{
    BoxError,
    body::{Body, HttpBody as _},
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use futures::{StreamExt as _, stream};
use tokio::time::{Instant, timeout_at};

/// The body of a request did not arrive in time.
#[derive(Debug, thiserror::Error)]
#[error("the body did not arrive in time")]
pub(crate) struct TooSlow;

/// Middleware: fails the body of a request that does not arrive in time.
pub(crate) async fn deadline(State(most): State<Duration>, request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let until = Instant::now() + most;
    let in_time = |body: Body| {
        let pieces = stream::unfold(Some(body.into_data_stream()), move |body| async move {
            let mut body = body?;
            match timeout_at(until, body.next()).await {
                Ok(Some(Ok(piece))) => Some((Ok(piece), Some(body))),
                Ok(Some(Err(error))) => Some((Err(BoxError::from(error)), None)),
                Ok(None) => None,
                Err(_) => Some((Err(BoxError::from(TooSlow)), None)),
            }
        });
        Body::from_stream(pieces)
    };
    next.run(request.map(in_time)).await
}
