//! Tools for models that are too weak for them.
//!
//! Small models lose the thread after one native tool call, but follow a schema. So the tools
//! become one schema of next actions, the conversation is told in the same form, and the JSON that
//! comes back becomes calls or text. Nobody else notices.
//!
//! The form was measured (`tests/third_party/eval`): such a model copies an example where it does
//! not follow a signature, takes what stands last for what the user says, and answers at once unless the
//! request stands behind a result once more.

use std::{fmt::Write as _, sync::Arc};

use async_trait::async_trait;
use entourage_types::{CallId, Cost, ToolCall, ToolSpec, Usage};
use serde_json::{Map, Value, json};

use crate::{Delta, Deltas, Error, GateState, Message, Model, Reply, Request, Result, example};

/// The action that ends a turn. A tool of that name says the same, and is not offered beside it.
const FINAL: &str = "final_answer";

/// Tools that such a model takes instead of looking for itself: left out where there are others.
const INSTEAD: [&str; 1] = ["ask_user"];

/// A request is repeated up to so many characters.
const REQUEST: usize = 1_500;

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
        let may_call = !request.tools.is_empty() && !request.forbids_calls();
        let acting = may_call && request.output_schema.is_none();
        let (asked, vain) = (asked(&request.messages), in_vain(&request.messages));
        request.messages = plain(request.messages, acting);
        tail_first(&mut request);
        let tools = std::mem::take(&mut request.tools);
        if !acting {
            return self.inner.call(request, deltas).await;
        }
        let tools = offered(&tools);
        let left = left(&tools, &vain);
        if let (Some(asked), Some(Message::User(result))) = (asked, request.messages.last_mut()) {
            let next = if left.is_empty() { "Answer it now." } else { "Next action?" };
            // Writing to a string cannot fail.
            let _ = write!(result, "\n\nMy request was: {asked}\n{next}");
        }
        request.system = format!("{}\n\n{}", request.system, instructions(&tools)).into();
        request.output_schema = Some(Arc::new(schema(&left)));
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

/// The tools that are worth an example.
fn offered(tools: &[ToolSpec]) -> Vec<&ToolSpec> {
    let all: Vec<&ToolSpec> = tools.iter().filter(|tool| tool.name != FINAL).collect();
    let few: Vec<&ToolSpec> =
        all.iter().copied().filter(|tool| !INSTEAD.contains(&tool.name.as_str())).collect();
    if few.is_empty() { all } else { few }
}

/// What was asked for last, where a result came after it.
fn asked(messages: &[Message]) -> Option<String> {
    if !matches!(messages.last(), Some(Message::Output { .. })) {
        return None;
    }
    messages.iter().rev().find_map(|message| match message {
        Message::User(text) => Some(text.chars().take(REQUEST).collect()),
        _ => None,
    })
}

/// The tools left to choose from: such a model would make a call again and again that it made in vain, so the
/// tool of the first is taken away, and with the second all are. It can answer from what there is.
fn left<'t>(tools: &[&'t ToolSpec], vain: &[String]) -> Vec<&'t ToolSpec> {
    match vain {
        [] => tools.to_vec(),
        [one] => tools.iter().copied().filter(|tool| tool.name != *one).collect(),
        _ => Vec::new(),
    }
}

/// The tool of each call, since the user's last words, that was made before with the same result, or twice before
/// with any.
fn in_vain(messages: &[Message]) -> Vec<String> {
    let mut open: Vec<&ToolCall> = Vec::new();
    let mut made: Vec<(&str, &Value, &str)> = Vec::new();
    let mut vain = Vec::new();
    for message in messages {
        match message {
            Message::User(_) => {
                made.clear();
                vain.clear();
            }
            Message::Assistant { calls, .. } => open = calls.iter().collect(),
            Message::Output { call, text, .. } => {
                let Some(call) = open.iter().find(|open| open.id.to_string() == *call) else { continue };
                let (tool, arguments) = (call.tool.as_str(), &call.arguments);
                let same = || made.iter().filter(|before| (before.0, before.1) == (tool, arguments));
                if same().any(|before| before.2 == text) || same().count() > 1 {
                    vain.push(tool.to_owned());
                }
                made.push((tool, arguments, text));
            }
        }
    }
    vain
}

/// Puts what changes from request to request before the last words instead of behind them.
fn tail_first(request: &mut Request) {
    if let Some(Message::User(last)) = request.messages.last_mut()
        && let Some(tail) = request.tail.take()
    {
        *last = format!("{tail}\n\n{last}");
    }
}

/// How to answer: an example for each tool. It depends on the tools alone, so it is as stable as they are.
fn instructions(tools: &[&ToolSpec]) -> String {
    let mut text = "Reply with one JSON object, your next action, in one of these forms:".to_owned();
    for tool in tools {
        let example = json!({"action": tool.name, "arguments": example::arguments(tool)});
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{example}  {}", tool.description);
    }
    let last = json!({"action": FINAL, "text": "the answer"});
    let _ = write!(text, "\n{last}  Only when a result says it.");
    text
}

/// One of the tools with its arguments, or the final answer.
fn schema(tools: &[&ToolSpec]) -> Value {
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
