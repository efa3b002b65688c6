//! What a request is told when it fails: problem documents after RFC 9457.

mod engine;
mod rejection;

use std::borrow::Cow;

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub(crate) use rejection::{method_not_allowed, no_route, panicked};

/// Why a request failed, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[non_exhaustive]
pub struct Problem {
    /// Which problem: stable, for programs.
    #[serde(rename = "type")]
    #[schema(example = "urn:entourage:problem:not-found")]
    pub kind: Cow<'static, str>,
    /// The problem in a few words, the same each time.
    #[schema(example = "Not found")]
    pub title: Cow<'static, str>,
    /// The HTTP status.
    #[schema(example = 404, minimum = 400, maximum = 599)]
    pub status: u16,
    /// This case of it: the cause, and the next step.
    pub detail: String,
}

/// Every problem: its word, its title and its status.
macro_rules! problems {
    ($($name:ident $slug:literal $title:literal $status:ident;)+) => {
        /// The `type` of each.
        mod kind {
            $(pub(super) const fn $name() -> &'static str {
                concat!("urn:entourage:problem:", $slug)
            })+
        }

        impl Problem {
            $(pub(crate) fn $name(detail: impl Into<String>) -> Self {
                Self {
                    kind: Cow::Borrowed(kind::$name()),
                    title: Cow::Borrowed($title),
                    status: StatusCode::$status.as_u16(),
                    detail: detail.into(),
                }
            })+
        }
    };
}

problems! {
    not_found           "not-found"            "Not found"                               NOT_FOUND;
    unknown_route       "no-route"             "Nothing is served at this path"          NOT_FOUND;
    wrong_method        "method-not-allowed"   "The path does not take this method"      METHOD_NOT_ALLOWED;
    bad_path            "invalid-path"         "The path is not well formed"             BAD_REQUEST;
    bad_query           "invalid-query"        "The query is not well formed"            BAD_REQUEST;
    bad_cursor          "invalid-cursor"       "The cursor is not one of this server's"  BAD_REQUEST;
    bad_header          "invalid-header"       "A header is not well formed"             BAD_REQUEST;
    bad_json            "invalid-json"         "The body is not JSON"                    BAD_REQUEST;
    bad_body            "invalid-body"         "The body is not what is expected"        UNPROCESSABLE_ENTITY;
    bad_media_type      "media-type"           "The body must be JSON"                   UNSUPPORTED_MEDIA_TYPE;
    too_slow            "too-slow"             "The body did not arrive in time"         REQUEST_TIMEOUT;
    too_large           "too-large"            "The body is too large"                   PAYLOAD_TOO_LARGE;
    unauthorized        "unauthorized"         "A valid token is needed"                 UNAUTHORIZED;
    no_senders          "no-webhooks"          "No webhooks are taken"                   NOT_FOUND;
    bad_signature       "bad-signature"        "The webhook is not signed by a known sender" UNAUTHORIZED;
    stale_webhook       "stale-webhook"        "The webhook is not of now"               UNAUTHORIZED;
    forbidden           "foreign-site"         "Only this machine is served"             FORBIDDEN;
    reserved            "operator-only"        "Only the operator may do this"          FORBIDDEN;
    broken_kinds        "broken-kinds"         "The files of kinds have mistakes"       UNPROCESSABLE_ENTITY;
    unknown_kind        "unknown-kind"         "There is no such kind"                   UNPROCESSABLE_ENTITY;
    invalid             "invalid-request"      "The request makes no sense as it is"     UNPROCESSABLE_ENTITY;
    no_answer           "no-answer"            "The agent gave no answer"                UNPROCESSABLE_ENTITY;
    key_reused          "key-reused"           "The idempotency key stands for another request" UNPROCESSABLE_ENTITY;
    not_open            "question-not-open"    "The question is not open"                CONFLICT;
    other_call          "other-call"           "The answer is for another call"          CONFLICT;
    not_now             "not-now"              "The agent is not where this can be done"  CONFLICT;
    gone                "agent-cancelled"      "The agent was cancelled"                 CONFLICT;
    too_many_streams    "too-many-streams"     "Too many streams are open"               TOO_MANY_REQUESTS;
    too_many_requests   "too-many-requests"    "Too many requests at once"               TOO_MANY_REQUESTS;
    cursor_gone         "cursor-gone"          "The events behind this number are gone"  GONE;
    disk_full           "disk-full"            "The disk is full"                        SERVICE_UNAVAILABLE;
    unavailable         "store-unavailable"    "The store cannot be reached"             SERVICE_UNAVAILABLE;
    busy                "busy"                 "The server is full"                      SERVICE_UNAVAILABLE;
    stopping            "shutting-down"        "The server stops"                        SERVICE_UNAVAILABLE;
    internal            "internal"             "The server is at fault"                  INTERNAL_SERVER_ERROR;
}

impl Problem {
    /// Whether the server stops, and takes nothing more.
    #[must_use]
    pub fn is_shutting_down(&self) -> bool {
        self.kind == kind::stopping()
    }

    /// Whether a question was answered that is not open any more.
    #[must_use]
    pub fn is_not_open(&self) -> bool {
        self.kind == kind::not_open()
    }

    /// Whether events were asked for from one on that the engine does not have: not any more, or not yet.
    #[must_use]
    pub fn is_cursor_gone(&self) -> bool {
        self.kind == kind::cursor_gone()
    }

    pub(crate) fn no_token() -> Self {
        Self::unauthorized("send `Authorization: Bearer <token>`; `entourage token` makes one")
    }

    pub(crate) fn shutting_down() -> Self {
        Self::stopping("nothing was changed; ask again once the server has started anew")
    }

    pub(crate) fn full() -> Self {
        Self::busy("all connections that this server takes have requests under way; ask again")
    }

    pub(crate) fn bad_token(why: &str) -> Self {
        Self::unauthorized(format!("the token is refused: {why}"))
    }

    pub(crate) fn foreign_host(host: &str) -> Self {
        Self::forbidden(format!(
            "the request is for host `{host}`. Without authentication only localhost, 127.0.0.1 and [::1] are served; \
             configure `[server.auth.jwt]` to serve other names"
        ))
    }

    pub(crate) fn foreign_origin(origin: &str) -> Self {
        Self::forbidden(format!(
            "the request comes from a page of {origin}. Without authentication only pages of this server itself are; \
             configure `[server.auth.jwt]` to let others ask with a token"
        ))
    }
}

/// The longest detail, in characters: those about files of kinds have one line for each mistake, while what a client
/// sent, which a detail may name, is as long as it likes.
const LONGEST: usize = 8_000;

impl IntoResponse for Problem {
    fn into_response(mut self) -> Response {
        if let Some((end, _)) = self.detail.char_indices().nth(LONGEST) {
            self.detail.truncate(end);
            self.detail.push('…');
        }
        let scheme = if self.kind == kind::unauthorized() { "Bearer" } else { "Webhook-Signature" };
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        match status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(scheme));
            }
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("2"));
            }
            _ => {}
        }
        response
    }
}
