//! Cancels work: gives the open calls outputs, and ends the agents that work for them.

use std::collections::HashSet;

use entourage_store::{Error as StoreError, Page, RecordFilter, Write};
use entourage_types::{
    Action, Author, CallId, Intervention, InterventionId, InterventionStatus, ItemBody, OnEnd, Post,
    PostBody, PostId, Status, StepKey, Task,
};

use crate::run::{Result, Run};

/// How work is dropped.
pub(in crate::run) struct CancelScope {
    /// The cause that the outputs of the open calls name.
    cause: &'static str,
    /// What is done to the agents that work on the dropped tasks.
    action: Action,
}

impl CancelScope {
    /// A new instruction takes its place: deletes agents spawned for the work; stops pre-existing ones and
    /// keeps their memory.
    pub(in crate::run) const BY_NEW_WORK: Self =
        Self { cause: "the user changed the work", action: Action::Delete };
    /// A person stops it: stops the agents that work for it; they accept new messages.
    pub(in crate::run) const BY_STOP: Self = Self { cause: "the work was stopped", action: Action::Stop };
}

/// Whether a stop concerns the agent's current work.
pub(in crate::run) enum StopTarget {
    Now,
    /// The agent has not read the message in question yet.
    Later,
    /// The message has been answered, or there is nothing to stop.
    Never,
}

impl Run<'_> {
    /// Whether a stop, which came with this post, applies to this run: it names one message, or covers all work that
    /// began before it.
    pub(in crate::run) fn concerns(&self, stop: PostId, message: Option<PostId>) -> StopTarget {
        let Some(message) = message else {
            return if self.had_work_before(stop) { StopTarget::Now } else { StopTarget::Never };
        };
        if self.record.is_open() && self.control.answers() == Some(message) {
            StopTarget::Now
        } else if self.inbox.posts().iter().any(|post| post.id == message) {
            StopTarget::Later
        } else {
            StopTarget::Never
        }
    }

    /// Whether a person has intervened in what the run does now, so that it begins nothing more.
    pub(in crate::run) fn is_intervened(&self) -> bool {
        let is_meant = |post: &Post| match post.body {
            PostBody::Intervention { action: Action::Modify | Action::Delete, .. } => true,
            PostBody::Intervention { action: Action::Stop, of, .. } => {
                matches!(self.concerns(post.id, of), StopTarget::Now)
            }
            _ => false,
        };
        self.inbox.will_pause(self.control.is_paused()) || self.inbox.posts().iter().any(is_meant)
    }

    /// Whether an unread intervention is of this kind.
    pub(in crate::run) fn has_intervention(&self, wanted: Action) -> bool {
        let is_wanted =
            |post: &Post| matches!(post.body, PostBody::Intervention { action, .. } if action == wanted);
        self.inbox.posts().iter().any(is_wanted)
    }

    /// Gives the open calls outputs and cancels these open tasks, in one commit.
    pub(in crate::run) async fn cancel_work(&mut self, how: &CancelScope, tasks: Vec<Task>) -> Result<()> {
        let mut writes = Vec::new();
        let tasks: Vec<(Task, Action)> =
            tasks.into_iter().map(|task| self.dropped(task, how.action)).collect();
        for (task, action) in &tasks {
            self.cancel_task(task.clone(), *action, &mut writes)?;
        }
        self.close_open_calls(how.cause, &mut writes).await?;
        if !writes.is_empty() {
            self.commit(writes).await?;
        }
        for (task, action) in tasks {
            self.interrupt_cancelled(&task, action);
        }
        Ok(())
    }

    /// Returns what is done to the agent of a task that is dropped: one that existed before the call keeps its memory.
    pub(in crate::run) fn dropped(&self, task: Task, action: Action) -> (Task, Action) {
        let action = if self.targets_existing_agent(task.call) { Action::Stop } else { action };
        (task, action)
    }

    /// Cancels the activation that works on a dropped task, so that it does not continue until it reads the
    /// intervention.
    pub(in crate::run) fn interrupt_cancelled(&self, task: &Task, action: Action) {
        self.engine.interrupt(task.to, task.post.filter(|_| action == Action::Stop));
    }

    /// Returns the open tasks that this run's open calls wait for and those that it has yet to join; if `all`, those
    /// that any of its calls assigned.
    pub(in crate::run) async fn tasks_of_calls(&self, all: bool) -> Result<Vec<Task>, StoreError> {
        if !all && !self.steps.any_open() && !self.has_program_calls() {
            return Ok(Vec::new());
        }
        let is_wanted = |task: &Task| all || task.on_end == OnEnd::Join || !self.steps.is_answered(task.call);
        self.open_tasks(is_wanted).await
    }

    /// Returns the open tasks of agents that a program started and has yet to join, and of those that code started and
    /// has yet to wait for.
    pub(in crate::run) async fn unjoined_tasks(&self) -> Result<Vec<Task>, StoreError> {
        let of_code: HashSet<CallId> = self.open_sub_calls().map(|(_, call)| call.id).collect();
        if of_code.is_empty() && !self.has_program_calls() {
            return Ok(Vec::new());
        }
        self.open_tasks(|task| task.on_end == OnEnd::Join || of_code.contains(&task.call)).await
    }

    /// Whether the program of this run has made calls of its own.
    fn has_program_calls(&self) -> bool {
        self.transcript.latest_of(self.record.id).any(|item| matches!(item.step, Some(StepKey::Calls(_))))
    }

    /// Returns the open tasks that calls of this run assigned, in the order of their ids.
    pub(in crate::run) async fn open_tasks(
        &self,
        is_wanted: impl Fn(&Task) -> bool,
    ) -> Result<Vec<Task>, StoreError> {
        let of_run = self.transcript.latest_of(self.record.id);
        let calls: HashSet<CallId> = of_run
            .filter_map(|item| match &item.body {
                ItemBody::Turn(turn) => Some(&turn.calls),
                ItemBody::SubCalls(made) => Some(&made.calls),
                _ => None,
            })
            .flatten()
            .map(|call| call.id)
            .collect();
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        let mut tasks = self.given_tasks().await?;
        tasks.retain(|task| calls.contains(&task.call) && is_wanted(task));
        Ok(tasks)
    }

    /// Returns the open tasks that this agent gave, in whatever run, in the order of their ids.
    pub(in crate::run) async fn given_tasks(&self) -> Result<Vec<Task>, StoreError> {
        let (parent, status) = (Some(self.agent.id.into()), Some(Status::Queued));
        let queued = RecordFilter::<Task> { parent, status, page: Page::all(), ..RecordFilter::default() };
        let mut tasks = self.engine.store().records(&self.scope(), queued).await?;
        tasks.sort_by_key(|task| task.id);
        Ok(tasks)
    }

    /// Adds the writes that cancel a task and post an intervention to the agent that works on it.
    pub(in crate::run) fn cancel_task(
        &mut self,
        task: Task,
        action: Action,
        writes: &mut Vec<Write>,
    ) -> Result<(), StoreError> {
        self.batch.expect_task(&task);
        let at = self.engine.now();
        // Only the task's post limits a stop to this task; without it the agent is deleted.
        let action = if task.post.is_some() { action } else { Action::Delete };
        let wanted = Intervention {
            id: InterventionId::new(),
            owner: task.owner.clone(),
            root: task.root,
            agent: task.to,
            by: Author::Agent { id: self.agent.id, kind: self.agent.kind.clone() },
            action,
            text: Some("its task was cancelled".into()),
            of: task.post.filter(|_| action == Action::Stop),
            status: InterventionStatus::Pending,
            created: at,
            updated: at,
        };
        let (id, text, of) = (wanted.id, wanted.text.clone(), wanted.of);
        let body = PostBody::Intervention { id, action, text, of };
        writes.push(Write::record(&wanted)?);
        writes.extend(Write::posted(Post::new(task.to, at, body), &task.owner));
        // No agent reads a result, so the task has none: a client that follows it would wait for it to be
        // read.
        writes.push(Write::record(&Task { status: Status::Cancelled, result: None, updated: at, ..task })?);
        Ok(())
    }
}
