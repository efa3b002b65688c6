//! What a kind's model gets to see beside its instructions, and for how long.

use serde::{Deserialize, Serialize};

use crate::status::words;

/// What a kind's model gets to see beside its instructions, and for how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextPolicy {
    /// The sections behind the conversation, in this order.
    pub sections: Vec<Section>,
    /// How many of the messages between it and its counterpart the model sees, the latest; all
    /// of them when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u32>,
    /// When a session ends.
    pub sessions: Sessions,
    /// After how many minutes without anything new a session ends, where idleness ends it.
    pub idle_minutes: u32,
    /// How many closed sessions the model sees the summaries of, the latest.
    pub summaries: u32,
    /// From which share of the model's window on the oldest turns are summed up, 0.2 to 0.95; the
    /// rest is for the answer.
    pub compact_at: f64,
}

impl Default for ContextPolicy {
    fn default() -> Self {
        Self {
            sections: vec![Section::Time, Section::Learnings],
            messages: None,
            sessions: Sessions::Kept,
            idle_minutes: 30,
            summaries: 5,
            compact_at: 0.75,
        }
    }
}

words! {
    /// What stands behind the conversation and changes from request to request.
    Section, "section" {
        /// What time it is, to the minute.
        Time => "time",
        /// The latest notes of the tree.
        Notes => "notes",
        /// What the agent has learned, where it has the tool to save it.
        Learnings => "learnings",
        /// The agents it has made: their tasks, results and open questions.
        SubAgents => "sub_agents",
    }
}

words! {
    /// When a session ends. A person may end it at any time; that of an agent with a parent never
    /// ends.
    Sessions, "end of sessions" {
        /// When a person says so.
        Kept => "kept",
        /// Also after a time without anything new.
        Idle => "idle",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows: S1-R034.
    #[test]
    fn the_oldest_turns_are_summed_up_from_three_quarters_of_the_window_on() {
        let usual = ContextPolicy::default();
        assert_eq!(usual, ContextPolicy { compact_at: 0.75, ..usual.clone() });
    }
}
