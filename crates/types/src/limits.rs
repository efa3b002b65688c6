//! Every limit of a run and of a tree, in one place.

use serde::{Deserialize, Serialize};

use crate::Cost;

/// What bounds a run, an agent and its tree. A kind may set its own limits; otherwise the engine's
/// defaults apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Model calls in one run, counted anew when a phase of its program begins anew. The last call is made without
    /// tools, so that the model must answer.
    pub max_steps: u32,
    /// Consecutive turns that call one tool and no other, whatever the arguments; the calls of the
    /// last such turn still run. 0 for no limit.
    pub max_same_tool: u32,
    /// Consecutive repetitions (the same calls with the same outputs, the same error, the same
    /// exchange with another agent) before the run is stopped; 0 for no limit.
    pub max_repeats: u32,
    /// Entries of one run's own history: messages, turns of the model, and what the calls of one turn returned. 0 for no
    /// limit. The last model call is made without tools.
    // Left out where there is none: databases keep digests of kinds.
    #[serde(skip_serializing_if = "is_none")]
    pub max_history: u32,
    /// Seconds of work in one run; time asleep does not count.
    pub max_seconds: u64,
    /// Tokens of one run, in and out.
    pub max_tokens: u64,
    /// The most that one run may cost; no limit if not set. Needs models with a known price.
    #[serde(with = "crate::money")]
    pub max_cost: Option<Cost>,
    /// The most that all agents of a tree may cost whose root is of this kind; no limit if not set.
    #[serde(with = "crate::money", skip_serializing_if = "Option::is_none")]
    pub max_tree_cost: Option<Cost>,
    /// Tokens, in and out, of all agents of a tree whose root is of this kind; no limit if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tree_tokens: Option<u64>,
    /// Tokens of one answer. Without it the model decides, or 8,192 where a budget applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_answer_tokens: Option<u32>,
    /// Levels of agents below the root.
    pub max_depth: u16,
    /// Agents below one agent that have not ended, or have something to read.
    pub max_children: u32,
    /// Agents in one tree that have not ended, or have something to read.
    pub max_tree: u32,
    /// Characters of a tool's output that the model reads.
    pub max_output_chars: usize,
    /// Attempts of one model call before the engine asks the next declared model, or the run fails;
    /// the error determines how many of them are made.
    pub max_attempts: u32,
    /// Seconds that one tool call may take.
    pub tool_seconds: u64,
    /// Seconds for which a model may be silent during a call.
    pub model_seconds: u64,
    /// Seconds that a person has to answer a question, after which the agent continues without an
    /// answer; no limit if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_seconds: Option<u64>,
    /// How many percent of a document's characters a rewrite leaves at least, unless the user wants less.
    // Left out where it is the usual one: databases keep digests of kinds.
    #[serde(skip_serializing_if = "is_half")]
    pub min_kept_percent: u8,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde calls")]
const fn is_none(limit: &u32) -> bool {
    *limit == 0
}

const HALF: u8 = 50;

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde calls")]
const fn is_half(percent: &u8) -> bool {
    *percent == HALF
}

impl Limits {
    /// Whether they bound what all agents of a tree may spend.
    #[must_use]
    pub const fn have_budget(&self) -> bool {
        self.max_tree_cost.is_some() || self.max_tree_tokens.is_some()
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: 25,
            max_same_tool: 0,
            max_repeats: 4,
            max_history: 0,
            max_seconds: 600,
            max_tokens: 2_000_000,
            max_cost: None,
            max_tree_cost: None,
            max_tree_tokens: None,
            max_answer_tokens: None,
            max_depth: 5,
            max_children: 32,
            max_tree: 200,
            max_output_chars: 24_000,
            max_attempts: 8,
            tool_seconds: 120,
            model_seconds: 300,
            answer_seconds: None,
            min_kept_percent: HALF,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows: S1-R034.
    #[test]
    fn the_default_output_limit_is_24_000_characters() {
        assert_eq!(Limits::default().max_output_chars, 24_000);
    }
}
