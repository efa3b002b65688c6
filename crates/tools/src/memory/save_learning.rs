//! `save_learning`: remembers something in all later conversations.

use async_trait::async_trait;
use entourage_types::{Learning, LearningId, LearningStatus, ResultSource, ToolSpec, tool_names};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::learnings::{MOST, all, checked, keep};
use crate::{Caller, Context, Effect, Error, Outcome, Result, Tool, parse, spec_of};

const NAME: &str = tool_names::SAVE_LEARNING;

/// Saves a learning of the caller.
#[derive(Debug, Clone, Copy, Default)]
pub struct SaveLearning;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// One sentence: a lasting preference, fact or rule.
    text: String,
}

#[async_trait]
impl Tool for SaveLearning {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        let description = "Remember something in all your conversations to come. You see it in <learnings>.";
        Some(spec_of::<Arguments>(NAME, description))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Agents
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let text = checked(NAME, &parse::<Arguments>(NAME, arguments)?.text)?;
        if all(context).await?.len() >= MOST {
            let why = format!("you have reached the limit of {MOST} learnings: update or retire one");
            return Err(Error::NotAllowed(why));
        }
        let learning = Learning {
            // The call's own id, so that a repeated call saves the same learning again.
            id: LearningId::from_uuid(context.call.uuid()),
            owner: context.owner.clone(),
            root: context.root,
            agent: context.agent,
            text,
            status: LearningStatus::Kept,
            created: context.now,
            updated: context.now,
        };
        keep(&learning, "Learned")
    }
}
