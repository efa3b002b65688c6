//! What the answer of a task consists of, and what of it is on stdout already.

use entourage_api::{Entry, Role};
use entourage_types::AgentId;

use crate::cli::{
    backend::{Backend, Result, transcript},
    out,
};

/// The answers of an agent that are on stdout already.
pub(super) struct PrintedTexts {
    /// Whether it explores: then what it wrote before the final result is work in progress.
    explores: bool,
    /// Items of the transcript below this number were told: also by a process that this one followed, and that has ended.
    upto: u64,
    /// Whether there were any.
    any: bool,
}

impl PrintedTexts {
    pub(super) fn new(explores: bool) -> Self {
        Self { explores, upto: 0, any: false }
    }

    /// Writes the answers of the runs that ended while others are at work for the agent.
    pub(super) async fn tell_early(&mut self, backend: &Backend, agent: AgentId, ends: &[u64]) -> Result<()> {
        match self.explores {
            true => Ok(()),
            false => self.tell(&conversation(backend, agent, ends).await?, ends),
        }
    }

    /// Writes the answers of the runs that ended since.
    pub(super) fn tell(&mut self, entries: &[Entry], ends: &[u64]) -> Result<()> {
        let new = self.untold(entries, ends);
        if new.is_empty() {
            return Ok(());
        }
        let between = if std::mem::replace(&mut self.any, true) { "\n" } else { "" };
        out::result(format!("{between}{}", new.join("\n\n")))
    }

    /// The answers of the runs that ended since; from here on they were told.
    fn untold(&mut self, entries: &[Entry], ends: &[u64]) -> Vec<String> {
        if self.explores {
            return result(entries).into_iter().collect();
        }
        let upto = self.upto;
        let is_told = |entry: &Entry| entry.item_seq.is_some_and(|seq| seq < upto);
        let from = entries.iter().rposition(is_told).map_or(0, |last| last + 1);
        let new: Vec<u64> = ends.iter().copied().filter(|end| *end > upto).collect();
        if new.is_empty() && !ends.is_empty() {
            return Vec::new();
        }
        let last = entries.iter().filter_map(|entry| entry.item_seq).max().map(|last| last + 1);
        self.upto = new.last().copied().or(last).unwrap_or(upto).max(upto);
        answers(&entries[from..], &new).into_iter().flatten().collect()
    }

    /// All that the agent answered in the runs that ended, as one text.
    pub(super) fn whole(&self, entries: &[Entry], ends: &[u64]) -> Option<String> {
        let said: Vec<String> = self.answers(entries, ends).into_iter().flatten().collect();
        (!said.is_empty()).then(|| said.join("\n\n"))
    }

    fn answers(&self, entries: &[Entry], ends: &[u64]) -> Vec<Option<String>> {
        if self.explores { vec![result(entries)] } else { answers(entries, ends) }
    }
}

/// The conversation with an agent from before the first of the runs that ended.
pub(super) async fn conversation(backend: &Backend, agent: AgentId, ends: &[u64]) -> Result<Vec<Entry>> {
    let first = ends.first().copied().unwrap_or(u64::MAX);
    let begins = |entry: &Entry| entry.role == Role::User && entry.item_seq.is_some_and(|seq| seq < first);
    transcript(backend, agent, begins).await
}

/// The agent's messages in each run that ended, since the last message to it; if none has ended, its messages so far.
fn answers(entries: &[Entry], ends: &[u64]) -> Vec<Option<String>> {
    if ends.is_empty() {
        return vec![answer(entries)];
    }
    let mut from = 0;
    let of_run = |end: &u64| {
        // Questions and their answers are among the items and have no number of their own.
        let is_before = |entry: &Entry| entry.item_seq.is_some_and(|seq| seq < *end);
        let upto = entries.iter().rposition(is_before).map_or(from, |last| last + 1);
        let said = answer(&entries[from..upto]);
        from = upto;
        said
    };
    ends.iter().map(of_run).collect()
}

/// The final result of an exploration.
fn result(entries: &[Entry]) -> Option<String> {
    let last = entries.iter().rfind(|entry| entry.role == Role::Assistant)?;
    Some(last.text.trim().to_owned())
}

/// The agent's messages since the last message to it.
fn answer(entries: &[Entry]) -> Option<String> {
    let asked = entries.iter().rposition(|entry| entry.role == Role::User).map_or(0, |last| last + 1);
    let said: Vec<&str> = entries[asked..]
        .iter()
        .filter(|entry| entry.role == Role::Assistant)
        .map(|entry| entry.text.trim())
        .collect();
    (!said.is_empty()).then(|| said.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use entourage_types::Time;

    use super::*;

    fn entry(role: Role, seq: u64, text: &str) -> Entry {
        Entry {
            role,
            text: text.into(),
            at: Time::from_micros(0),
            item_seq: Some(seq),
            post: None,
            question: None,
            task: None,
            agent: None,
            retryable: None,
        }
    }

    /// The process that worked on the tree has ended, and this one goes on: with other numbers of ends, or none.
    #[test]
    fn an_answer_that_was_told_of_one_process_is_not_told_again_of_the_next() {
        let mut entries = vec![entry(Role::User, 0, "Go."), entry(Role::Assistant, 1, "One.")];
        let mut told = PrintedTexts::new(false);
        assert_eq!(told.untold(&entries, &[3]), ["One."]);
        assert_eq!(told.untold(&entries, &[]), [""; 0]);
        // A run that a result woke, and that nobody asked for.
        entries.push(entry(Role::Assistant, 5, "Two."));
        assert_eq!(told.untold(&entries, &[7]), ["Two."]);
        entries.push(entry(Role::Assistant, 8, "Three."));
        assert_eq!(told.untold(&entries, &[]), ["Three."]);
        assert_eq!(told.untold(&entries, &[]), [""; 0]);
        assert_eq!(told.whole(&entries, &[]).as_deref(), Some("One.\n\nTwo.\n\nThree."));
    }
}
