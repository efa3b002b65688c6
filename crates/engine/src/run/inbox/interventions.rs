//! Interventions, applied between two steps: what a person wants of the agent comes first.

use entourage_store::{Error as StoreError, Write};
use entourage_types::{
    Action, Intervention, InterventionId, InterventionStatus, ItemBody, Post, PostBody, PostId, Status,
    StopReason, Task, WaitingOn, WakeupId,
};

use crate::run::{
    Interrupt, Result, Run,
    delegation::cancel::{CancelScope, StopTarget},
    inbox::{Taken, is_result},
};

impl Run<'_> {
    /// Applies the interventions in the inbox before the agent continues.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`] if the agent is paused, [`Interrupt::Stopped`] if its work was stopped, and
    /// [`Interrupt::Stopping`] if it is to be deleted, which the activation cannot do itself.
    pub(crate) async fn apply_interventions(&mut self) -> Result<()> {
        let given = match self.inbox.posts().iter().any(stops_all) {
            true => Some(Box::pin(self.given_before_stop()).await?),
            false => None,
        };
        let wanted: Vec<(Post, InterventionId, Action, Option<PostId>)> = self
            .inbox
            .posts()
            .iter()
            .filter_map(|post| match &post.body {
                PostBody::Intervention { id, action, of, .. } => Some((post.clone(), *id, *action, *of)),
                _ => None,
            })
            .collect();
        // A paused agent begins nothing: a retry waits in the inbox until the agent is resumed.
        let stays_paused = self.inbox.will_pause(self.control.is_paused());
        let is_stopped = wanted.iter().any(|(post, _, action, of)| {
            *action == Action::Stop && matches!(self.concerns(post.id, *of), StopTarget::Now)
        });
        let mut stops = Vec::new();
        for (post, id, action, of) in wanted {
            match action {
                Action::Delete => return Err(Interrupt::Stopping),
                Action::Pause => self.control.set_paused(true),
                Action::Resume => {
                    self.mark_applied(&post, id).await?;
                    self.end_pause().await?;
                    continue;
                }
                Action::Retry if is_stopped => {}
                Action::Retry if stays_paused => continue,
                Action::Retry => {
                    self.retry_failed_run().await?;
                    self.hurry_code();
                }
                // `receive` reads its text as a message.
                Action::Modify => {
                    self.control.hurry();
                    let dropped = self.tasks_of_calls(false).await?;
                    Box::pin(self.cancel_work(&CancelScope::BY_NEW_WORK, dropped)).await?;
                    continue;
                }
                Action::Stop => match self.concerns(post.id, of) {
                    StopTarget::Now => {
                        stops.push((post, id));
                        continue;
                    }
                    StopTarget::Later => continue,
                    StopTarget::Never => {}
                },
                // A session is closed when the agent is at rest.
                Action::CloseSession => continue,
                // Neither comes by post.
                Action::Comment | Action::Steer => {}
            }
            self.mark_applied(&post, id).await?;
        }
        if let Some((last, _)) = stops.last() {
            if !self.record.is_open() {
                self.inbox.leave_after(last.id);
            }
            let stops_all = given.is_some();
            let dropped = match given {
                Some(given) => given,
                None => self.tasks_of_calls(true).await?,
            };
            // A stop is consumed with the end of the run and not before: until then a crash must find it.
            Box::pin(self.cancel_work(&CancelScope::BY_STOP, dropped)).await?;
            if stops_all && self.record.is_open() {
                self.read_results();
            }
            for (post, id) in stops {
                self.mark_applied(&post, id).await?;
            }
            return Err(Interrupt::stopped(StopReason::Cancelled, "stopped before it was done"));
        }
        if let Some(given) = given.filter(|given| !given.is_empty()) {
            // The agent is at rest and stays so: its tasks end in the commit that consumes the stop.
            Box::pin(self.cancel_work(&CancelScope::BY_STOP, given)).await?;
        }
        if self.control.is_paused() { Err(Interrupt::Suspended(WaitingOn::Resume)) } else { Ok(()) }
    }

    /// Returns the open tasks that the agent gave before a person stopped it, and then reads the inbox again: it holds
    /// the result of every other task. If a task ends later, the store refuses the commit that cancels it.
    async fn given_before_stop(&mut self) -> Result<Vec<Task>> {
        let given = self.given_tasks().await?;
        self.inbox.doubt();
        self.refresh().await?;
        Ok(given)
    }

    /// Adds the unread results to the run that a stop ends: they are of earlier work and begin nothing.
    fn read_results(&mut self) {
        let at = self.engine.now();
        for Taken { post, consume } in self.inbox.take(is_result) {
            self.batch.push(consume);
            if let Some(message) = self.message_of(&post) {
                let item = self.append(ItemBody::Message(message), at);
                self.batch.push(item);
            }
        }
    }

    /// Adds to the batch that an intervention was read and applied.
    async fn mark_applied(&mut self, post: &Post, id: InterventionId) -> Result<()> {
        let taken = self.inbox.take(|other| other.id == post.id);
        let applied = self.applied(id).await?;
        self.batch.extend(taken.into_iter().map(|taken| taken.consume).chain(applied));
        Ok(())
    }

    /// Ends the agent's pause, in the same commit in which the resume is consumed: a crash between the two
    /// would leave the agent paused although the resume counts as applied.
    async fn end_pause(&mut self) -> Result<()> {
        self.control.set_paused(false);
        if self.agent.waiting_on != Some(WaitingOn::Resume) {
            return Ok(());
        }
        let at = self.engine.now();
        if self.has_work() {
            let mut writes = vec![self.agent_row(Status::Running, None, at)];
            if self.record.is_open() {
                writes.push(self.record.write(Status::Running, None));
            }
            // While it was paused it did nothing about what came due, perhaps at a node whose clock is ahead of
            // this one's.
            let dues = self.steps.dues().into_iter();
            writes.extend(dues.map(|(due, id)| self.wake_by(id.unwrap_or_else(WakeupId::new), due)));
            return self.commit(writes).await;
        }
        let last = self.engine.last_run(&self.agent).await?;
        let (status, why) = last.map_or((Status::Idle, None), |run| (run.status, run.stop_reason));
        let rested = self.rested_row(status, why, at);
        self.commit(vec![rested]).await
    }

    /// Returns the write that records an intervention as applied, if it exists.
    pub(in crate::run) async fn applied(&self, id: InterventionId) -> Result<Option<Write>, StoreError> {
        let scope = self.scope();
        let found = self.engine.store().record::<Intervention>(&scope, id).await?;
        let Some(record) = found else { return Ok(None) };
        let (status, updated) = (InterventionStatus::Applied, self.engine.now());
        Ok(Some(Write::record(&Intervention { status, updated, ..record })?))
    }

    /// Makes the attempt that the run waits for now. If the last run failed, this one takes its place and its
    /// tasks.
    async fn retry_failed_run(&mut self) -> Result<()> {
        self.control.hurry();
        if !self.record.is_open() {
            let failed = self.engine.last_run(&self.agent).await?.filter(|run| run.status == Status::Failed);
            let tasks = failed.map(|run| run.tasks).unwrap_or_default();
            for task in &tasks {
                let again = self.under_way_again(*task).await?;
                self.batch.extend(again);
            }
            self.record.take_over(tasks);
        }
        Ok(())
    }

    /// Whether there is a run to continue, or something to begin.
    pub(crate) fn has_work(&self) -> bool {
        self.has_work_with(self.inbox.posts())
    }

    /// Whether there was when this post came. A result is of earlier work, whenever it comes.
    pub(in crate::run) fn had_work_before(&self, post: PostId) -> bool {
        let posts = self.inbox.posts();
        let came = posts.iter().position(|other| other.id == post).unwrap_or(posts.len());
        self.has_work_with(&posts[..came]) || posts[came..].iter().any(is_result)
    }

    fn has_work_with(&self, posts: &[Post]) -> bool {
        let says_something = |post: &Post| match &post.body {
            PostBody::Message { .. } | PostBody::Done { .. } => true,
            PostBody::Intervention { action, .. } => matches!(action, Action::Modify | Action::Retry),
            PostBody::Answer { .. } => false,
        };
        self.record.is_open() || self.control.is_hurried() || posts.iter().any(says_something)
    }

    /// Consumes what the activation read and served, without opening a run.
    pub(crate) async fn rest(&mut self) -> Result<(), StoreError> {
        let mut commit = self.fenced(self.engine.now());
        // Answers that no call waits for any more.
        commit.writes.extend(self.inbox.take_all().into_iter().map(|taken| taken.consume));
        commit.writes.extend(self.inbox.consume_served());
        self.commit_as_is(commit).await.map(drop)
    }
}

/// Whether a post stops all that the agent does and has delegated, and not the answer to one message alone.
fn stops_all(post: &Post) -> bool {
    matches!(post.body, PostBody::Intervention { action: Action::Stop, of: None, .. })
}
