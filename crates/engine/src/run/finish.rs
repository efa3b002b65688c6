//! What calls came to, made or not: each output is kept as soon as it is there, and the last of a turn
//! brings all of them into the transcript.

use std::collections::BTreeMap;

use entourage_store::Write;
use entourage_types::{ItemBody, Output, Status, StepState, ToolCall};
use serde_json::Value;

use super::{Result, Run, call_tools::key, kept::output};
use crate::measure;

impl Run<'_> {
    /// Commits a call's output with what rides along, and tells of the call.
    pub(super) async fn finish(
        &mut self,
        calls: &[ToolCall],
        index: usize,
        output: Output,
        writes: Vec<Write>,
    ) -> Result<()> {
        self.finish_all(calls, BTreeMap::from([(index, output)]), writes).await
    }

    /// Answers the calls from `from` on without making them, in one commit.
    ///
    /// # Errors
    /// An [`Interrupt`](super::Interrupt) when the store fails.
    pub async fn decline(&mut self, calls: &[ToolCall], from: usize, why: &str) -> Result<()> {
        // One that was begun goes its way.
        let is_new =
            |call: &ToolCall| !self.steps.contains_key(&key(call)) && !self.answered.contains(&call.id);
        let declined: BTreeMap<usize, Output> = calls
            .iter()
            .enumerate()
            .skip(from)
            .filter(|(_, call)| is_new(call))
            .map(|(index, call)| (index, output(call, why, true)))
            .collect();
        if declined.is_empty() { Ok(()) } else { self.finish_all(calls, declined, vec![]).await }
    }

    /// Commits the outputs of calls, by their places in the turn, and tells of the calls.
    async fn finish_all(
        &mut self,
        calls: &[ToolCall],
        mut outputs: BTreeMap<usize, Output>,
        writes: Vec<Write>,
    ) -> Result<()> {
        for (index, output) in &mut outputs {
            self.keep_within(output);
            // The transcript keeps the call as the agent made it; the output says what became of it.
            if let Some(arguments) = self.edited(&calls[*index]) {
                let text = &output.text;
                output.text = format!("The user changed the arguments to {arguments}. With those:\n{text}");
            }
        }
        self.keep_outputs(calls, &outputs, writes).await?;
        for (index, output) in &outputs {
            measure::tool_step_done();
            self.trace_call(&calls[*index], output);
        }
        Ok(())
    }

    async fn keep_outputs(
        &mut self,
        calls: &[ToolCall],
        outputs: &BTreeMap<usize, Output>,
        mut writes: Vec<Write>,
    ) -> Result<()> {
        let at = self.house.now();
        let mut places = calls.iter().enumerate();
        if !places.all(|(index, call)| outputs.contains_key(&index) || self.is_done(call)) {
            for (index, output) in outputs {
                let value = serde_json::to_value(output)?;
                writes.push(Write::Step(self.step(&key(&calls[*index]), StepState::Done, value, at)));
            }
            return self.commit(writes).await;
        }
        for (index, call) in calls.iter().enumerate() {
            let body = match outputs.get(&index) {
                Some(output) => output.clone(),
                None => {
                    let kept = self.steps.get(&key(call)).map(|step| step.value.clone());
                    serde_json::from_value(kept.unwrap_or_default())?
                }
            };
            writes.push(self.item(ItemBody::Output(body), at));
            // The output stands in the transcript from here on: a step that was begun is done and need
            // not hold it too, and one that was not has no need to be.
            if self.steps.contains_key(&key(call)) {
                writes.push(Write::Step(self.step(&key(call), StepState::Done, Value::Null, at)));
            }
        }
        if self.record.status != Status::Running {
            writes.push(self.run_row(Status::Running, None));
        }
        writes.extend(self.awake(at));
        self.commit(writes).await
    }

    fn is_done(&self, call: &ToolCall) -> bool {
        self.steps.get(&key(call)).is_some_and(|step| step.state == StepState::Done)
    }
}
