//! What came of a request to do something, in the words of this API.

use std::borrow::Cow;

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use entourage_engine::Error;
use serde::Serialize;
use utoipa::ToSchema;

use crate::Problem;

/// Whether something was done.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Done {
    success: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    error: Option<Cow<'static, str>>,
    #[serde(skip)]
    status: StatusCode,
}

/// There is no such agent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NoAgent {
    error: &'static str,
}

impl Default for NoAgent {
    fn default() -> Self {
        Self { error: "Not found" }
    }
}

impl Done {
    pub(crate) const fn success() -> Self {
        Self { success: true, error: None, status: StatusCode::OK }
    }

    pub(crate) fn refused(status: StatusCode, why: impl Into<Cow<'static, str>>) -> Self {
        Self { success: false, error: Some(why.into()), status }
    }

    /// What this API says of an error that the request caused; any other is a problem.
    pub(crate) fn unless(error: Error) -> Result<Self, Problem> {
        let status = match &error {
            Error::NotFound { .. } => StatusCode::NOT_FOUND,
            Error::NotNow { .. } | Error::NotOpen { .. } | Error::Gone(_) => StatusCode::CONFLICT,
            Error::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            _ => return Err(error.into()),
        };
        Ok(Self::refused(status, error.to_string()))
    }
}

impl IntoResponse for Done {
    fn into_response(self) -> Response {
        (self.status, Json(self)).into_response()
    }
}
