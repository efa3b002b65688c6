//! The engine's errors as problems.

use entourage_engine::{Error, StoreError};

use super::{Cause, Problem};
use crate::extract::IDEMPOTENCY_KEY;

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let problem = Self::of(&error);
        Self { cause: Cause::new(error), ..problem }
    }
}

impl Problem {
    /// The problem that callers outside this process receive.
    fn of(error: &Error) -> Self {
        let text = error.to_string();
        match error {
            Error::NotFound { .. }
            | Error::NoRequest { .. }
            | Error::UnknownAgency { .. }
            | Error::Forgotten(_) => Self::not_found(text),
            Error::UnknownKind { .. } => Self::unknown_kind(text),
            Error::NoProject => Self::no_project(text),
            Error::NameInUse { .. } => Self::name_in_use(text).at("name"),
            Error::StaleVersion { current, .. } => Self::stale_version(text).of_version(*current),
            Error::Reserved(_) => Self::reserved(text),
            Error::Kinds(mistakes) => Self::broken_kinds(mistakes),
            Error::Invalid(_) => Self::invalid(text),
            Error::Part(part) => Self::invalid(text).at(&part.field()),
            Error::NotOpen { .. } => Self::not_open(text),
            Error::OtherCall(_) => Self::other_call(text),
            Error::Gone(_) => Self::gone(text),
            Error::CursorGone { .. } | Error::CursorAhead { .. } => Self::cursor_gone(text),
            Error::PastGone { .. } => Self::past_gone(text),
            Error::ProjectFull
            | Error::NotNow { .. }
            | Error::NameTaken { .. }
            | Error::AtWork(_)
            | Error::ChatChanges(_) => Self::not_now(text),
            Error::NoSecretKey(_) => Self::no_secret_key(text),
            Error::KeyReused => Self::key_reused(text).at(IDEMPOTENCY_KEY),
            Error::LimitReached { .. } => Self::limit_reached(text),
            Error::TooMany(_) => Self::too_many_requests(text),
            // The user can do something about a full disk, but nothing about any other failure: that one goes
            // to the log.
            Error::Store(StoreError::DiskFull(_)) => Self::disk_full(text),
            Error::Store(StoreError::Closed) => Self::shutting_down(),
            Error::Store(StoreError::Unavailable { cause, .. }) => {
                tracing::error!(error = %text, "the store is unavailable");
                Self::unavailable(format!(
                    "the database is unavailable: {cause}. Nothing was changed; try again"
                ))
            }
            Error::Store(StoreError::Damaged(why)) => {
                tracing::error!(%why, "the database is damaged");
                Self::unavailable(
                    "the database is damaged, and waiting does not help: stop the server, let `entourage doctor` look \
                     at it, and put a copy that `entourage backup` wrote in its place",
                )
            }
            Error::Store(StoreError::NoAgent { .. }) => Self::not_found(text),
            Error::Store(StoreError::NoRow { .. }) => Self::entry_gone(
                "the entry that the cursor names was removed meanwhile; begin with the first page",
            )
            .at("cursor"),
            Error::Store(StoreError::Corrupt(_)) => {
                tracing::error!(error = %text, "the store holds an invalid value");
                Self::internal("the server's log has the cause, under this answer's x-request-id")
            }
            Error::Store(_) | Error::NotLoaded { .. } => {
                tracing::error!(error = %text, "the store failed");
                Self::unavailable("nothing was changed; try again. The server's log has the cause")
            }
            _ => {
                tracing::error!(error = %text, "a request failed");
                Self::internal("the server's log has the cause, under this answer's x-request-id")
            }
        }
    }
}
