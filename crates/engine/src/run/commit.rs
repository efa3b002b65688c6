//! The commits of an activation. No other file of this folder calls the store's commit, which `cargo xtask tidy`
//! checks.

use entourage_store::{Commit, Committed, Error as StoreError, Write};
use entourage_types::{ItemBody, Step, StepKey, Time};

use super::{Result, Run};
use crate::{restart::has_worked, tool_lists::ToolLists, versions::is_kind};

impl Run<'_> {
    /// Commits the batch and these writes, and applies them to the state in memory once they are durable.
    pub(super) async fn commit(&mut self, writes: Vec<Write>) -> Result<()> {
        let mut commit = self.fenced(self.engine.now());
        commit.writes.extend(writes);
        self.apply(commit).await
    }

    /// Commits the batch, if it has writes.
    pub(super) async fn flush(&mut self) -> Result<()> {
        if self.batch.has_writes() { self.commit(Vec::new()).await } else { Ok(()) }
    }

    /// Returns a fenced commit of this activation that holds the whole batch; the batch is empty afterwards.
    pub(super) fn fenced(&mut self, at: Time) -> Commit {
        self.batch.take_commit(&self.agent, at)
    }

    /// Commits this alone and updates nothing in memory: for what is no progress of the run, such as a reservation,
    /// and for the last commit of an activation.
    pub(super) async fn commit_as_is(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.engine.store().commit(commit).await
    }

    /// Commits, and applies what the commit holds to the state in memory once it is durable.
    pub(super) async fn apply(&mut self, mut commit: Commit) -> Result<()> {
        // What an answer used is stored with the answer.
        let counts =
            self.record.has_changed() && !commit.writes.iter().any(|write| matches!(write, Write::Run(_)));
        if counts {
            commit.push(Write::Run(self.record.clone()));
        }
        let resets = self.reset_ends(&mut commit);
        let steps: Vec<Step> = commit
            .writes
            .iter()
            .filter_map(|write| match write {
                Write::Step(step) => Some(step.clone()),
                _ => None,
            })
            .collect();
        let brings_kind = commit.writes.iter().any(is_kind);
        let tool_lists: Vec<_> = commit.writes.iter().filter_map(ToolLists::in_write).collect();
        let committed = self.commit_as_is(commit).await?;
        self.control.committed(self.engine.clock().tick());
        if resets {
            self.engine.inner.restarts.forget(self.agent.id);
        }
        if counts {
            self.record.saved();
        }
        if brings_kind {
            self.engine.kept(&self.kind);
        }
        self.engine.inner.tool_lists.kept(tool_lists);
        self.inbox.committed(committed.inbox);
        self.steps.committed(steps);
        Ok(())
    }

    /// Has a commit that holds progress of the run reset what is on record of the ends of its processes. Returns whether it
    /// does.
    pub(super) fn reset_ends(&self, commit: &mut Commit) -> bool {
        let is_recorded = |key: &StepKey| self.steps.get(key).is_some_and(|step| step.attempt > 0);
        let recorded: Vec<_> =
            [StepKey::Restart, StepKey::ProcessEnded].into_iter().filter(is_recorded).collect();
        let resets = !recorded.is_empty() && commit.writes.iter().any(|write| self.is_work(write));
        if resets {
            let at = commit.at;
            commit.writes.extend(recorded.into_iter().map(|key| has_worked(&self.record, key, at)));
        }
        resets
    }

    /// Whether a write is progress of the run. What it has received is none: it was sent whatever the run does.
    fn is_work(&self, write: &Write) -> bool {
        match write {
            Write::Item(item) => {
                item.run == self.record.id
                    && !matches!(item.body, ItemBody::Message(_) | ItemBody::Context(_))
            }
            Write::Step(step) => step.key.is_work(),
            _ => false,
        }
    }
}
