//! Prevents agents from waiting for each other in a circle. Before an agent writes to another one that is at
//! work, it checks whether that one waits for the writer. Two agents that write at the same instant both
//! check before either has written. Therefore an agent that wrote to a pre-existing one checks again before
//! it sleeps: of the messages that close a circle the last one is unread, and its writer sees all the others.

use std::collections::HashSet;

use entourage_store::{Page, RecordFilter};
use entourage_types::{
    Action, Agent, AgentId, CallId, Output, OutputEffect, Scope, Status, Step, StepKey, Task, ToolCall, Wait,
};

use crate::run::{
    Result, Run,
    tools::{calls::Calls, output_limits::failed},
};

impl Run<'_> {
    /// Whether an open call waits for an agent that existed before the call.
    pub(in crate::run) fn targets_existing_agent(&self, call: CallId) -> bool {
        let wait = self.steps.get(&StepKey::Tool(call)).and_then(Step::wait);
        matches!(wait, Some(Wait::Task { existing: Some(_), .. }))
    }

    /// Returns why an agent cannot answer this one, if it waits, directly or through others, for an answer of
    /// this one. An agent that is merely busy answers later.
    pub(in crate::run) async fn cannot_answer(&self, agent: &Agent) -> Result<Option<String>> {
        let is_at_work = matches!(agent.status, Status::Running | Status::Waiting);
        if !is_at_work || !self.is_awaited_by(agent.id).await? {
            return Ok(None);
        }
        Ok(Some(format!(
            "`{}` waits for an answer from this conversation and cannot answer you first; answer with what \
             you have",
            agent.kind
        )))
    }

    /// Checks the recipients of these calls again before the agent sleeps. If a message closed a circle and
    /// is unread, withdraws it in one commit with the output of its call. Returns whether it did.
    pub(in crate::run) async fn break_deadlocks(&mut self, calls: &Calls<'_>) -> Result<bool> {
        let mut any = false;
        for (index, call) in calls.iter().enumerate() {
            let Some((task, why)) = self.closed_by(call).await? else { continue };
            let mut writes = Vec::new();
            self.cancel_task(task.clone(), Action::Stop, &mut writes)?;
            let effect = Some(OutputEffect::Delegated(task.id));
            let refused = Output { effect, ..failed(call, why) };
            self.finish(calls, index, refused, writes).await?;
            self.interrupt_cancelled(&task, Action::Stop);
            any = true;
        }
        Ok(any)
    }

    /// Returns the task of a call that closed a circle and is still unread, with the reason.
    async fn closed_by(&self, call: &ToolCall) -> Result<Option<(Task, String)>> {
        let wait = self.steps.of_call(call).and_then(Step::wait);
        let Some(Wait::Task { task, existing: Some(met) }) = wait else { return Ok(None) };
        let (scope, store) = (self.scope(), self.engine.store());
        let Some(agent) = store.agent(&scope, *met).await? else { return Ok(None) };
        let Some(why) = self.cannot_answer(&agent).await? else { return Ok(None) };
        let Some(task) = store.record::<Task>(&scope, task).await? else { return Ok(None) };
        let unread = store.inbox(*met).await?;
        let is_unread = unread.iter().any(|post| Some(post.id) == task.post);
        Ok((is_unread && task.status == Status::Queued).then_some((task, why)))
    }

    /// Whether an agent waits, directly or through others, for an answer of this one: it would never read
    /// what this one writes to it now.
    async fn is_awaited_by(&self, agent: AgentId) -> Result<bool> {
        let mut seen = HashSet::from([agent]);
        let mut left = vec![agent];
        while let Some(agent) = left.pop() {
            if agent == self.agent.id {
                return Ok(true);
            }
            let (parent, status) = (Some(agent.into()), Some(Status::Queued));
            let queued =
                RecordFilter::<Task> { parent, status, page: Page::all(), ..RecordFilter::default() };
            for task in self.engine.store().records(&Scope::All, queued).await? {
                if task.is_awaited() && seen.insert(task.to) {
                    left.push(task.to);
                }
            }
        }
        Ok(false)
    }
}
