//! What a kind's model reads beside its instructions, for how long, and the items that hold it.

use serde::{Deserialize, Serialize};

use crate::status::words;

/// What a kind's model reads beside its instructions, and for how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextPolicy {
    /// What the model reads beside the conversation, in this order.
    pub sections: Vec<Section>,
    /// Minutes after which the model reads the time again.
    #[serde(skip_serializing_if = "is_default_interval")]
    pub time_minutes: u32,
    /// How many of the latest messages between the agent and its counterpart the model reads; all
    /// of them if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u32>,
    /// When a session ends.
    pub sessions: Sessions,
    /// Minutes without new items after which a session ends, if `sessions` is `idle`; what is usual if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_minutes: Option<u32>,
    /// How many of the latest closed sessions the model reads the summaries of; what is usual if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summaries: Option<u32>,
    /// The share of the model's context window, 0.2 to 0.95, from which on the engine summarises
    /// the oldest turns; the rest is reserved for the answer.
    pub compact_at: f64,
}

impl ContextPolicy {
    /// The minutes of `idle_minutes` that are usual.
    pub const IDLE_MINUTES: u32 = 30;
    /// How many summaries are usual.
    pub const SUMMARIES: u32 = 5;

    /// Minutes without new items after which a session ends, if `sessions` is `idle`.
    #[must_use]
    pub fn idle_minutes(&self) -> u32 {
        self.idle_minutes.unwrap_or(Self::IDLE_MINUTES)
    }

    /// How many of the latest closed sessions the model reads the summaries of.
    #[must_use]
    pub fn summaries(&self) -> u32 {
        self.summaries.unwrap_or(Self::SUMMARIES)
    }
}

/// The default of [`ContextPolicy::time_minutes`].
const TIME_MINUTES: u32 = 10;

/// Left out where it is the default, so that kinds without it keep their version.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_default_interval(minutes: &u32) -> bool {
    *minutes == TIME_MINUTES
}

impl Default for ContextPolicy {
    fn default() -> Self {
        Self {
            sections: vec![Section::Time, Section::Learnings],
            time_minutes: TIME_MINUTES,
            messages: None,
            sessions: Sessions::Kept,
            idle_minutes: None,
            summaries: None,
            compact_at: 0.75,
        }
    }
}

words! {
    /// What the model reads beside the conversation, and again when it changes.
    Section, "section" {
        /// The current time, to the minute.
        Time => "time",
        /// The latest notes of the tree.
        Notes => "notes",
        /// What the agent has learned, if it has the tool that saves learnings.
        Learnings => "learnings",
        /// The agents it has created: their tasks, results and open questions.
        SubAgents => "sub_agents",
        /// The goal at the top of the tree: what is to be reached, and how.
        Goal => "goal",
        /// The latest tasks that it gave: what is to be done, and what it came to.
        Tasks => "tasks",
    }
}

words! {
    /// When a session ends. A person may end it at any time; the session of an agent with a parent
    /// never ends.
    Sessions, "end of sessions" {
        /// Only when a person ends it.
        Kept => "kept",
        /// Also after `idle_minutes` without new items.
        Idle => "idle",
    }
}

/// What the model reads beside the conversation and had not read yet when this was written. It holds
/// what is new or has changed; all else was said by earlier items that the model still sees.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Context {
    /// The lines, those of one section one after the other.
    pub entries: Vec<ContextEntry>,
}

/// One line of a section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextEntry {
    /// Its section.
    pub section: Section,
    /// The id of the note, learning or agent that it shows; none for the time. A later line about the
    /// same replaces it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub about: Option<String>,
    /// The line as the model reads it: text of others in it is escaped.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows: S1-R034.
    #[test]
    fn the_default_context_policy_compacts_at_three_quarters_of_the_window() {
        let usual = ContextPolicy::default();
        assert_eq!(usual, ContextPolicy { compact_at: 0.75, ..usual.clone() });
    }
}
