//! What the model decides in an exploration, each with a schema of its own. The model reads what is said of a type and
//! its fields here.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};

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

// S3-R022.
/// Whether the question is ambiguous.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Clarification {
    /// Whether what the user wants can be understood in ways that lead to different work.
    pub(super) ambiguous: bool,
    /// The one question that settles it; null if it is clear.
    #[serde(deserialize_with = "empty_if_null")]
    #[schemars(extend("type" = ["string", "null"]))]
    pub(super) question: String,
}

// S3-R029.
/// Whether critical information is missing.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Missing {
    /// Whether the work cannot begin without something that only the user knows.
    pub(super) missing: bool,
    /// The next question to the user; null if nothing is missing.
    #[serde(deserialize_with = "empty_if_null")]
    #[schemars(extend("type" = ["string", "null"]))]
    pub(super) question: String,
}

// S3-R036.
/// The parts that children explore.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Subquestions {
    /// None to four questions that do not depend on each other, each with all that must be known to answer it.
    pub(super) subquestions: Vec<String>,
}

// S3-R051.
/// The result, and whether the user is needed once more.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Summary {
    /// The whole answer for the user.
    pub(super) summary: String,
    /// Whether an answer of the user would change the result.
    pub(super) needs_more_info: bool,
    /// That one question; null if none is needed.
    #[serde(deserialize_with = "empty_if_null")]
    #[schemars(extend("type" = ["string", "null"]))]
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

/// Reads null as no words.
fn empty_if_null<'de, D: Deserializer<'de>>(words: D) -> Result<String, D::Error> {
    Ok(Option::deserialize(words)?.unwrap_or_default())
}

/// The longest question, in characters.
const LONGEST_QUESTION: usize = 10_000;

/// A question without blanks around it, cut where no reader would go on.
pub(super) fn shortened(question: &str) -> &str {
    let question = question.trim();
    let end = question.char_indices().nth(LONGEST_QUESTION).map_or(question.len(), |(at, _)| at);
    &question[..end]
}

fn wanted(is_wanted: bool, question: &str) -> Option<&str> {
    Some(shortened(question)).filter(|question| is_wanted && !question.is_empty())
}
