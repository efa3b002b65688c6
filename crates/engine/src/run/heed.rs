//! Interventions, met between two steps: whatever a person wants of the agent comes first.

use entourage_store::{Commit, Error as StoreError, Expect, RunQuery, Write};
use entourage_types::{
    Action, Author, EntityKind, Intervention, InterventionId, InterventionStatus, Post, PostBody, PostId,
    Record, Run as Row, Scope, Status, StepState, Task, TaskResult, WaitingOn, WakeupId,
};

use super::{Interrupt, Result, Run};

impl Run<'_> {
    /// Does what people want of the agent before it goes on.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`] when it is to pause, [`Interrupt::Stopping`] when it is to be
    /// deleted, which is not the activation's to do.
    pub(crate) async fn heed(&mut self) -> Result<()> {
        let wanted: Vec<(Post, InterventionId, Action)> = self
            .inbox
            .iter()
            .filter_map(|post| match &post.body {
                PostBody::Intervention { id, action, .. } => Some((post.clone(), *id, *action)),
                _ => None,
            })
            .collect();
        for (post, id, action) in wanted {
            match action {
                Action::Delete => return Err(Interrupt::Stopping),
                Action::Pause => self.paused = true,
                Action::Resume => self.paused = false,
                Action::Retry => self.begin_again().await?,
                // Its words are read as a message, by `receive`.
                Action::Modify => {
                    self.drop_work().await?;
                    continue;
                }
                // That is for when the agent rests.
                Action::CloseSession => continue,
                // Neither comes by post.
                Action::Comment | Action::Steer => {}
            }
            self.inbox.retain(|other| other.id != post.id);
            let read = self.read(&post);
            let applied = self.applied(id).await?;
            self.riding.push(read);
            self.riding.extend(applied);
        }
        if self.paused { Err(Interrupt::Suspended(WaitingOn::Resume)) } else { Ok(()) }
    }

    /// The record of an intervention that the agent has come to.
    pub(super) async fn applied(&self, id: InterventionId) -> Result<Option<Write>, StoreError> {
        let scope = Scope::from(&self.agent.owner);
        let store = &self.house.inner.store;
        let found = store.entity(&scope, EntityKind::Intervention, &id.to_string()).await?;
        let Some(entity) = found else { return Ok(None) };
        let record = Intervention::from_entity(&entity)?;
        let (status, updated) = (InterventionStatus::Applied, self.house.now());
        Ok(Some(Write::Intervention(Intervention { status, updated, ..record })))
    }

    /// The attempt that the run waits for is made now. Where the last run failed, this one takes
    /// its place and owes what it owed.
    async fn begin_again(&mut self) -> Result<()> {
        self.hurried = true;
        if !self.opened {
            let failed = self.last_run().await?.filter(|run| run.status == Status::Failed);
            self.record.tasks = failed.map(|run| run.tasks).unwrap_or_default();
        }
        Ok(())
    }

    async fn last_run(&self) -> Result<Option<Row>, StoreError> {
        let mut query = RunQuery { agent: Some(self.agent.id), ..RunQuery::default() };
        (query.page.limit, query.page.newest_first) = (1, true);
        let runs = self.house.inner.store.runs(&Scope::from(&self.agent.owner), query).await?;
        Ok(runs.into_iter().next())
    }

    /// Whether there is something to go on with, or to begin.
    pub(crate) fn has_work(&self) -> bool {
        let says_something = |post: &Post| match &post.body {
            PostBody::Message { .. } | PostBody::Done { .. } => true,
            PostBody::Intervention { action, .. } => *action == Action::Modify,
            PostBody::Answer { .. } => false,
        };
        self.opened || self.hurried || self.inbox.iter().any(says_something)
    }

    /// Goes back to where the agent stood: no run is opened for it.
    pub(crate) async fn rest(&mut self) -> Result<(), StoreError> {
        let at = self.house.now();
        let mut commit = self.fenced(at);
        if self.agent.waiting_on == Some(WaitingOn::Resume) {
            let status = self.last_run().await?.map_or(Status::Idle, |run| run.status);
            commit.push(self.agent_row(status, None, at));
        }
        // An answer that nobody waits for any more.
        for post in std::mem::take(&mut self.inbox) {
            commit.push(self.read(&post));
        }
        commit.writes.extend(self.served.drain(..).map(Write::Woken));
        self.house.inner.store.commit(commit).await.map(|_| ())
    }

    /// The calls under way are answered for, and whoever works for one of them ends, in one commit.
    async fn drop_work(&mut self) -> Result<()> {
        self.hurried = true;
        let mut writes = Vec::new();
        let mut workers = Vec::new();
        for task in self.tasks_of_open_calls().await? {
            workers.push(task.to);
            self.drop_task(task, &mut writes);
        }
        self.answer_for_open_calls("the user changed the work", &mut writes).await?;
        if !writes.is_empty() {
            self.commit(writes).await?;
        }
        workers.into_iter().for_each(|worker| self.house.inner.live.cut(worker));
        Ok(())
    }

    async fn tasks_of_open_calls(&self) -> Result<Vec<Task>> {
        let (scope, store) = (Scope::from(&self.agent.owner), &self.house.inner.store);
        let mut tasks = Vec::new();
        for step in self.steps.values().filter(|step| step.state == StepState::Open) {
            let Some(id) = step.value["task"].as_str() else { continue };
            if let Some(entity) = store.entity(&scope, EntityKind::Task, id).await? {
                tasks.push(Task::from_entity(&entity)?);
            }
        }
        tasks.retain(|task| !task.status.is_terminal());
        tasks.sort_by_key(|task| task.id);
        Ok(tasks)
    }

    fn drop_task(&mut self, task: Task, writes: &mut Vec<Write>) {
        self.expecting.push(Expect::Status(EntityKind::Task, task.id.to_string(), task.status.as_str()));
        let at = self.house.now();
        let deletion = Intervention {
            id: InterventionId::new(),
            owner: task.owner.clone(),
            root: task.root,
            agent: task.to,
            by: Author::Agent { id: self.agent.id, kind: self.agent.kind.clone() },
            action: Action::Delete,
            text: Some("its work was dropped".into()),
            status: InterventionStatus::Pending,
            created: at,
            updated: at,
        };
        let (id, text) = (deletion.id, deletion.text.clone());
        let body = PostBody::Intervention { id, action: Action::Delete, text };
        let post = Post { id: PostId::new(), agent: task.to, at, wakeup: WakeupId::new(), body };
        let mut commit = Commit::new(at).write(Write::Intervention(deletion));
        commit.post(post, &task.owner);
        writes.append(&mut commit.writes);
        let result = Some(TaskResult::Error("the work it was for was dropped".into()));
        writes.push(Write::Task(Task { status: Status::Cancelled, result, updated: at, ..task }));
    }
}
