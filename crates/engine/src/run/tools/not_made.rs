//! Calls of a model that the program of the run does not make: a transcript goes on only after each call has its output.

use entourage_types::{ItemBody, StepKey, ToolCall};

use super::output_limits::failed;
use crate::run::Run;

impl Run<'_> {
    /// Gives the calls of the last turn that nobody has begun their outputs, with the next commit.
    pub(in crate::run) fn close_calls_not_made(&mut self) {
        let is_open =
            |call: &&ToolCall| !self.steps.is_answered(call.id) && self.steps.of_call(call).is_none();
        let open: Vec<ToolCall> = self.last_calls().iter().filter(is_open).cloned().collect();
        let at = self.engine.now();
        for call in open {
            let output = failed(&call, "not made: the program of this run went on without it");
            self.trace_call(&call, &output);
            let writes = self.checkpoint(StepKey::Tool(call.id), output, 1, at);
            self.batch.extend(writes);
        }
    }

    /// The calls of the last turn.
    pub(in crate::run) fn last_calls(&self) -> &[ToolCall] {
        let last = self.items().iter().rev().find_map(|item| match &item.body {
            ItemBody::Turn(turn) => Some(turn.calls.as_slice()),
            _ => None,
        });
        last.unwrap_or_default()
    }
}
