//! The end of an activation: the run ends, or sleeps. Results go to the agents that assigned the tasks, in
//! the same commit.

use entourage_store::{Error as StoreError, Expect, Page, RecordFilter, Write};
use entourage_types::{
    Action, Agent, EntityKind, Failed, ItemBody, Notice, NoticeCode, OnEnd, Post, PostBody, Schedule,
    ScheduleStatus, Status, StopReason, Task, TaskResult, Time, WaitingOn, Wakeup, plain,
};

use crate::run::{Interrupt, Run, Stop, inbox::Taken, lifecycle::session::idle_id, trace::RunSpans};

type Result<T, E = StoreError> = std::result::Result<T, E>;

/// How a run ends.
pub(super) struct Ending {
    pub(super) status: Status,
    /// The status of the tasks that it worked on.
    pub(super) tasks: Status,
    pub(super) reason: StopReason,
    pub(super) result: TaskResult,
    /// Why it was ended before its program completed, for logs and programs.
    pub(super) cause: Option<String>,
    /// The attempts at a model call for which it was ended.
    pub(super) failed: Option<Failed>,
}

impl Ending {
    /// The end of a run whose tasks end as it does.
    fn new(status: Status, reason: StopReason, result: TaskResult, cause: Option<String>) -> Self {
        Self { status, tasks: status, reason, result, cause, failed: None }
    }
}

impl Run<'_> {
    /// Commits how the activation ended.
    pub(crate) async fn close(&mut self, ended: Result<String, Interrupt>) -> Result<()> {
        let Stop { reason, text, cause, failed, .. } = match ended {
            Ok(text) => {
                let reason =
                    self.limits().last_call().and_then(Notice::last_call).unwrap_or(StopReason::Completed);
                return self.end(Ending::new(Status::Succeeded, reason, TaskResult::Text(text), None)).await;
            }
            Err(Interrupt::Suspended(on)) => return self.sleep(on).await,
            // The wake-ups stay in the store: the next process continues from here.
            Err(Interrupt::Stopping) if self.engine.stopping().is_cancelled() => {
                return self.end_in_order().await;
            }
            Err(Interrupt::Stopping) => return Ok(()),
            Err(Interrupt::Store(error)) => return Err(error),
            Err(Interrupt::Replaced) => {
                Stop::new(StopReason::Error, "the program kept the interrupt of a phase beyond its end")
            }
            Err(Interrupt::Stopped(stop)) => match self.limits().finished_at_limit(&stop) {
                Some(text) => {
                    let (result, cause) = (TaskResult::Text(text), Some(stop.cause));
                    return self.end(Ending::new(Status::Succeeded, stop.reason, result, cause)).await;
                }
                None => stop,
            },
        };
        let ending = Ending::new(Status::Failed, reason, TaskResult::Error(text), Some(cause));
        self.end(Ending { failed, ..ending }).await
    }

    async fn sleep(&mut self, on: WaitingOn) -> Result<()> {
        // The commit with which the run began to wait may have written this already.
        let is_asleep = self.agent.waiting_on == Some(on) && !self.inbox.serves_any();
        if is_asleep && !self.batch.has_writes() && !self.batch.has_expectations() {
            return Ok(());
        }
        let at = self.engine.now();
        let mut commit = self.fenced(at);
        if on == WaitingOn::Resume {
            // What an activation that died has reserved keeps no other agent waiting.
            commit.writes.extend(self.engine.presumed(&self.agent).await?);
        }
        commit.writes.extend(self.asleep(on, at));
        let resets = self.reset_ends(&mut commit);
        self.commit_as_is(commit).await?;
        if resets {
            self.engine.inner.restarts.forget(self.agent.id);
        }
        Ok(())
    }

    /// Returns the writes of a run that sleeps from here on: its rows, and that its wake-ups are served.
    pub(in crate::run) fn asleep(&self, on: WaitingOn, at: Time) -> Vec<Write> {
        let (status, waiting_on) = (Status::Waiting, Some(on));
        let mut writes = Vec::new();
        // An agent that is paused before it read anything has no run yet.
        if self.record.is_open() {
            let mut run = self.record.clone();
            (run.status, run.waiting_on, run.worked_ms) = (status, waiting_on, self.worked_ms());
            writes.push(Write::Run(run));
        }
        writes.push(Write::Agent(Agent {
            status,
            waiting_on,
            stop_reason: None,
            updated: at,
            ..self.agent.clone()
        }));
        writes.extend(self.inbox.consume_due(self.moment()));
        writes
    }

    /// Updates the state in memory once the writes of [`asleep`](Self::asleep) are committed.
    pub(in crate::run) fn apply_suspension(&mut self, on: WaitingOn, at: Time) {
        self.agent_row(Status::Waiting, Some(on), at);
        self.record.write(Status::Waiting, Some(on));
        drop(self.inbox.consume_served());
    }

    fn worked_ms(&self) -> u64 {
        u64::try_from(self.limits().worked().as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) async fn end(&mut self, ending: Ending) -> Result<()> {
        // No run would read their results.
        let unjoined =
            self.unjoined_tasks().await?.into_iter().map(|task| self.dropped(task, Action::Delete)).collect();
        self.end_with(ending, unjoined).await
    }

    /// Ends the run, and cancels these tasks in the same commit.
    pub(super) async fn end_with(&mut self, ending: Ending, dropped: Vec<(Task, Action)>) -> Result<()> {
        let Ending { status, tasks, reason, result, cause, failed } = ending;
        let at = self.engine.now();
        if !dropped.is_empty() && self.batch.has_writes() {
            // One of them may end at this moment, which refuses the commit: the last turn must not be lost with it.
            let turn = self.fenced(at).write(Write::Run(self.record.clone()));
            self.commit_as_is(turn).await?;
        }
        let mut writes: Vec<Write> = self.engine.presumed(&self.agent).await?.into_iter().collect();
        if !self.record.is_open() {
            self.take_unread(at, &mut writes).await?;
        }
        if self.inbox.take_leaves() || !self.inbox.is_empty() {
            // Posts that came too late for this run are for the next one, even if the wake-ups that came with
            // them are consumed.
            writes.push(self.wake_at(at));
        }
        match (&result, cause) {
            (TaskResult::Error(text), Some(cause)) => {
                let why = format!("the run ended ({text})");
                Box::pin(self.close_open_calls(&why, &mut writes)).await?;
                let notice = Notice::new(NoticeCode::Ended(reason), text);
                let notice =
                    Notice { cause: Some(cause.clone()).filter(|cause| cause != text), failed, ..notice };
                writes.push(self.append(ItemBody::Notice(notice), at));
                self.record.set_error(plain(cause));
            }
            // A limit without an answer, which its kind takes for an end like any other: no error is shown.
            (TaskResult::Text(_), Some(cause)) => {
                let why = format!("the run ended ({cause})");
                Box::pin(self.close_open_calls(&why, &mut writes)).await?;
            }
            (_, None) => self.close_calls_not_made(),
        }
        for (task, action) in &dropped {
            self.cancel_task(task.clone(), *action, &mut writes)?;
        }
        self.record.set_worked(self.worked_ms());
        self.record.end(reason, at);
        let mut joined = Vec::new();
        for id in self.record.tasks.clone() {
            self.report(id, tasks, &result, at, &mut writes, &mut joined).await?;
        }
        writes.push(self.record.write(status, None));
        writes.push(self.rested_row(status, Some(reason), at));
        writes.extend(self.inbox.consume_served());
        writes.extend(self.inbox.consume_awaited(idle_id(&self.agent)));
        if status == Status::Succeeded {
            writes.extend(self.idle_wakeup(at));
        }
        let mut commit = self.fenced(at);
        commit.writes.extend(writes);
        self.commit_end(commit, &joined).await?;
        for (task, action) in &dropped {
            self.interrupt_cancelled(task, *action);
        }
        RunSpans::of(self).end(status).await;
        Ok(())
    }

    /// The writes that end the agent's schedules, active or paused.
    async fn ended_schedules(&self, at: Time) -> Result<Vec<Write>> {
        let all = RecordFilter::<Schedule> { page: Page::all(), ..RecordFilter::of(self.agent.id) };
        let all = self.engine.store().records(&self.scope(), all).await?.into_iter();
        let open = all.filter(|schedule| schedule.status != ScheduleStatus::Ended);
        open.map(|schedule| Ok(Write::record(&schedule.set(ScheduleStatus::Ended, at))?)).collect()
    }

    /// Ends the agent for good: gives its open calls outputs, reports to the agents that wait for it, and
    /// consumes all its `wakeups`. Its schedules end, and its goal is gone.
    pub(crate) async fn delete(&mut self, wakeups: Vec<Wakeup>) -> Result<()> {
        let at = self.engine.now();
        let cause = "deleted by the user";
        let before = self.agent.items;
        let mut writes: Vec<Write> = self.engine.presumed(&self.agent).await?.into_iter().collect();
        self.close_open_calls(cause, &mut writes).await?;
        self.take_unread(at, &mut writes).await?;
        let mut joined = Vec::new();
        for id in self.record.tasks.clone() {
            let result = TaskResult::Error(cause.into());
            self.report(id, Status::Cancelled, &result, at, &mut writes, &mut joined).await?;
        }
        // An agent at rest that has nothing unread has no run to end.
        let has_run = self.record.is_open() || self.agent.items > before;
        if has_run {
            self.record.set_worked(self.worked_ms());
            self.record.end(StopReason::Cancelled, at);
            writes.push(self.record.write(Status::Cancelled, None));
        }
        writes.push(self.agent_row(Status::Cancelled, None, at));
        writes.extend(self.ended_schedules(at).await?);
        if self.agent.id == self.agent.root {
            writes.push(Write::PruneEntity(EntityKind::GOAL, self.agent.id.to_string()));
        }
        writes.extend(wakeups.iter().map(|wakeup| Write::ConsumeWakeup(wakeup.id)));
        let mut commit = self.fenced(at);
        // A person may have put an agent below it meanwhile.
        commit.expect.push(Expect::ChildrenDeleted(self.agent.id));
        if !has_run {
            // Without the version of its kind, which is stored for a run alone.
            commit.writes.clear();
        }
        commit.writes.extend(writes);
        self.commit_end(commit, &joined).await?;
        if has_run {
            RunSpans::of(self).end(Status::Cancelled).await;
        }
        Ok(())
    }

    /// Adds the unread messages to a run that ends before it read anything, so that they are answered and do
    /// not fail again and again. Interventions among them are done with.
    async fn take_unread(&mut self, at: Time, writes: &mut Vec<Write>) -> Result<()> {
        for Taken { post, consume } in self.inbox.take_all() {
            writes.push(consume);
            if let PostBody::Intervention { id, .. } = post.body {
                writes.extend(self.applied(id).await?);
            }
            if let Some(message) = self.message_of(&post) {
                writes.push(self.append(ItemBody::Message(message), at));
            }
        }
        Ok(())
    }

    /// Ends a task in the commit in which its run ends, and posts the result to the agent that assigned it, unless that
    /// will join it.
    async fn report(
        &mut self,
        id: entourage_types::TaskId,
        status: Status,
        result: &TaskResult,
        at: Time,
        writes: &mut Vec<Write>,
        joined: &mut Vec<Task>,
    ) -> Result<()> {
        let scope = self.scope();
        let found = self.engine.store().record::<Task>(&scope, id).await?;
        let Some(mut task) = found else { return Ok(()) };
        task.run = Some(self.record.id);
        // No agent waits for the result of a cancelled task.
        if task.status == Status::Cancelled {
            writes.push(Write::record(&task)?);
            return Ok(());
        }
        self.batch.expect_task(&task);
        if task.status.is_terminal() {
            // The task had ended, and a post with more about it was read that will not be worked on: the task
            // is reopened and ends again.
            task = task.again(at);
            writes.push(Write::record(&task)?);
        }
        match task.on_end {
            OnEnd::Answer | OnEnd::Wake => {
                let body = PostBody::Done {
                    task: id,
                    call: task.call,
                    from: self.agent.id,
                    kind: self.agent.kind.clone(),
                    result: result.clone(),
                };
                writes.extend(Write::posted(Post::new(task.from, at, body), &self.agent.owner));
            }
            OnEnd::Join => joined.push(task.clone()),
            OnEnd::Quiet => {}
        }
        task.status = status;
        task.result = Some(result.clone());
        task.updated = at;
        writes.push(Write::record(&task)?);
        Ok(())
    }
}
