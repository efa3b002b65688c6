//! `spawn_agent`: a new agent that works in the background.

use async_trait::async_trait;
use entourage_types::{OnEnd, ResultSource, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{directory, filled};
use crate::{
    Caller, Context, Delegate, Effect, Error, Outcome, Result, Target, Tool, parse, spec_of,
};

const NAME: &str = "spawn_agent";
const TITLE_CHARS: usize = 60;

/// Spawns a new agent for a task without waiting; the result arrives later as a message.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpawnAgent;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The kind of agent.
    kind: String,
    /// What it shall do, with everything it must know: it sees nothing of this conversation.
    task: String,
    /// The task in a few words.
    #[serde(default)]
    title: Option<String>,
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
        let mut spec = spec_of::<Arguments>(NAME, description);
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
        let Arguments { kind, task, title } = parse(NAME, arguments)?;
        if !context.kind.peers.contains(&kind) {
            let known = context.kind.peers.join(", ");
            return Err(Error::NotAllowed(format!(
                "you cannot start `{kind}`. Kinds you can start: {known}"
            )));
        }
        let text = filled(NAME, "task", task)?;
        let title = title.filter(|title| !title.trim().is_empty()).unwrap_or_else(|| shortened(&text));
        Ok(Outcome::Delegate(Delegate { to: Target::New { kind, title }, text, on_end: OnEnd::Wake }))
    }
}

/// Returns the first line, cut to a title's length.
fn shortened(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(TITLE_CHARS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}
