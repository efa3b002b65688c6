//! `ask_user`: a question that only a person can answer.

use async_trait::async_trait;
use entourage_types::{ResultSource, ToolSpec, tool_names};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{filled, undescribed};
use crate::{Ask, Caller, Context, Effect, Error, Outcome, Result, Tool, parse, spec_of};

const NAME: &str = tool_names::ASK_USER;
/// The longest question, in characters: about as long as what a person may write.
const LONGEST_QUESTION: usize = 500_000;

/// Asks the user a question and waits for the answer, however long it takes.
#[derive(Debug, Clone, Copy, Default)]
pub struct AskUser;

/// The arguments of a call, by a model or by a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = undescribed)]
pub struct AskUserArguments {
    /// One clear question.
    pub question: String,
    /// Answers to choose from, if there are a few likely ones.
    #[serde(default)]
    pub options: Option<Vec<String>>,
}

#[async_trait]
impl Tool for AskUser {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(spec_of::<AskUserArguments>(
            NAME,
            "Ask the user a question and wait for the answer. \
             Use it when something is missing or unclear that only the user can decide.",
        ))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Person
    }

    async fn call(&self, _: &Context, arguments: Value) -> Result<Outcome> {
        let AskUserArguments { question, options } = parse(NAME, arguments)?;
        let text = filled(NAME, "question", question)?;
        if text.chars().count() > LONGEST_QUESTION {
            let why =
                format!("`question` is longer than {LONGEST_QUESTION} characters: ask one clear question");
            return Err(Error::Arguments { tool: NAME.to_owned(), why });
        }
        let options = options.unwrap_or_default().into_iter().filter(|o| !o.trim().is_empty()).collect();
        Ok(Outcome::Ask(Ask { text, options }))
    }
}
