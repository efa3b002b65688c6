//! `spawn_agent`: a new agent that works in the background.

use async_trait::async_trait;
use entourage_types::{OnEnd, ResultSource, ToolSpec, title_of, tool_names};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{directory, filled, undescribed};
use crate::{Caller, Context, Delegate, Effect, Error, Outcome, Result, Target, Tool, parse, spec_of};

const NAME: &str = tool_names::SPAWN_AGENT;

/// Spawns a new agent for a task without waiting; the result arrives later as a message.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpawnAgent;

/// The arguments of a call, by a model or by a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = undescribed)]
pub struct SpawnAgentArguments {
    /// The kind of agent.
    pub kind: String,
    /// What it shall do, with everything it must know: it sees nothing of this conversation.
    pub task: String,
    /// The task in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

impl SpawnAgentArguments {
    /// Returns the work for the new agent. Its title is the beginning of its task if the arguments have none.
    #[must_use]
    pub fn delegate(self, on_end: OnEnd) -> Delegate {
        let Self { kind, task: text, title } = self;
        let title = title.filter(|title| !title.trim().is_empty()).unwrap_or_else(|| title_of(&text));
        Delegate { to: Target::New { kind, title }, text, on_end }
    }
}

#[async_trait]
impl Tool for SpawnAgent {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        if caller.peers.is_empty() {
            return None;
        }
        let description = format!(
            "Start a new agent that works on a task in the background. \
             You go on at once; its result arrives later as a message. Kinds:{}",
            directory(caller.peers)
        );
        let mut spec = spec_of::<SpawnAgentArguments>(NAME, description);
        spec.parameters["properties"]["kind"]["enum"] =
            caller.peers.iter().map(|kind| json!(kind.name)).collect();
        Some(spec)
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Agents
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let mut arguments: SpawnAgentArguments = parse(NAME, arguments)?;
        let SpawnAgentArguments { kind, task, .. } = &mut arguments;
        if !context.kind.peers.contains(kind) {
            let known = context.kind.peers.join(", ");
            return Err(Error::NotAllowed(format!(
                "you cannot start `{kind}`. Kinds you can start: {known}"
            )));
        }
        *task = filled(NAME, "task", std::mem::take(task))?;
        Ok(Outcome::Delegate(arguments.delegate(OnEnd::Wake)))
    }
}
