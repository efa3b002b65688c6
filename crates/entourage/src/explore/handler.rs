//! The function of a program that answers what agents ask.

use std::{
    fmt::Display,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
};

use futures::{FutureExt, future::BoxFuture};
use tokio::sync::Notify;

/// What becomes of a question while no handler is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithoutHandler {
    /// It is declined at once (S3-R088): nobody else could answer it, and the agent would wait for ever.
    Decline,
    /// It stays open, for a handler that is set later, for this program's [client](super::Explorer::client), or, once the
    /// explorer is closed, for the next program that opens the database, or the command line.
    KeepOpen,
}

/// What a handler may return: an answer or none, or the same in a [`Result`], whose error is logged and counts as none.
pub trait QueryAnswer {
    /// The answer; none declines to give one (S3-R087).
    ///
    /// # Errors
    /// Why there is none.
    fn into_answer(self) -> Result<Option<String>, String>;
}

impl QueryAnswer for Option<String> {
    fn into_answer(self) -> Result<Option<String>, String> {
        Ok(self)
    }
}

impl<E: Display> QueryAnswer for Result<Option<String>, E> {
    fn into_answer(self) -> Result<Option<String>, String> {
        self.map_err(|error| error.to_string())
    }
}

type Answering = BoxFuture<'static, Result<Option<String>, String>>;

/// A handler, with its types forgotten.
pub(super) type Handler = Arc<dyn Fn(String, String) -> Answering + Send + Sync>;

/// A handler from a function.
pub(super) fn handler<F, A>(ask: F) -> Handler
where
    F: Fn(String, String) -> A + Send + Sync + 'static,
    A: Future<Output: QueryAnswer> + Send + 'static,
{
    Arc::new(move |agent, prompt| {
        let answer = ask(agent, prompt);
        async move { answer.await.into_answer() }.boxed()
    })
}

/// The handler that is set at the moment.
pub(super) struct CurrentHandler {
    current: Mutex<Option<Handler>>,
    /// Tells that there is another one.
    pub(super) changed: Notify,
}

impl CurrentHandler {
    pub(super) fn new(first: Option<Handler>) -> Self {
        Self { current: Mutex::new(first), changed: Notify::new() }
    }

    /// Sets another one, or none. Those who were asked already still answer.
    pub(super) fn set(&self, handler: Option<Handler>) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = handler;
        self.changed.notify_one();
    }

    pub(super) fn get(&self) -> Option<Handler> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Puts a question to a handler. An error or a panic of it is logged, and counts as no answer (S3-R089).
pub(super) async fn put(handler: Handler, agent: &str, prompt: &str) -> Option<String> {
    let (name, prompt) = (agent.to_owned(), prompt.to_owned());
    // A handler may also panic before it returns its future.
    let asked = AssertUnwindSafe(async move { handler(name, prompt).await }).catch_unwind();
    match asked.await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => {
            tracing::error!(agent, error, "the query handler failed; the question is declined");
            None
        }
        Err(_) => {
            tracing::error!(agent, "the query handler panicked; the question is declined");
            None
        }
    }
}
