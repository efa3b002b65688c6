//! Every limit of a run and of a tree, in one place.

use serde::{Deserialize, Serialize};

use crate::Cost;

/// What bounds a run, an agent and its tree. A kind may set its own; the engine's stand otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Model calls in one run. The last one is made without tools, so that it answers.
    pub max_steps: u32,
    /// Turns in a row that call one tool and no other, whatever the arguments; the last one still runs.
    /// 0 for any number.
    pub max_same_tool: u32,
    /// Times in a row that the same may happen (the same calls with the same outputs, the same error,
    /// the same exchange with another agent) before the run is stopped; 0 for any number.
    pub max_repeats: u32,
    /// Seconds at work in one run; time asleep does not count.
    pub max_seconds: u64,
    /// Tokens of one run, in and out.
    pub max_tokens: u64,
    /// Money that one run may cost; without limit unless set. Needs models with a known price.
    #[serde(with = "crate::money")]
    pub max_cost: Option<Cost>,
    /// Levels of agents below the root.
    pub max_depth: u16,
    /// Agents that one agent may have made.
    pub max_children: u32,
    /// Agents in one tree.
    pub max_tree: u32,
    /// Characters of a tool's output that the model gets to see.
    pub max_output_chars: usize,
    /// Attempts of one model call before the next declared model is asked, or the run fails; how
    /// many there are up to this depends on what fails.
    pub max_attempts: u32,
    /// Seconds that one tool call may take.
    pub tool_seconds: u64,
    /// Seconds that a model may be silent in the middle of a call.
    pub model_seconds: u64,
    /// Seconds that a person has to answer a question, after which the agent goes on without; for
    /// ever when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_seconds: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: 25,
            max_same_tool: 0,
            max_repeats: 4,
            max_seconds: 600,
            max_tokens: 2_000_000,
            max_cost: None,
            max_depth: 5,
            max_children: 32,
            max_tree: 200,
            max_output_chars: 24_000,
            max_attempts: 8,
            tool_seconds: 120,
            model_seconds: 300,
            answer_seconds: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows: S1-R034.
    #[test]
    fn of_an_output_a_model_sees_24_000_characters_unless_the_kind_says_otherwise() {
        assert_eq!(Limits::default().max_output_chars, 24_000);
    }
}
