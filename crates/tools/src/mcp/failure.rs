//! Why a server gave no answer: the consequences for the call, and the message for a person or a model.

use std::{error::Error, io};

use rmcp::{
    service::{ClientInitializeError, ServiceError},
    transport::{DynamicTransportError, streamable_http_client::StreamableHttpError},
};

/// How many characters are kept of what a server gives as a reason: it may be as long as a message, and is in each log
/// line, list and output about the failure.
const LONGEST_REASON: usize = 500;

type HttpError = StreamableHttpError<reqwest::Error>;

/// What a call without an answer means for the call and its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LostCall {
    /// The connection is open, and the server refused the request.
    Refused,
    /// The connection is lost, and the server never received the call.
    Before,
    /// The connection is lost, and the server may have executed the call.
    During,
    /// The connection is open, but the response is not an answer; the server may have executed the call.
    Unreadable,
}

/// Classifies an error of a call. A JSON-RPC error is an answer, and is not passed to this function. Unless
/// the failure certainly happened before the server received the call, it may have happened afterwards.
pub(super) fn loss(error: &ServiceError) -> LostCall {
    let error = match error {
        ServiceError::TransportClosed => return LostCall::During,
        ServiceError::TransportSend(error) => error,
        _ => return LostCall::Unreadable,
    };
    // A pipe without a reader.
    if error.error.is::<io::Error>() {
        return LostCall::Before;
    }
    match http(error) {
        Some(
            HttpError::SessionExpired
            | HttpError::ReinitializationFailed(_)
            | HttpError::AuthRequired(_)
            | HttpError::TransportChannelClosed,
        ) => LostCall::Before,
        Some(HttpError::Client(error)) if error.is_connect() => LostCall::Before,
        Some(HttpError::Client(_) | HttpError::UnexpectedEndOfStream | HttpError::SessionRecoveryTimeout) => {
            LostCall::During
        }
        Some(HttpError::InsufficientScope(_) | HttpError::ReservedHeaderConflict(_)) => LostCall::Refused,
        _ => LostCall::Unreadable,
    }
}

/// Describes why a call has no answer.
pub(super) fn unanswered(error: &ServiceError) -> String {
    match error {
        ServiceError::TransportSend(error) => cause(error),
        ServiceError::UnexpectedResponse => "its answer is not a tool result".to_owned(),
        error => error.to_string(),
    }
}

/// Describes why there is no connection.
pub(super) fn refused(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => cause(error),
        ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => {
            "its answer to `initialize` is not valid".to_owned()
        }
        error => error.to_string(),
    }
}

/// Describes the underlying error, without the wrapper types of the library.
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

/// Returns the beginning of a reason. Secrets must be struck before: what is left of one that is cut would not be found.
pub(super) fn shortened(mut reason: String) -> String {
    if let Some((end, _)) = reason.char_indices().nth(LONGEST_REASON) {
        reason.truncate(end);
        reason.push('…');
        reason.shrink_to_fit();
    }
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_as_long_as_it_is_useful() {
        assert_eq!(shortened("it does not start".to_owned()), "it does not start");
        let short = shortened("ü".repeat(15 << 20));
        assert_eq!((short.chars().count(), short.ends_with("ü…")), (LONGEST_REASON + 1, true));
    }
}
