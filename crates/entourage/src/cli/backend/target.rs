//! Where the engine of a command is.

use std::{sync::Arc, time::Duration};

use entourage_server::InProcess;
use entourage_types::AgentId;
use reqwest::{RequestBuilder, Response};

use super::{Result, Running, local_engine::LocalEngine};
use crate::cli::failure::Failure;

/// How long an engine in this process may send nothing: it can only be busy.
const NEVER: Duration = Duration::from_secs(24 * 60 * 60);
/// Why a server that has ended does not answer.
const DEAF: &str = "it does not listen any more";

/// Where the engine is.
#[derive(Clone)]
pub(super) enum Target {
    /// In another process on this machine.
    There(Running),
    /// In this process.
    LocalEngine(Arc<LocalEngine>),
}

impl Target {
    /// Its address, without a slash at the end.
    pub(super) fn url(&self) -> &str {
        match self {
            Self::There(running) => &running.url,
            Self::LocalEngine(_) => InProcess::URL,
        }
    }

    /// Sends a request.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Response> {
        match self {
            // Another process, with other data, may now have the port of a server that has ended.
            Self::There(running) if !running.is_there() => Err(self.lost(DEAF)),
            Self::There(_) => request.send().await.map_err(|error| self.unanswered(&error)),
            Self::LocalEngine(here) => here.answer(request).await,
        }
    }

    /// Waits for an answer, and reports a long silence.
    pub(super) async fn waits_for<T>(&self, answer: impl Future<Output = T>) -> T {
        match self {
            Self::There(running) => running.waits_for(answer).await,
            Self::LocalEngine(_) => answer.await,
        }
    }

    /// The failure of a request without an answer. Unless the connection failed, the server may have received
    /// it.
    pub(super) fn unanswered(&self, error: &reqwest::Error) -> Failure {
        match error.is_connect() {
            true => self.lost(DEAF),
            false => self.lost(&error.to_string()).heard(),
        }
    }

    /// The failure when it does not answer any more.
    pub(super) fn lost(&self, why: &str) -> Failure {
        match self {
            Self::There(running) => running.lost(why),
            Self::LocalEngine(_) => Failure::failed(format!("the engine does not answer: {why}")),
        }
    }

    /// The silence after which a stream counts as dead.
    pub(super) fn longest_silence(&self) -> Duration {
        match self {
            Self::There(running) => running.longest_silence(),
            Self::LocalEngine(_) => NEVER,
        }
    }

    /// Reports for how long it has been silent, and what happens next.
    pub(super) fn tell_of_silence(&self, silence: Duration, next: &str) {
        if let Self::There(running) = self {
            running.tell_of_silence(silence, next);
        }
    }

    /// Reports that it answers again.
    pub(super) fn tell_of_answer(&self) {
        if let Self::There(running) = self {
            running.tell_of_answer();
        }
    }

    /// Whether it is a server, which may be started again after it has ended.
    pub(super) fn is_server(&self) -> bool {
        matches!(self, Self::There(running) if running.is_server())
    }

    /// Whether it is another process that works on this tree, or on any tree.
    pub(super) fn works_on(&self, tree: Option<AgentId>) -> bool {
        match self {
            Self::There(running) => running.works_on(tree),
            Self::LocalEngine(here) => tree.is_some_and(|root| here.works_elsewhere(root)),
        }
    }
}
