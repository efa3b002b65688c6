//! A provider's response, and whether it is a usable answer.

use entourage_types::{CallId, ToolCall, Usage};
use serde_json::Value;

use super::{
    arguments,
    failure::{Failure, MOST_CALLS},
};
use crate::{Error, Reply, Result};

/// A provider's response, once its stream has ended.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) text: String,
    /// Tools with their arguments, as the model gave them.
    pub(super) calls: Vec<(String, Value)>,
    pub(super) usage: Usage,
    /// The provider's stop reason.
    pub(super) stop: Option<String>,
}

impl Answer {
    /// Returns the usage. The prompt includes tokens read from or written to the cache, and the output
    /// includes reasoning, even if a gateway leaves them out.
    pub(super) fn used(&self) -> Usage {
        let usage = self.usage;
        Usage {
            input: usage.input.max(usage.cached.saturating_add(usage.cache_written)),
            output: usage.output.max(usage.reasoning),
            ..usage
        }
    }

    /// Returns the reply if the answer is usable. The stop reason only decides whether the answer is
    /// complete: some providers report "completed" for tool calls.
    /// Whether the provider has said that its answer is over.
    pub(super) const fn has_ended(&self) -> bool {
        self.stop.is_some()
    }

    pub(super) fn into_reply(self, failure: &Failure<'_>) -> Result<Reply> {
        match self.stop.as_deref() {
            None => return Err(failure.bad("cut off: the stream ended without a reason to stop")),
            Some(
                "length" | "max_tokens" | "incomplete" | "model_length" | "model_context_window_exceeded",
            ) => {
                let (model, written) = (failure.model.to_owned(), self.usage.output);
                return Err(Error::AtTokenLimit { model, written });
            }
            Some(word @ ("content_filter" | "refusal")) => {
                let cause = format!("the provider's content filter stopped the answer ({word})");
                return Err(Error::Refused { model: failure.model.to_owned(), cause });
            }
            Some(word @ ("failed" | "cancelled" | "error")) => {
                return Err(failure.bad(&format!("cut off: the provider says `{word}`")));
            }
            Some(_) => {}
        }
        if self.calls.is_empty() && self.text.trim().is_empty() {
            return Err(Error::Empty { model: failure.model.to_owned() });
        }
        if self.calls.len() > MOST_CALLS {
            return Err(failure.too_many_calls());
        }
        if self.calls.iter().any(|(tool, _)| tool.is_empty()) {
            return Err(failure.bad("not usable: a tool call without a name"));
        }
        // Fresh ids: some providers number the calls of each answer from zero.
        let own = |(tool, arguments)| ToolCall { id: CallId::new(), tool, arguments };
        let calls = arguments::read_all(self.calls).into_iter().map(own).collect();
        Ok(Reply { text: self.text, calls, ..Reply::default() })
    }
}
