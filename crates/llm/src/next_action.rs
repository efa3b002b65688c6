//! Tools for models that are too weak for them.
//!
//! Small models lose the thread after one native tool call, but follow a schema. So the tools
//! become one schema of next actions, the conversation is told in the same form, and the JSON that
//! comes back becomes calls or text. Nobody else notices.

use std::{fmt::Write as _, sync::Arc};

use async_trait::async_trait;
use entourage_types::{CallId, Cost, ToolCall, ToolSpec, Usage};
use serde_json::{Map, Value, json};

use crate::{Delta, Deltas, Error, GateState, Message, Model, Reply, Request, Result};

/// The action that ends a turn.
const FINAL: &str = "final_answer";

/// A model whose tools are offered as a schema of next actions.
#[derive(Debug)]
pub struct NextAction<M> {
    inner: M,
}

impl<M> NextAction<M> {
    /// Wraps a weak model.
    #[must_use]
    pub const fn new(inner: M) -> Self {
        Self { inner }
    }
}

#[async_trait]
impl<M: Model> Model for NextAction<M> {
    async fn call(&self, mut request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        // Where the answer has a schema of its own, there is no choice of actions.
        let acting = !request.tools.is_empty() && request.output_schema.is_none();
        request.messages = plain(request.messages, acting);
        if !acting {
            request.tools = Arc::default();
            return self.inner.call(request, deltas).await;
        }
        request.system = format!("{}\n\n{}", request.system, instructions(&request.tools)).into();
        request.output_schema = Some(Arc::new(schema(&request.tools)));
        request.tools = Arc::default();
        let mut reply = self.inner.call(request, &mut WithoutText(deltas)).await?;
        if let Err(error) = act(&mut reply) {
            deltas.delta(Delta::Wasted(reply.used()));
            return Err(error);
        }
        if !reply.text.is_empty() {
            deltas.delta(Delta::Text(reply.text.clone()));
        }
        for call in &reply.calls {
            deltas.delta(Delta::Call { tool: call.tool.clone() });
        }
        Ok(reply)
    }

    fn describe(&self) -> String {
        format!("{}, tools as a schema of next actions", self.inner.describe())
    }

    fn disclaimer(&self) -> Option<&'static str> {
        self.inner.disclaimer()
    }

    fn price(&self, model: Option<&str>, usage: &Usage) -> Option<Cost> {
        self.inner.price(model, usage)
    }

    fn gates(&self) -> Vec<GateState> {
        self.inner.gates()
    }

    fn fallback(&self) -> &[String] {
        self.inner.fallback()
    }
}

/// Keeps the JSON of actions from the reader.
struct WithoutText<'a>(&'a mut dyn Deltas);

impl Deltas for WithoutText<'_> {
    fn delta(&mut self, delta: Delta) {
        if !matches!(delta, Delta::Text(_)) {
            self.0.delta(delta);
        }
    }
}

/// How to answer. It depends on the tools alone, so it is as stable as they are.
fn instructions(tools: &[ToolSpec]) -> String {
    let mut text = format!(
        "Reply with one JSON object, your next action, and nothing else.\n\
         To use a tool: {{\"action\": \"<tool>\", \"arguments\": {{…}}}}. Its result comes next.\n\
         To answer and finish: {{\"action\": \"{FINAL}\", \"text\": \"…\"}}.\n\
         Tools:"
    );
    for tool in tools {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n- {}({}): {}", tool.name, arguments(&tool.parameters), tool.description);
    }
    text
}

/// The names of a tool's arguments; a question mark says that one may be left out.
fn arguments(parameters: &Value) -> String {
    let required = parameters.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|given| given == name));
    let names = parameters.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    let shown: Vec<String> =
        names.map(|name| if is_required(name) { name.clone() } else { format!("{name}?") }).collect();
    shown.join(", ")
}

/// One of the tools with its arguments, or the final answer.
fn schema(tools: &[ToolSpec]) -> Value {
    let mut actions: Vec<Value> =
        tools.iter().map(|tool| action(&tool.name, "arguments", tool.parameters.clone())).collect();
    actions.push(action(FINAL, "text", json!({"type": "string"})));
    json!({"anyOf": actions})
}

fn action(name: &str, field: &str, content: Value) -> Value {
    let mut properties = Map::new();
    properties.insert("action".into(), json!({"const": name}));
    properties.insert(field.into(), content);
    json!({
        "type": "object",
        "properties": properties,
        "required": ["action", field],
        "additionalProperties": false,
    })
}

/// The conversation without calls and outputs: each call as the action it was, each output as a
/// message after it.
fn plain(messages: Vec<Message>, acting: bool) -> Vec<Message> {
    let mut plain = Vec::with_capacity(messages.len());
    let mut open: Vec<ToolCall> = Vec::new();
    for message in messages {
        match message {
            Message::Assistant { text, calls } => {
                if !text.is_empty() {
                    let said = if acting && calls.is_empty() {
                        json!({"action": FINAL, "text": text}).to_string()
                    } else {
                        text
                    };
                    plain.push(says(said));
                }
                open = calls;
            }
            Message::Output { call, tool, text } => {
                if let Some(index) = open.iter().position(|open| open.id.to_string() == call) {
                    let call = open.remove(index);
                    let action = json!({"action": call.tool, "arguments": call.arguments});
                    plain.push(says(action.to_string()));
                }
                plain.push(Message::User(format!("Result of {tool}:\n{text}")));
            }
            user @ Message::User(_) => plain.push(user),
        }
    }
    plain
}

fn says(text: String) -> Message {
    Message::Assistant { text, calls: Vec::new() }
}

/// Reads the action in the reply's text and puts what it means in its place.
fn act(reply: &mut Reply) -> Result<()> {
    let text = std::mem::take(&mut reply.text);
    let bad = |what: &str| Err(Error::BadAnswer { model: reply.model.clone(), what: what.to_owned() });
    let Some(start) = text.find('{') else {
        // A server that ignores schemas lets the model answer in words: that is an answer too.
        reply.text = text;
        return Ok(());
    };
    let first = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Map<String, Value>>().next();
    let Some(Ok(mut action)) = first else {
        return bad("not an action: its JSON is not whole");
    };
    match (action.remove("action"), action.remove("text"), action.remove("arguments")) {
        (Some(Value::String(name)), Some(Value::String(answer)), _) if name == FINAL => {
            if answer.trim().is_empty() {
                return bad("empty: a final answer without text");
            }
            reply.text = answer;
        }
        (Some(Value::String(tool)), _, arguments) if tool != FINAL => {
            let arguments = arguments.unwrap_or_else(|| Value::Object(Map::new()));
            reply.calls = vec![ToolCall { id: CallId::new(), tool, arguments }];
        }
        _ => return bad("not an action: `action` is missing, or its `text`"),
    }
    Ok(())
}
