//! Problem documents (RFC 9457): the responses to requests that fail.

mod detail;
mod engine;
mod rejection;

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use entourage_api::Problem as Document;

use detail::{MistakeSort, Place};

pub(crate) use detail::{Detail, ValidationDetail, with_detail};
pub(crate) use rejection::{method_not_allowed, no_route, panicked};

/// Why a request failed: the document that the caller receives, and what stays here.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) document: Document,
    /// What few problems have.
    more: Box<More>,
    /// The engine's error, for callers within this process.
    cause: Cause,
}

/// What a few problems have beside their document.
#[derive(Debug, Clone, Default)]
struct More {
    /// Where in the body the mistake is, and of which sort.
    place: Place,
    /// The version that a document has by now, if the request was made for another one.
    version: Option<u64>,
    /// When to ask again, where that is known better than usual.
    retry_after: Option<Duration>,
}

/// The error of the engine behind a problem, if there is one. It never leaves the process: an extension of the
/// response.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cause(Arc<Mutex<Option<entourage_engine::Error>>>);

impl Cause {
    fn new(error: entourage_engine::Error) -> Self {
        Self(Arc::new(Mutex::new(Some(error))))
    }

    /// Takes the error.
    pub(crate) fn take(&self) -> Option<entourage_engine::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Defines every problem: its slug, its title and its status.
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
                let document = Document {
                    kind: Cow::Borrowed(kind::$name()),
                    title: Cow::Borrowed($title),
                    status: StatusCode::$status.as_u16(),
                    detail: detail.into(),
                };
                Self { document, more: Box::default(), cause: Cause::default() }
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
    bad_cursor          "invalid-cursor"       "The cursor was not issued by this server"  BAD_REQUEST;
    bad_header          "invalid-header"       "A header is not well formed"             BAD_REQUEST;
    bad_json            "invalid-json"         "The body is not JSON"                    BAD_REQUEST;
    bad_body            "invalid-body"         "The body is not what is expected"        UNPROCESSABLE_ENTITY;
    bad_media_type      "media-type"           "The body must be JSON"                   UNSUPPORTED_MEDIA_TYPE;
    too_slow            "too-slow"             "The body did not arrive in time"         REQUEST_TIMEOUT;
    too_large           "too-large"            "The body is too large"                   PAYLOAD_TOO_LARGE;
    unauthorized        "unauthorized"         "A valid token is needed"                 UNAUTHORIZED;
    wrong_credentials   "wrong-credentials"    "The email or the password is wrong"      UNAUTHORIZED;
    no_registration     "no-registration"      "The server has no accounts"              NOT_FOUND;
    email_taken         "email-taken"          "An account has this email"               CONFLICT;
    too_many_attempts   "too-many-attempts"    "Too many attempts"                       TOO_MANY_REQUESTS;
    no_senders          "no-webhooks"          "No webhooks are accepted"                NOT_FOUND;
    bad_signature       "bad-signature"        "The webhook is not signed by a known sender" UNAUTHORIZED;
    stale_webhook       "stale-webhook"        "The webhook's timestamp is too far off"  UNAUTHORIZED;
    forbidden           "foreign-site"         "Only this machine is served"             FORBIDDEN;
    page_visit          "page-visit"           "A link starts no agent"                  FORBIDDEN;
    reserved            "operator-only"        "Only the operator may do this"          FORBIDDEN;
    broken_kinds        "broken-kinds"         "The kind files have mistakes"            UNPROCESSABLE_ENTITY;
    no_project          "project-needed"       "A project is needed"                     BAD_REQUEST;
    unknown_kind        "unknown-kind"         "There is no such kind"                   UNPROCESSABLE_ENTITY;
    invalid             "invalid-request"      "The request is not valid"                UNPROCESSABLE_ENTITY;
    no_answer           "no-answer"            "The agent gave no answer"                UNPROCESSABLE_ENTITY;
    key_reused          "key-reused"           "The idempotency key belongs to another request" UNPROCESSABLE_ENTITY;
    not_open            "question-not-open"    "The question is not open"                CONFLICT;
    other_call          "other-call"           "The answer is for another call"          CONFLICT;
    not_now             "not-now"              "The agent's state does not allow this"   CONFLICT;
    no_secret_key       "no-secret-key"        "The server has no key to seal secrets with" CONFLICT;
    limit_reached       "limit-reached"        "There can be no more of these"           CONFLICT;
    name_in_use         "name-in-use"          "The name is in use"                      CONFLICT;
    unanswered          "unanswered"           "The message was not answered"            CONFLICT;
    stale_version       "stale-version"        "The document was changed meanwhile"      PRECONDITION_FAILED;
    version_needed      "version-needed"       "The version seen is needed"              PRECONDITION_REQUIRED;
    gone                "agent-cancelled"      "The agent was cancelled"                 CONFLICT;
    too_many_streams    "too-many-streams"     "Too many streams are open"               TOO_MANY_REQUESTS;
    too_many_requests   "too-many-requests"    "Too many requests at once"               TOO_MANY_REQUESTS;
    entry_gone          "entry-gone"           "The entry that the cursor names is gone" GONE;
    cursor_gone         "cursor-gone"          "The events after this number are gone"   GONE;
    past_gone           "past-gone"            "The events up to this number are gone"   GONE;
    disk_full           "disk-full"            "The disk is full"                        SERVICE_UNAVAILABLE;
    unavailable         "store-unavailable"    "The store cannot be reached"             SERVICE_UNAVAILABLE;
    busy                "busy"                 "The server is full"                      SERVICE_UNAVAILABLE;
    stopping            "shutting-down"        "The server is stopping"                  SERVICE_UNAVAILABLE;
    internal            "internal"             "The server failed"                       INTERNAL_SERVER_ERROR;
}

impl Problem {
    /// The same, with the time after which to ask again.
    pub(crate) fn after(self, wait: Duration) -> Self {
        let retry_after = Some(wait);
        Self { more: Box::new(More { retry_after, ..*self.more }), ..self }
    }

    pub(crate) fn no_token() -> Self {
        Self::unauthorized(
            "send `Authorization: Bearer <token>`; `entourage token` makes one where the server verifies with a \
             shared secret",
        )
    }

    pub(crate) fn shutting_down() -> Self {
        Self::stopping("nothing was changed; ask again once the server has restarted")
    }

    pub(crate) fn full() -> Self {
        Self::busy("all connections that this server takes have requests under way; ask again")
    }

    pub(crate) fn bad_token(why: &str) -> Self {
        Self::unauthorized(format!("the token is refused: {why}"))
    }

    /// Says where in its part of the request the mistake is.
    fn placed(self, place: Place) -> Self {
        Self { more: Box::new(More { place, ..*self.more }), ..self }
    }

    /// The same without what the request said, for bodies with secrets.
    pub(crate) fn without_values(mut self) -> Self {
        if self.document.kind == kind::bad_body() || self.document.kind == kind::bad_json() {
            "send an object with `email` and `password`, both strings, and nothing else"
                .clone_into(&mut self.document.detail);
            if self.more.place.sort != MistakeSort::Missing {
                self.more.place.fields.clear();
            }
        }
        self
    }

    /// Says which version the document has by now.
    fn of_version(self, version: u64) -> Self {
        Self { more: Box::new(More { version: Some(version), ..*self.more }), ..self }
    }

    /// Says which field of a body, which parameter or which header has a value that is not taken.
    pub(crate) fn at(self, field: &str) -> Self {
        let place = Place { fields: vec![field.to_owned()], sort: MistakeSort::ValueError };
        self.placed(place)
    }

    pub(crate) fn foreign_host(host: &str) -> Self {
        Self::forbidden(format!(
            "the request is for host `{host}`. Without authentication only localhost, 127.0.0.1 and [::1] are served; \
             configure `[server.auth.jwt]` to serve other names"
        ))
    }

    pub(crate) fn foreign_origin(origin: &str) -> Self {
        Self::forbidden(format!(
            "the request comes from a page of {origin}. Without authentication only pages of this server are accepted; \
             configure `[server.auth.jwt]` to let others ask with a token"
        ))
    }
}

/// The document of a response that is a problem.
pub(crate) fn document_of(response: &Response) -> Option<Document> {
    response.extensions().get::<Arc<detail::Refusal>>().map(|refusal| refusal.document.clone())
}

/// The longest detail, in characters. Details about kind files have one line for each mistake; other details
/// may quote what a client sent, at any length.
const LONGEST: usize = 8_000;
/// When to ask again.
const USUAL_WAIT: Duration = Duration::from_secs(2);

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self { mut document, more, cause } = self;
        let More { place, version, retry_after } = *more;
        if let Some((end, _)) = document.detail.char_indices().nth(LONGEST) {
            document.detail.truncate(end);
            document.detail.push('…');
        }
        let is_of_webhook = [kind::bad_signature(), kind::stale_webhook()].contains(&&*document.kind);
        let scheme = if is_of_webhook { "Webhook-Signature" } else { "Bearer" };
        let status = StatusCode::from_u16(document.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(&document)).into_response();
        response.extensions_mut().insert(cause);
        response.extensions_mut().insert(Arc::new(detail::Refusal { document, place }));
        let headers = response.headers_mut();
        if let Some(version) = version {
            headers.insert(header::ETAG, etag(version));
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        match status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(scheme));
            }
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                let wait = retry_after.unwrap_or(USUAL_WAIT).as_secs();
                headers.insert(header::RETRY_AFTER, HeaderValue::from(wait));
            }
            _ => {}
        }
        response
    }
}

/// The `ETag` of a version of a document.
pub(crate) fn etag(version: u64) -> HeaderValue {
    // Digits between quotes are a header's value.
    HeaderValue::from_str(&format!("\"{version}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}
