//! The document of a sub-agent's tool call.

use std::collections::HashMap;

use entourage_api::schema;
use entourage_types::{AgentId, CallId, Item, ItemBody, Output, Step, StepKey, Time, ToolCall};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::is_work;

/// A tool call of a sub-agent.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = SubAgentToolCall)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolCallDocument {
    /// Its id; the tool's message has it as `tool_call_id`.
    #[schema(value_type = schema::CallId)]
    pub(crate) id: CallId,
    /// The sub-agent.
    #[schema(value_type = schema::SubAgentId)]
    pub(crate) sub_agent_id: AgentId,
    /// The tool.
    name: String,
    /// The arguments as the model gave them.
    #[schema(value_type = Object)]
    arguments: Value,
    /// Its status.
    status: CallStatus,
    /// What it returned, with `success`.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    /// What went wrong, with `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// When the sub-agent asked for it.
    #[schema(value_type = schema::Time)]
    created_at: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    updated_at: Time,
    /// The number of the turn that asked for it.
    #[serde(skip)]
    pub(crate) turn: u64,
}

/// The status of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum CallStatus {
    /// It has not returned.
    Pending,
    /// It returned.
    Success,
    /// It failed, or there is no such tool.
    Failed,
}

impl ToolCallDocument {
    /// The document of a call that was just asked for; `None` for a question or a final answer, which are
    /// messages.
    pub(crate) fn asked(turn: &Item, call: &ToolCall) -> Option<Self> {
        is_work(&call.tool).then(|| Self {
            id: call.id,
            sub_agent_id: turn.agent,
            name: call.tool.clone(),
            arguments: call.arguments.clone(),
            status: CallStatus::Pending,
            result: None,
            error: None,
            created_at: turn.at,
            updated_at: turn.at,
            turn: turn.seq,
        })
    }

    /// How many bytes the agent and the tool wrote of it.
    pub(crate) fn bytes(&self) -> usize {
        let returned = self.result.as_ref().or(self.error.as_ref());
        self.arguments.to_string().len() + returned.map_or(0, String::len)
    }

    /// Adds the output of the call.
    pub(crate) fn returned(&mut self, output: Output, at: Time) {
        (self.status, self.result, self.error) = match output.error {
            true => (CallStatus::Failed, None, Some(output.text)),
            false => (CallStatus::Success, Some(output.text), None),
        };
        self.updated_at = at;
    }
}

/// The calls of a sub-agent, in the order in which they were asked for. Of parallel calls, the steps have the
/// outputs of those that returned before the others.
pub(crate) fn tool_calls(items: &[Item], steps: &[Step]) -> Vec<ToolCallDocument> {
    let mut calls: Vec<ToolCallDocument> = Vec::new();
    let mut places: HashMap<CallId, usize> = HashMap::new();
    let returned = |call: &ToolCall| {
        let key = StepKey::Tool(call.id);
        let step = steps.iter().find(|step| step.key == key)?;
        Some((step.output()?.clone(), step.updated))
    };
    for item in items {
        match &item.body {
            ItemBody::Turn(turn) => {
                for call in &turn.calls {
                    let Some(mut document) = ToolCallDocument::asked(item, call) else {
                        continue;
                    };
                    if let Some((output, at)) = returned(call) {
                        document.returned(output, at);
                    }
                    places.insert(call.id, calls.len());
                    calls.push(document);
                }
            }
            ItemBody::Output(output) => {
                if let Some(call) = places.get(&output.call).and_then(|at| calls.get_mut(*at)) {
                    call.returned(output.clone(), item.at);
                }
            }
            _ => {}
        }
    }
    calls
}
