//! Agents that work as fast as a large team: most events say little, some change what a window shows.

use std::time::Duration;

use anyhow::{Context as _, Result};
use entourage_store::{Commit, Write};
use entourage_types::{Agent, AgentId, Owner, Status, Time};
use tokio::time::interval;

use crate::{cpu, engine::Bed, p8p};

/// Events a second, and how many of each second change what an agent does.
const EVENTS: u32 = 1_000;
const CHANGES: u32 = 10;
/// Commits a second of the others.
const COMMITS: u32 = (EVENTS - CHANGES) / p8p::AT_ONCE;

/// The first children of the tree.
pub(super) struct Busy {
    root: AgentId,
    owner: Owner,
    claimed: Vec<Agent>,
    commits: usize,
}

impl Busy {
    /// Claims them.
    pub(super) async fn new(bed: &Bed) -> Result<Self> {
        let mut claimed = Vec::new();
        for number in 2..2 + CHANGES {
            let claim = bed.engine.store().claim(p8p::id(number)?, u64::MAX).await?;
            claimed.push(claim.context("an agent of the tree is missing")?.agent);
        }
        Ok(Self { root: p8p::id(1)?, owner: Owner::local(), claimed, commits: 0 })
    }

    /// The root of their tree.
    pub(super) fn root(&self) -> AgentId {
        self.root
    }

    /// Commits so many seconds of events; returns the CPU time of that.
    pub(super) async fn work(&mut self, bed: &Bed, seconds: u32) -> Result<Duration> {
        let before = cpu::used();
        let mut pace = interval(Duration::from_secs(1) / COMMITS);
        for _ in 0..seconds * COMMITS {
            pace.tick().await;
            self.commits += 1;
            bed.engine.store().commit(p8p::comments((self.root, &self.owner), self.root)?).await?;
            if self.commits.is_multiple_of((COMMITS / CHANGES) as usize) {
                self.change(bed).await?;
            }
        }
        Ok(cpu::used().saturating_sub(before))
    }

    /// Has the next one begin or end to work.
    async fn change(&mut self, bed: &Bed) -> Result<()> {
        let next = self.commits / (COMMITS / CHANGES) as usize % self.claimed.len();
        let agent = &mut self.claimed[next];
        agent.status = if agent.status == Status::Running { Status::Succeeded } else { Status::Running };
        agent.updated = Time::now();
        let commit = Commit::fenced(agent, agent.updated).write(Write::Agent(agent.clone()));
        bed.engine.store().commit(commit).await?;
        Ok(())
    }
}
