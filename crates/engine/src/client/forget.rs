//! Forgetting an agent that has ended, while its tree lives on.

use std::collections::HashSet;

use entourage_store::{Commit, Error as StoreError, Expect, Page, RecordFilter, Write};
use entourage_types::{Agent, AgentId, Note, Parent, Schedule, ScheduleStatus, Scope, Tombstone};

use super::Client;
use crate::{Error, Result};

/// Agents that one commit forgets.
const AGENTS: usize = 16;

impl Client {
    /// Forgets an agent that has ended, and all below it: their transcripts, runs and records are removed, and of each
    /// a [`Tombstone`] is left, with its event. The events of the tree keep their numbers; those about the forgotten
    /// agents, and about the records removed with them, are read without items and texts, from the same commit on. Their
    /// notes are the parent's then. The task that the parent assigned stays, with its result. A repeated call forgets
    /// what is left.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::NotNow`] if one of them has not ended or has something left to do, or if the agent
    /// is at the top of its tree, which retention removes as a whole.
    pub async fn forget(&self, id: AgentId) -> Result<()> {
        loop {
            let Some(agent) = self.engine.store().agent(&self.scope, id).await? else {
                return self.record::<Tombstone>(Parent::from(id)).await.map(drop).map_err(
                    |error| match error {
                        Error::NotFound { .. } => Error::not_found("agent", id),
                        error => error,
                    },
                );
            };
            match self.forget_below(&agent).await {
                // Another caller forgets the same, or an agent came below one of them meanwhile.
                Err(Error::Store(StoreError::NoAgent { .. } | StoreError::HasChildren { .. })) => {}
                Err(Error::Store(StoreError::NotEnded { agent })) => {
                    let all = RecordFilter::<Schedule> { page: Page::all(), ..RecordFilter::of(agent) };
                    let schedules = self.records(all).await?;
                    let why = match schedules.iter().any(|schedule| schedule.status != ScheduleStatus::Ended)
                    {
                        true => {
                            "it still works, or has a schedule: stop it and end its schedules, or delete it, first"
                        }
                        false => "it still works, or has something left to do: stop it, or delete it, first",
                    };
                    return Err(Error::NotNow { agent, why });
                }
                done => return done,
            }
        }
    }

    async fn forget_below(&self, top: &Agent) -> Result<()> {
        let Some(above) = top.parent else {
            return Err(Error::NotNow { agent: top.id, why: "it is at the top of its tree" });
        };
        let (mut gone, mut known, mut at) = (vec![top.clone()], HashSet::from([top.id]), 0);
        while let Some(parent) = gone.get(at).map(|agent| agent.id) {
            let children = self.engine.children(parent).await?;
            // Only an edited database has a circle of parents.
            gone.extend(children.into_iter().filter(|child| known.insert(child.id)));
            at += 1;
        }
        gone.reverse();
        // Nothing is forgotten if one of them is still at work.
        let expect = gone.iter().map(|agent| Expect::Ended(agent.id)).collect();
        self.engine.commit(Commit { expect, ..Commit::new(self.engine.now()) }).await?;
        for part in gone.chunks(AGENTS) {
            let mut commit = Commit::new(self.engine.now());
            for agent in part {
                self.forget_one(agent, above, &mut commit).await?;
            }
            self.engine.commit(commit).await?;
            for agent in part {
                drop(self.engine.inner.transcripts.take(agent.id));
            }
        }
        Ok(())
    }

    /// Adds to a commit what forgets one agent. The tree searches its notes: they become those of the agent `above`.
    async fn forget_one(&self, agent: &Agent, above: AgentId, commit: &mut Commit) -> Result<()> {
        let own = RecordFilter::<Note> { page: Page::all(), ..RecordFilter::of(agent.id) };
        for note in self.engine.store().records(&Scope::from(&agent.owner), own).await? {
            commit.push(Write::record(&Note { agent: above, ..note })?);
        }
        commit.expect.push(Expect::Ended(agent.id));
        commit.push(Write::PruneAgent(agent.id));
        let (of, owner, root) = (Parent::from(agent.id), agent.owner.clone(), agent.root);
        commit.push(Write::record(&Tombstone { of, owner, root, agent: agent.id, at: commit.at })?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use entourage_llm::ScriptedModel;
    use entourage_store::MemoryStore;
    use entourage_types::{Item, ItemBody, Notice, NoticeCode, Owner, RunId, Status};

    use super::*;
    use crate::{Engine, transcript_cache::Held};

    /// Nothing of a forgotten agent is left in memory either, and of the others all is.
    #[tokio::test]
    async fn the_transcript_of_a_forgotten_agent_is_not_held_any_longer() {
        let engine =
            Engine::builder(Arc::new(MemoryStore::default()), Arc::new(ScriptedModel::new([]))).build();
        let root = Agent::root(Owner::local(), "assistant", "", engine.now());
        let below = || {
            let child = Agent::root(Owner::local(), "worker", "", engine.now());
            Agent { root: root.id, parent: Some(root.id), depth: 1, status: Status::Succeeded, ..child }
        };
        let (forgotten, kept) = (below(), below());
        let made = [&root, &forgotten, &kept].map(|agent| Write::NewAgent(agent.clone())).to_vec();
        engine.commit(Commit { writes: made, ..Commit::new(engine.now()) }).await.unwrap();
        for agent in [&forgotten, &kept] {
            let item = |seq| Item {
                agent: agent.id,
                seq,
                run: RunId::new(),
                session: 1,
                at: engine.now(),
                step: None,
                body: ItemBody::Notice(Notice::new(NoticeCode::OverBudget, "a secret")),
            };
            engine.inner.transcripts.put(agent, (0..100).map(item).collect(), None);
        }
        engine.client(Owner::local()).forget(forgotten.id).await.unwrap();
        let held = [&forgotten, &kept].map(|agent| engine.inner.transcripts.take(agent.id));
        assert_eq!((&held[0], held[1].end()), (&Held::default(), 100));
    }
}
