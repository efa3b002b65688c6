//! A message on its way to an agent: until an engine has acknowledged it, it may or may not have arrived.

use std::time::Duration;

use entourage_types::{PostId, Time};

use super::{backend::Result, failure::Failure, out, text::text};

/// How long a message that may have arrived is resent automatically. An engine that accepted it remembers its
/// key for a day, unless `retention.requests` says otherwise; after that it would count as another message.
const KNOWN: Duration = Duration::from_secs(60 * 60);

/// A message on its way to an agent.
pub(crate) struct OutgoingMessage {
    pub(crate) text: String,
    /// The idempotency key: the engine accepts the message once, however often it is sent.
    pub(crate) key: String,
    /// When it was first sent and may have arrived; none if it cannot have arrived.
    pub(crate) since: Option<Time>,
}

impl OutgoingMessage {
    /// Returns the message to send: the `last` one, if it has this text and its outcome is unknown, otherwise
    /// a new one.
    pub(crate) fn of<'a>(text: &str, last: &'a mut Option<Self>) -> &'a mut Self {
        let new = || Self { text: text.to_owned(), key: PostId::new().to_string(), since: None };
        let again = last.take().filter(|last| last.text == text && !last.is_old());
        last.insert(again.unwrap_or_else(new))
    }

    /// Records the result of sending it at this time.
    pub(crate) fn sent<T>(&mut self, at: Time, done: Result<T>) -> Result<T> {
        if done.as_ref().is_err_and(Failure::may_be_done) {
            self.since = self.since.or(Some(at));
        }
        done
    }

    /// Shows the message and why it was not accepted. Returns the failure unless `goes_on`.
    pub(crate) fn refused(&self, failure: Failure, goes_on: bool) -> Result<()> {
        let paint = out::stderr();
        if goes_on {
            let what = if failure.is_usage() { paint.yellow("note:") } else { paint.red("error:") };
            out::note(text![what, " ", failure.text()]);
        }
        self.show();
        if goes_on { Ok(()) } else { Err(failure) }
    }

    /// Gives up a message that is still `undone`, and shows it, if it may have arrived so long ago that the
    /// engine would not recognize its key.
    pub(crate) fn leave_old(last: &mut Option<Self>, undone: &mut Option<String>) {
        if undone.is_some()
            && let Some(old) = last.take_if(|last| last.is_old())
        {
            *undone = None;
            old.show();
        }
    }

    fn is_old(&self) -> bool {
        self.since.is_some_and(|since| Time::now().since(since) > KNOWN)
    }

    fn show(&self) {
        let what = if self.since.is_some() { "may not have been sent:" } else { "not sent:" };
        out::note(text![out::stderr().yellow(what), " ", &self.text]);
    }
}
