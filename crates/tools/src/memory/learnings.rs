//! Shared code of the tools for learnings: the limits, and the look-up by short name.

use entourage_types::{Learning, LearningStatus};

use crate::{Context, Done, Error, Outcome, RecordQuery, RecordScope, Result, find};

/// How many learnings an agent may have: it reads all of them before each answer.
pub(super) const MOST: usize = 40;
/// More than there may be.
const ALL: u32 = 200;
/// The longest learning, in characters.
const LONGEST: usize = 300;

/// Returns a learning's text in normal form, or an error if it is empty or too long.
pub(super) fn checked(tool: &str, text: &str) -> Result<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = match text.chars().count() {
        0 => "`text` is empty".to_owned(),
        length if length > LONGEST => {
            format!("`text` has {length} characters; say it in {LONGEST} at the most, or write a note")
        }
        _ => return Ok(text),
    };
    Err(Error::Arguments { tool: tool.to_owned(), why })
}

/// Returns the caller's learnings that are not retired, oldest first.
pub(super) async fn all(context: &Context) -> Result<Vec<Learning>> {
    let kept = RecordQuery::in_status::<Learning>(LearningStatus::Kept, RecordScope::Agent);
    let query = RecordQuery { limit: ALL, ..kept };
    find(&*context.reader, query).await
}

/// Returns the caller's learning with this short name.
pub(super) async fn named(context: &Context, handle: &str) -> Result<Learning> {
    let learnings = all(context).await?;
    let handle = handle.trim();
    let mut found = learnings.iter().filter(|learning| learning.handle() == handle);
    match (found.next(), found.next()) {
        (Some(learning), None) => Ok(learning.clone()),
        (Some(_), Some(_)) => Err(Error::Failed(format!("several learnings are called `{handle}`"))),
        (None, _) => {
            let known: Vec<String> = learnings.iter().map(Learning::handle).collect();
            let known = if known.is_empty() { "you have none".to_owned() } else { known.join(", ") };
            Err(Error::Failed(format!("you have no learning `{handle}`; there are: {known}")))
        }
    }
}

/// Returns the outcome that stores a learning.
pub(super) fn keep(learning: &Learning, said: &str) -> Result<Outcome> {
    let text = format!("{said} {}: {}", learning.handle(), learning.text);
    Ok(Outcome::Done(Done { text, ..Done::default() }.with(learning)?))
}
