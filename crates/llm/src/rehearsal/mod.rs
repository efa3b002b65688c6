//! A stand-in for a language model that needs no key and no network: it drives the engine by a fixed script,
//! so that a new user sees delegation, questions, files and notes at work.

mod acted;
mod decided;
mod instance;
mod scene;

use async_trait::async_trait;
use entourage_types::{CallId, Cost, ToolCall, Usage};
use serde_json::Value;

use crate::{Delta, Deltas, Model, Reply, Request, Result};
use acted::Acted;
use decided::Decided;
use scene::{Next, Scene};

/// Its name in settings and in replies.
pub(crate) const NAME: &str = "rehearsal";

const DISCLAIMER: &str = "This is the rehearsal model, not a language model: it follows a fixed script. \
                          Set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY, or start Ollama, \
                          for real answers.";

/// Whether a model's name means the rehearsal.
pub(crate) fn is(model: &str) -> bool {
    model == NAME || model.strip_prefix(NAME).is_some_and(|rest| rest.starts_with("::"))
}

/// The rehearsal: equal conversations get equal answers, and every conversation ends.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rehearsal;

#[async_trait]
impl Model for Rehearsal {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        let reply = |text: String, calls: Vec<ToolCall>| Reply {
            text,
            calls,
            model: NAME.into(),
            usage: Usage::default(),
            cost: Some(Cost::default()),
        };
        let next = match (Acted::of(&request), &request.output_schema) {
            (Some(acted), Some(_)) => Next::Say(acted.decision().to_string()),
            (Some(acted), None) => Next::Say(acted.text()),
            (None, Some(schema)) => Next::Say(instance::of(schema, &Decided::on(&request)).to_string()),
            (None, None) => Scene::of(&request).next(),
        };
        Ok(match next {
            Next::Call(tool, arguments) => {
                deltas.delta(Delta::Call { tool: tool.to_owned() });
                reply(String::new(), vec![call(tool, arguments)])
            }
            Next::Say(text) => {
                for word in text.split_inclusive(' ') {
                    deltas.delta(Delta::Text(word.to_owned()));
                }
                reply(text, Vec::new())
            }
        })
    }

    fn describe(&self) -> String {
        "rehearsal: a fixed script, no language model".into()
    }

    fn price(&self, _: Option<&str>, _: &Usage) -> Option<Cost> {
        Some(Cost::default())
    }

    fn disclaimer(&self) -> Option<&'static str> {
        Some(DISCLAIMER)
    }
}

fn call(tool: &str, arguments: Value) -> ToolCall {
    ToolCall { id: CallId::new(), tool: tool.to_owned(), arguments }
}
