//! Errors of provider calls, grouped by what the caller can do about them.

use std::time::{Duration, SystemTime};

use reqwest::{StatusCode, header::HeaderMap};
use secrecy::ExposeSecret;
use serde_json::Value;

use crate::{Connection, Error, Missing, Provider, http};

/// An answer has at most this many bytes of text, reasoning and arguments: several times what the largest
/// models write.
pub(super) const MOST_SAID: usize = 8 << 20;
/// An answer has at most this many tool calls: many times what a model requests at once.
pub(super) const MOST_CALLS: usize = 1000;
/// At most this many bytes of an answer are received: most of them are framing around the text.
pub(super) const MOST_RECEIVED: usize = 256 << 20;
/// At most this many bytes of a provider's error message are read.
pub(super) const MOST_EXPLAINED: usize = 64 << 10;

/// At most this many characters of a provider's message are quoted.
const WORDS: usize = 500;

/// What every error of one call refers to.
pub(super) struct Failure<'a> {
    pub(super) model: &'a str,
    pub(super) provider: Provider,
    pub(super) connection: &'a Connection,
}

impl Failure<'_> {
    /// Returns the error for an unusable answer.
    pub(super) fn bad(&self, what: &str) -> Error {
        Error::BadAnswer { model: self.model.to_owned(), what: self.clean(what) }
    }

    /// Returns the error for a request that would be refused again.
    pub(super) fn refused(&self, cause: &str) -> Error {
        Error::Refused { model: self.model.to_owned(), cause: self.clean(cause) }
    }

    /// Returns the error for a request that is longer than the model's window.
    fn too_long(&self, cause: &str) -> Error {
        Error::BeyondWindow { model: self.model.to_owned(), cause: self.clean(cause) }
    }

    /// Returns the error for a model that does not exist or may not be used.
    fn denied(&self, lack: Missing, cause: &str) -> Error {
        Error::Denied { model: self.model.to_owned(), lack, cause: self.clean(cause) }
    }

    /// Returns the error for a provider that fails.
    pub(super) fn unavailable(&self, cause: &str, retry_after: Option<Duration>) -> Error {
        Error::Unavailable { model: self.model.to_owned(), cause: self.clean(cause), retry_after }
    }

    /// Returns an error if an answer has too many bytes, or too many bytes were received for it.
    pub(super) fn unless_too_long(&self, said: usize, received: usize) -> Result<(), Error> {
        if said <= MOST_SAID && received <= MOST_RECEIVED {
            return Ok(());
        }
        Err(Error::TooLong { model: self.model.to_owned(), bytes: received })
    }

    /// Returns the error for an answer with an absurd number of tool calls.
    pub(super) fn too_many_calls(&self) -> Error {
        self.bad(&format!("not usable: more than {MOST_CALLS} tool calls"))
    }

    /// Returns the error for a whole document in place of an event stream.
    pub(super) fn no_stream(&self, content_type: &str) -> Error {
        let Self { provider, .. } = self;
        self.refused(&format!(
            "the address answers with `{content_type}`, not with a stream of events: check \
             `models.providers.{provider}.base_url`, and whether the server can stream"
        ))
    }

    /// Returns the error for silence.
    pub(super) fn timed_out(&self, after: Duration) -> Error {
        Error::TimedOut { model: self.model.to_owned(), after }
    }

    /// Returns the error for a broken exchange.
    pub(super) fn network(&self, error: reqwest::Error) -> Error {
        let cut = error.is_body() || error.is_decode();
        // Once there is a connection, the provider may have received the request and worked on it.
        let sent = !(error.is_connect() || error.is_builder() || error.is_redirect());
        // The address may hold a password, and the settings contain it anyway.
        let cause = http::chain(&error.without_url());
        if cut {
            self.bad(&format!("cut off: {cause}"))
        } else {
            Error::Unreachable { model: self.model.to_owned(), cause: self.clean(&cause), sent }
        }
    }

    /// Returns the error for an HTTP status other than success.
    pub(super) fn status(&self, status: StatusCode, headers: &HeaderMap, body: &str) -> Error {
        let words = match serde_json::from_str::<Value>(body) {
            Ok(body) => words(&body),
            Err(_) => body.to_owned(),
        };
        let code = status.as_u16();
        let refused = |advice: &str| self.refused(&format!("HTTP {code}: {words}{advice}"));
        let denied = |lack, advice: &str| self.denied(lack, &format!("HTTP {code}: {words}{advice}"));
        let address = format!("`models.providers.{}.base_url`", self.provider);
        match code {
            429 if body.contains("insufficient_quota") => {
                denied(Missing::Credit, ". The account has no credit left")
            }
            429 => Error::RateLimited { model: self.model.to_owned(), retry_after: retry_after(headers) },
            408 | 425 | 500..=599 => self.unavailable(&format!("HTTP {code}: {words}"), retry_after(headers)),
            402 => denied(Missing::Credit, ""),
            401 | 403 => denied(Missing::Key, &self.key_advice()),
            404 => denied(Missing::Model, &format!(". Check the model's name, and {address} if it is set")),
            300..=399 => {
                refused(&format!("The address redirects elsewhere, which is not followed: check {address}"))
            }
            400 | 413 | 422 if is_too_long(body) => self.too_long(&format!("HTTP {code}: {words}")),
            _ => refused(""),
        }
    }

    /// Returns the error for an error event in a stream, in one of the providers' formats.
    pub(super) fn event(&self, body: &Value) -> Error {
        let inner = body.get("error").filter(|error| error.is_object()).unwrap_or(body);
        let word = |key: &str| inner.get(key).and_then(Value::as_str).unwrap_or_default();
        let code = inner.get("code").and_then(Value::as_u64).unwrap_or(0);
        let words = words(body);
        let lack = match (word("type"), code) {
            ("authentication_error" | "permission_error", _) | (_, 401 | 403) => Some(Missing::Key),
            ("billing_error", _) | (_, 402) => Some(Missing::Credit),
            ("not_found_error", _) | (_, 404) => Some(Missing::Model),
            _ => None,
        };
        if code == 429 || word("type").contains("rate_limit") || word("code").contains("rate_limit") {
            Error::RateLimited { model: self.model.to_owned(), retry_after: None }
        } else if let Some(lack) = lack {
            self.denied(lack, &words)
        } else if is_too_long(&inner.to_string()) {
            self.too_long(&words)
        } else if (400..500).contains(&code) && code != 408 || word("type") == "invalid_request_error" {
            self.refused(&words)
        } else {
            self.unavailable(&words, None)
        }
    }

    fn key_advice(&self) -> String {
        let setting = format!("`models.providers.{}.key` in the settings", self.provider);
        match self.provider.key_variable() {
            Some(variable) => format!(". Check the key: {setting}, or {variable} in the environment"),
            None => format!(". Check the key: {setting}"),
        }
    }

    /// Returns a provider's message as it may be shown: on one line, of limited length, and without the key,
    /// which some servers repeat.
    fn clean(&self, words: &str) -> String {
        let mut text = words.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(key) = self.connection.key.as_ref().map(ExposeSecret::expose_secret)
            && !key.is_empty()
        {
            text = text.replace(key, "[key]");
        }
        match text.char_indices().nth(WORDS) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

/// Whether an error means that the request does not fit into the window: by its code, or by its message if it
/// has no code.
fn is_too_long(error: &str) -> bool {
    const SAID: [&str; 8] = [
        "context_length_exceeded",
        "exceed_context_size",
        "prompt is too long",
        "input is too long",
        "maximum context length",
        "exceed context limit",
        "exceeds the available context size",
        "exceeds the context window",
    ];
    let error = error.to_ascii_lowercase();
    SAID.iter().any(|said| error.contains(said))
}

/// Returns the message in a provider's error.
fn words(body: &Value) -> String {
    let sentence =
        ["/error/message", "/message", "/error"].iter().find_map(|path| body.pointer(path)?.as_str());
    sentence.map_or_else(|| body.to_string(), str::to_owned)
}

/// How long the provider asks to wait: in milliseconds, in seconds, or until a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(milliseconds) = header("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    let text = header("retry-after")?;
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(SystemTime::from(until).duration_since(SystemTime::now()).unwrap_or_default())
}
