//! A text on its way to an agent: until a engine has said that it took it, it may have arrived or not.

use std::time::Duration;

use entourage_types::{PostId, Time};

use super::{backend::Result, failure::Failure, out, text::text};

/// For how long a text that may have arrived is sent again by itself. A engine that took it knows its key for a day,
/// unless `retention.requests` says otherwise; after that it would be another text.
const KNOWN: Duration = Duration::from_secs(60 * 60);

/// A text on its way to an agent.
pub(crate) struct Saying {
    pub(crate) text: String,
    /// Under which it is taken once, however often it is sent.
    pub(crate) key: String,
    /// When it was sent first and may have arrived; none where it cannot have.
    pub(crate) since: Option<Time>,
}

impl Saying {
    /// A text to be sent: the same as the `last` one, where that reads so and nobody knows what became of it, or
    /// another.
    pub(crate) fn of<'a>(text: &str, last: &'a mut Option<Self>) -> &'a mut Self {
        let new = || Self { text: text.to_owned(), key: PostId::new().to_string(), since: None };
        let again = last.take().filter(|last| last.text == text && !last.is_old());
        last.insert(again.unwrap_or_else(new))
    }

    /// What came of sending it at this time.
    pub(crate) fn sent<T>(&mut self, at: Time, done: Result<T>) -> Result<T> {
        if done.as_ref().is_err_and(Failure::may_be_done) {
            self.since = self.since.or(Some(at));
        }
        done
    }

    /// Says why it was not taken, and what it was. Returns the failure where nothing goes on from there.
    pub(crate) fn refused(&self, failure: Failure, goes_on: bool) -> Result<()> {
        let paint = out::stderr();
        if goes_on {
            let what = if failure.is_usage() { paint.yellow("note:") } else { paint.red("error:") };
            out::note(text![what, " ", failure.text()]);
        }
        self.show();
        if goes_on { Ok(()) } else { Err(failure) }
    }

    /// Lets go of a text that is still `undone`, and shows it, where it may have arrived so long ago that it would
    /// not be known again.
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
        let what = if self.since.is_some() { "may not have been said:" } else { "not said:" };
        out::note(text![out::stderr().yellow(what), " ", &self.text]);
    }
}
