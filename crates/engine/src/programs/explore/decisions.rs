//! What the model decides in an exploration, each with a schema of its own.

use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    Interrupt,
    run::{DecisionRequest, Run},
};

/// Takes a decision on the whole conversation. One that fails ends the run.
pub(super) async fn decide<T: JsonSchema + DeserializeOwned>(
    run: &mut Run<'_>,
    name: &str,
    instructions: String,
) -> Result<T, Interrupt> {
    Ok(serde_json::from_value(run.decide(name, DecisionRequest::of::<T>(instructions)).await??)?)
}

/// Whether the question is ambiguous (S3-R022).
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Clarification {
    /// Whether what the user wants can be understood in ways that lead to different work.
    pub(super) ambiguous: bool,
    /// The one question that settles it; empty if it is clear.
    pub(super) question: String,
}

/// Whether critical information is missing (S3-R029).
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Missing {
    /// Whether the work cannot begin without something that only the user knows.
    pub(super) missing: bool,
    /// The next question to the user; empty if nothing is missing.
    pub(super) question: String,
}

/// The parts that children explore (S3-R036).
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Subquestions {
    /// None to four questions that do not depend on each other, each with all that must be known to answer it.
    pub(super) subquestions: Vec<String>,
}

/// The result, and whether the user is needed once more (S3-R051).
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Summary {
    /// The whole answer for the user.
    pub(super) summary: String,
    /// Whether an answer of the user would change the result.
    pub(super) needs_more_info: bool,
    /// That one question; empty if none is needed.
    pub(super) question: String,
}

/// A decision that may be to ask the user.
pub(super) trait MayAsk: JsonSchema + DeserializeOwned + Send {
    /// The question, if one is wanted and has words.
    fn question(&self) -> Option<&str>;
}

impl MayAsk for Clarification {
    fn question(&self) -> Option<&str> {
        wanted(self.ambiguous, &self.question)
    }
}

impl MayAsk for Missing {
    fn question(&self) -> Option<&str> {
        wanted(self.missing, &self.question)
    }
}

impl MayAsk for Summary {
    fn question(&self) -> Option<&str> {
        wanted(self.needs_more_info, &self.question)
    }
}

fn wanted(is_wanted: bool, question: &str) -> Option<&str> {
    Some(question.trim()).filter(|question| is_wanted && !question.is_empty())
}
