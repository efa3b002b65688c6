//! A decision of the model for a program.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Asked, ModelUse};

/// A named decision of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The decision's name.
    pub name: String,
    /// What was decided.
    #[serde(flatten)]
    pub outcome: DecisionOutcome,
    /// The model that answered and what the answer used; none if no model did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub used: Option<ModelUse>,
    /// How the model was asked; none if no model answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub asked: Option<Box<Asked>>,
    /// What the program wanted decided; none if no model answered, or if it is what the refused answer before was given
    /// to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prompt: Option<Box<DecisionPrompt>>,
    /// Why no model answered, for logs and programs: it names models, addresses and accounts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cause: Option<String>,
    /// What was wrong with the model's last answer, if there was one and it could not be used for what it was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub flaw: Option<AnswerFlaw>,
}

/// What is wrong with an answer that a model gave to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerFlaw {
    /// It is empty.
    Empty,
    /// It was cut off at the limit of one answer.
    CutOff,
}

/// What a program wanted decided. With the items before it, its request is rebuilt from nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecisionPrompt {
    /// What is to be decided, and how.
    pub instructions: String,
    /// The JSON schema of the answer; null if it is a text.
    pub schema: Value,
    /// The sampling temperature, if it is not that of the kind.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub temperature: Option<f64>,
    /// How much of the conversation the model read.
    pub conversation: DecisionReads,
    /// What followed the conversation.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub text: String,
}

/// How much of the conversation the model read for a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionReads {
    /// All of it as a document of at most so many characters.
    Whole(usize),
    /// The latest messages, as many as that.
    Latest(u32),
    /// The latest messages from before the run, as many as that.
    Before(u32),
    /// Nothing.
    Nothing,
}

/// The outcome of a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionOutcome {
    /// The answer, valid against the decision's schema.
    Value(Value),
    /// An answer that did not fit the schema, after which the model is asked once more.
    Refused {
        /// The text of the answer.
        answer: String,
        /// What is wrong with it.
        why: String,
    },
    /// Why there is no answer, in words for people.
    Failed(String),
}

/// The answer as JSON, or why there is none.
impl fmt::Display for DecisionOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Refused { why, .. } => write!(f, "refused: {why}"),
            Self::Failed(why) => write!(f, "no decision: {why}"),
        }
    }
}
