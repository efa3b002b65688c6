//! What the answer of a task consists of, and what of it is on stdout already.

use entourage_api::{Entry, Role};
use entourage_types::AgentId;

use crate::cli::{
    backend::{Backend, Result, transcript},
    out,
};

/// The answers of an agent that are on stdout already.
pub(super) struct Told {
    /// Whether it explores: then what it wrote before the final result is work in progress.
    explores: bool,
    /// In how many of the runs that ended it said them.
    runs: usize,
    /// Whether there were any.
    any: bool,
}

impl Told {
    pub(super) fn new(explores: bool) -> Self {
        Self { explores, runs: 0, any: false }
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
        let new: Vec<String> = self.answers(entries, ends).into_iter().skip(self.runs).flatten().collect();
        self.runs = ends.len();
        if new.is_empty() {
            return Ok(());
        }
        let between = if std::mem::replace(&mut self.any, true) { "\n" } else { "" };
        out::result(format!("{between}{}", new.join("\n\n")))
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
