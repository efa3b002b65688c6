//! Calls of a model that the program of the run does not make: a transcript goes on only after each call has its output.

use entourage_types::{Item, ItemBody, StepKey, ToolCall};

use super::output_limits::failed;
use crate::run::{Run, trace::RunSpans};

impl Run<'_> {
    /// The calls of the last turn that nobody has begun.
    pub(in crate::run) fn calls_not_made(&self) -> impl Iterator<Item = &ToolCall> {
        let is_open =
            |call: &&ToolCall| !self.steps.is_answered(call.id) && self.steps.of_call(call).is_none();
        self.last_calls().iter().filter(is_open)
    }

    /// Gives those calls their outputs, with the next commit.
    pub(in crate::run) fn close_calls_not_made(&mut self) {
        let open: Vec<ToolCall> = self.calls_not_made().cloned().collect();
        let at = self.engine.now();
        for call in open {
            let output = failed(&call, "not made: the program of this run went on without it");
            RunSpans::of(self).call(&call, &output);
            let writes = self.checkpoint(StepKey::Tool(call.id), output, 1, at);
            self.batch.extend(writes);
        }
    }

    /// What has joined the transcript since the last turn.
    pub(in crate::run) fn since_last_turn(&self) -> &[Item] {
        let items = self.items();
        let turn = items.iter().rposition(|item| matches!(item.body, ItemBody::Turn(_)));
        turn.map_or(&[], |turn| &items[turn + 1..])
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
