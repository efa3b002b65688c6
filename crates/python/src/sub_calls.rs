//! Calls of code, as the code makes them and as the engine does.

use entourage_tools::{SubCall, SubCallRecord};
use entourage_types::{Output, OutputEffect, ToolCall, tool_names};
use serde_json::{Map, Value, json};

use crate::{Call, Outcome, Record};

/// A call of code as the engine makes it.
pub(crate) fn sub_call(call: Call) -> SubCall {
    let (tool, arguments) = match call {
        Call::Fork { prompt, kind: None } => (tool_names::FORK.to_owned(), json!({ "prompt": prompt })),
        Call::Fork { prompt, kind } => {
            (tool_names::FORK.to_owned(), json!({ "prompt": prompt, "kind": kind }))
        }
        Call::AskUser { text } => (tool_names::ASK_USER.to_owned(), json!({ "question": text })),
        Call::Emit { text } => (tool_names::EMIT.to_owned(), json!({ "text": text })),
        Call::Tool { name, arguments } => (name, Value::Object(arguments)),
    };
    SubCall { tool, arguments }
}

/// The same call, as the code made it.
fn call_of(call: &ToolCall) -> Call {
    let argument = |name: &str| call.arguments.get(name).and_then(Value::as_str).map(str::to_owned);
    match call.tool.as_str() {
        tool_names::FORK => {
            Call::Fork { prompt: argument("prompt").unwrap_or_default(), kind: argument("kind") }
        }
        tool_names::ASK_USER if call.arguments.as_object().is_some_and(|given| given.len() == 1) => {
            Call::AskUser { text: argument("question").unwrap_or_default() }
        }
        tool_names::EMIT => Call::Emit { text: argument("text").unwrap_or_default() },
        name => {
            let arguments = call.arguments.as_object().cloned().unwrap_or_else(Map::new);
            Call::Tool { name: name.to_owned(), arguments }
        }
    }
}

pub(crate) fn record_of(SubCallRecord { calls, outputs, .. }: &SubCallRecord) -> Record {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Record {
        calls: calls.iter().map(call_of).collect(),
        outcomes: outputs.iter().map(|(of, output)| (number(*of), outcome_of(output))).collect(),
    }
}

fn outcome_of(output: &Output) -> Outcome {
    match &output.effect {
        Some(OutputEffect::Declined(_) | OutputEffect::Expired(_)) => Outcome::Value(Value::Null),
        _ if output.error => Outcome::Failed(output.text.clone()),
        _ => Outcome::Value(Value::String(output.text.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_back_as_the_code_made_it() {
        let calls = [
            Call::Fork { prompt: "A".into(), kind: None },
            Call::Fork { prompt: "A".into(), kind: Some("researcher".into()) },
            Call::AskUser { text: "Which?".into() },
            Call::Emit { text: "half".into() },
            Call::Tool {
                name: "ask_user".into(),
                arguments: Map::from_iter([
                    ("question".to_owned(), json!("Which?")),
                    ("options".to_owned(), json!(["a"])),
                ]),
            },
            Call::Tool {
                name: "read_file".into(),
                arguments: Map::from_iter([("path".to_owned(), json!("a"))]),
            },
        ];
        for call in calls {
            let SubCall { tool, arguments } = sub_call(call.clone());
            let made = ToolCall { id: entourage_types::CallId::new(), tool, arguments };
            assert_eq!(call_of(&made), call);
        }
    }
}
