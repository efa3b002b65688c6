//! Why a server gave no answer: what that means for the call under way, and how a person or a model
//! reads it.

use std::{error::Error, io};

use rmcp::{
    service::{ClientInitializeError, ServiceError},
    transport::{DynamicTransportError, streamable_http_client::StreamableHttpError},
};

type HttpError = StreamableHttpError<reqwest::Error>;

/// What a call without an answer says of the call and of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// The connection stands, and the server refused the request.
    Refused,
    /// The connection is lost, and the server never took the call.
    Before,
    /// The connection is lost, and the server may have done what was asked.
    During,
    /// The connection stands, but what came back is not an answer; the server may have done what was asked.
    Unreadable,
}

/// What an error says of its call. An error of JSON-RPC is an answer, and does not come here. Whatever is
/// not known to have happened before the server took the call may have happened after it.
pub(super) fn loss(error: &ServiceError) -> Loss {
    let error = match error {
        ServiceError::TransportClosed => return Loss::During,
        ServiceError::TransportSend(error) => error,
        _ => return Loss::Unreadable,
    };
    // A pipe that nobody reads any more.
    if error.error.is::<io::Error>() {
        return Loss::Before;
    }
    match http(error) {
        Some(
            HttpError::SessionExpired
            | HttpError::ReinitializationFailed(_)
            | HttpError::AuthRequired(_)
            | HttpError::TransportChannelClosed,
        ) => Loss::Before,
        Some(HttpError::Client(error)) if error.is_connect() => Loss::Before,
        Some(HttpError::Client(_) | HttpError::UnexpectedEndOfStream | HttpError::SessionRecoveryTimeout) => {
            Loss::During
        }
        Some(HttpError::InsufficientScope(_) | HttpError::ReservedHeaderConflict(_)) => Loss::Refused,
        _ => Loss::Unreadable,
    }
}

/// Why a call has no answer.
pub(super) fn unanswered(error: &ServiceError) -> String {
    match error {
        ServiceError::TransportSend(error) => cause(error),
        ServiceError::UnexpectedResponse => "what it answered is no result of a tool".to_owned(),
        error => error.to_string(),
    }
}

/// Why there is no connection.
pub(super) fn refused(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => cause(error),
        ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => {
            "its answer to `initialize` is not one".to_owned()
        }
        error => error.to_string(),
    }
}

/// The error itself: around it stand the types of the library that carries it.
fn cause(error: &DynamicTransportError) -> String {
    match http(error) {
        Some(HttpError::HttpStatus(error)) => format!("it answered with the HTTP status {}", error.status),
        Some(HttpError::UnexpectedContentType(Some(kind))) => format!("its answer is of the type `{kind}`"),
        Some(HttpError::UnexpectedContentType(None)) => {
            "its answer does not say of which type it is".to_owned()
        }
        Some(HttpError::UnexpectedServerResponse(_) | HttpError::Deserialize(_)) => {
            "its answer cannot be read".to_owned()
        }
        Some(HttpError::Client(error)) => format!("the connection failed: {}", deepest(error)),
        _ => error.error.to_string(),
    }
}

fn http(error: &DynamicTransportError) -> Option<&HttpError> {
    error.error.downcast_ref()
}

fn deepest(error: &dyn Error) -> &dyn Error {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest
}
