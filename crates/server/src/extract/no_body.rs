//! A request that has no body: what it wants is in its path and query.

use axum::{
    body::Bytes,
    extract::{FromRequest, Request},
};

use crate::Problem;

/// That the request has no body, or an empty object. What somebody put there would be ignored, although it was meant.
pub(crate) struct NoBody;

impl<S: Send + Sync> FromRequest<S> for NoBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let path = request.uri().path().to_owned();
        match Bytes::from_request(request, state).await {
            Ok(body) if matches!(body.trim_ascii(), b"" | b"{}") => Ok(Self),
            Ok(_) => Err(Problem::bad_body(format!(
                "there is no body here: what can be said is in the path, and in parameters such as `{path}?…` where there are \
                 any"
            ))),
            Err(rejection) => Err(rejection.into()),
        }
    }
}
