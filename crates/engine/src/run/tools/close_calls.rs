//! Outputs for calls that end open: with their run, with a stop, or with the code that made them.

use entourage_store::{Error as StoreError, Expect, Write};
use entourage_types::{
    About, CallId, OpenQuestion, Output, OutputEffect, Question, QuestionStatus, Step, StepKey, SubOutput,
    ToolCall, Wait,
};

use crate::run::{
    Run,
    inbox::Taken,
    questions::reply::{Reply, reply_of},
    tools::doubt::may_have_taken_effect,
    tools::output_limits::failed,
    trace::RunSpans,
};

type Result<T, E = StoreError> = std::result::Result<T, E>;

impl Run<'_> {
    /// Gives the open calls outputs: every call must have one before the transcript continues, also if the
    /// run ended early. Those of their code come first.
    pub(in crate::run) async fn close_open_calls(
        &mut self,
        cause: &str,
        writes: &mut Vec<Write>,
    ) -> Result<()> {
        self.close_sub_calls(cause, |_| true, writes).await?;
        let at = self.engine.now();
        let is_open = |call: &&ToolCall| !self.steps.is_answered(call.id);
        let open: Vec<ToolCall> = self.last_calls().iter().filter(is_open).cloned().collect();
        for call in open {
            let output = self.closed(&call, cause, writes).await?;
            writes.extend(self.without_snapshot(call.id));
            writes.extend(self.checkpoint(StepKey::Tool(call.id), output, 1, at));
        }
        Ok(())
    }

    /// Gives the open calls of code that `is_meant` outputs, by the call whose code made them.
    pub(in crate::run) async fn close_sub_calls(
        &mut self,
        cause: &str,
        is_meant: impl Fn(CallId) -> bool,
        writes: &mut Vec<Write>,
    ) -> Result<()> {
        let at = self.engine.now();
        let open: Vec<(CallId, ToolCall)> = self
            .open_sub_calls()
            .filter(|(of, _)| is_meant(*of))
            .map(|(of, call)| (of, call.clone()))
            .collect();
        if !open.is_empty() {
            // Results that have come meanwhile.
            self.inbox.doubt();
            self.refresh().await?;
        }
        for (of, call) in open {
            let output = match self.take_result(&call, writes) {
                Some(output) => output,
                None => self.closed(&call, cause, writes).await?,
            };
            writes.extend(self.checkpoint(StepKey::Tool(call.id), SubOutput { of, output }, 1, at));
        }
        Ok(())
    }

    /// Takes the result of an agent that code has started and does not read any more: it is no message to the agent.
    fn take_result(&mut self, call: &ToolCall, writes: &mut Vec<Write>) -> Option<Output> {
        let is_of_task = matches!(self.steps.of_call(call).and_then(Step::wait), Some(Wait::Task { .. }));
        if !is_of_task {
            return None;
        }
        let Taken { post, consume } = self.inbox.take_reply(call.id)?;
        writes.push(consume);
        match reply_of(call, None, &post) {
            Reply::Output(output) => Some(output),
            Reply::Instead(_) | Reply::Begin(_) => None,
        }
    }

    /// Returns the output of a call that ends open, with the writes that withdraw its question.
    async fn closed(&mut self, call: &ToolCall, cause: &str, writes: &mut Vec<Write>) -> Result<Output> {
        let step = self.steps.of_call(call).cloned();
        let asked = step.as_ref().and_then(Step::question).cloned();
        let said = asked.as_ref().and_then(|asked| self.take_answer(call, asked, writes));
        let in_doubt =
            if step.as_ref().is_some_and(may_have_taken_effect) { "; it may have taken effect" } else { "" };
        let was_answered = match asked {
            Some(asked) => self.withdraw(asked, writes).await?,
            None => false,
        };
        // If a person has answered, the output must not say that no answer came.
        let how = if was_answered { "answered too late" } else { "not answered" };
        let given_away = step.as_ref().and_then(Step::task).map(OutputEffect::Delegated);
        let kept = said.or_else(|| step.as_ref().and_then(Step::output).cloned());
        Ok(kept.unwrap_or_else(|| {
            let unanswered = failed(call, format!("{how}: {cause}{in_doubt}"));
            let unanswered = Output { effect: given_away, ..unanswered };
            RunSpans::of(self).call(call, &unanswered);
            unanswered
        }))
    }

    /// Takes the answer to a question for information that the run has yet to read: it is kept, also if the work that
    /// needed it is dropped.
    fn take_answer(
        &mut self,
        call: &ToolCall,
        asked: &OpenQuestion,
        writes: &mut Vec<Write>,
    ) -> Option<Output> {
        if asked.about != About::Information {
            return None;
        }
        let Taken { post, consume } = self.inbox.take_reply(call.id)?;
        writes.push(consume);
        match reply_of(call, Some(asked), &post) {
            Reply::Output(output) => Some(output),
            Reply::Instead(_) | Reply::Begin(_) => None,
        }
    }

    /// Closes the question of a call that ends. Returns whether a person had answered it.
    async fn withdraw(&mut self, asked: OpenQuestion, writes: &mut Vec<Write>) -> Result<bool> {
        let found = self.question_as_it_is(asked.question).await?;
        let status = found.as_ref().map(|question| question.status);
        if let Some(question) = found.filter(|question| question.status == QuestionStatus::Open) {
            self.batch.expect(Some(Expect::status::<Question>(question.id, QuestionStatus::Open)));
            let (status, updated) = (QuestionStatus::Expired, self.engine.now());
            writes.push(Write::record(&Question { status, updated, ..question })?);
        }
        writes.extend(asked.due.map(|(_, wakeup)| Write::ConsumeWakeup(wakeup)));
        Ok(matches!(status, Some(QuestionStatus::Answered | QuestionStatus::Declined)))
    }
}
