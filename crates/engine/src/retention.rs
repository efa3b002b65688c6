//! Retention: rows older than their retention period are pruned, in small commits, so that no run waits for
//! it. Without a configured period nothing is pruned.

use std::time::Duration;

use entourage_store::{AgentQuery, Commit, EntityQuery, Error as StoreError, Expect, Page, Store, Write};
use entourage_types::{Agent, AgentId, DeliveryStatus, Entity, EntityKind, Event, Scope, Status, Time};
use serde::Serialize;

use crate::{Engine, Error, Result, pages::pages};

/// Events that one commit prunes.
const EVENTS: u64 = 500;
/// Agents that one commit prunes; a tree with no more is pruned by one commit.
const AGENTS: usize = 16;

/// Retention periods. What has none is kept for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// Events. The last one of each tree is kept, so that no number is used twice.
    pub events: Option<Duration>,
    /// Trees at rest, counted from the last change of any of their agents: transcripts, runs, tasks,
    /// questions, notes, events.
    pub trees: Option<Duration>,
    /// Answers to requests that carried an idempotency key. The same key is a new request after that.
    pub requests: Option<Duration>,
    /// Deliveries that arrived or were given up, counted from then. Pending ones stay.
    pub deliveries: Option<Duration>,
}

/// What was pruned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Pruned {
    /// How many events of trees that still exist.
    pub events: u64,
    /// How many trees.
    pub trees: u64,
    /// How many answers to requests.
    pub requests: u64,
    /// How many deliveries.
    pub deliveries: u64,
}

impl Engine {
    /// Prunes what is older than its retention period: from the oldest tree on, in small commits. If the
    /// engine or the process ends in the middle, every agent that is left still has its parent and its root,
    /// and the next call begins from the oldest tree again.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn prune(&self, retention: &Retention) -> Result<Pruned> {
        let mut pruned = Pruned::default();
        let before = |kept: Option<Duration>| kept.map(|kept| self.now() - kept);
        if let Some(before) = before(retention.requests) {
            let old = |request: &Entity| request.created < before;
            pruned.requests = self.prune_records(EntityKind::REQUEST, old).await?;
        }
        if let Some(before) = before(retention.deliveries) {
            let pending = DeliveryStatus::Pending.as_str();
            let old = |delivery: &Entity| delivery.updated < before && delivery.status != pending;
            pruned.deliveries = self.prune_records(EntityKind::DELIVERY, old).await?;
        }
        let (events, trees) = (before(retention.events), before(retention.trees));
        let Some(youngest) = events.max(trees) else { return Ok(pruned) };
        let roots = AgentQuery { roots: true, ..AgentQuery::default() };
        let mut pages = pages(&**self.store(), &Scope::All, roots);
        let mut next = pages.next().await?;
        while let Some(page) = next {
            // Read ahead: the rows of this page may be pruned, and the next page begins after them.
            next = pages.next().await?;
            // Other threads that people opened in a tree are pruned with the tree.
            for root in page.into_iter().filter(|agent| agent.root == agent.id) {
                // Roots are in the order of their creation.
                if root.created >= youngest || self.stopping().is_cancelled() {
                    return Ok(pruned);
                }
                if let Some(before) = trees
                    && self.prune_tree(&root, before).await?
                {
                    pruned.trees += 1;
                } else if let Some(before) = events {
                    pruned.events += self.prune_events(root.id, before, &[]).await?;
                }
            }
        }
        Ok(pruned)
    }

    /// Prunes the old records of a kind that belongs to no tree. Returns how many.
    async fn prune_records(&self, kind: EntityKind, is_old: impl Fn(&Entity) -> bool + Send) -> Result<u64> {
        let mut pruned = 0;
        // Read all of them: their order does not say when they became old.
        let mut pages = pages(&**self.store(), &Scope::All, EntityQuery::of(kind));
        let mut next = pages.next().await?;
        while let Some(page) = next
            && !self.stopping().is_cancelled()
        {
            // Read ahead: the rows of this page may be pruned, and the next page begins after them.
            next = pages.next().await?;
            let mut commit = Commit::new(self.now());
            for old in page.into_iter().filter(&is_old) {
                commit.push(Write::PruneEntity(kind, old.id));
            }
            if !commit.writes.is_empty() {
                let forgets = commit.writes.len() as u64;
                self.commit(commit).await?;
                pruned += forgets;
            }
        }
        Ok(pruned)
    }

    /// Prunes a tree that has been at rest since before `before`. Returns false if it is kept.
    async fn prune_tree(&self, root: &Agent, before: Time) -> Result<bool> {
        let is_permanent = || self.kinds().get(&root.kind).is_some_and(|kind| kind.permanent);
        if (root.status != Status::Cancelled && is_permanent()) || root.updated >= before {
            return Ok(false);
        }
        let page = Page::all();
        let query = AgentQuery { root: Some(root.id), page, ..AgentQuery::default() };
        let mut agents = self.store().agents(&Scope::All, query).await?;
        // The root is pruned last: the tree's events and all its records go with it.
        agents.sort_by_key(|agent| (agent.id == root.id, std::cmp::Reverse(agent.depth)));
        let at_rest = [Expect::AtRest(root.id, before)];
        let forget = async |writes| match self
            .commit(Commit { expect: at_rest.to_vec(), writes, ..Commit::new(self.now()) })
            .await
        {
            Ok(_) => Ok(true),
            // The tree is in use again, or another process pruned it.
            Err(StoreError::NotAtRest { .. } | StoreError::NoAgent { .. }) => Ok(false),
            // The other trees are pruned nevertheless.
            Err(error @ (StoreError::HasChildren { .. } | StoreError::RuleViolation(_))) => {
                tracing::error!(root = %root.id, %error, "a tree cannot be pruned");
                Ok(false)
            }
            Err(error) => Err(error),
        };
        if !forget(Vec::new()).await? {
            return Ok(false);
        }
        let mut parts =
            agents.chunks(AGENTS).map(|some| some.iter().map(|agent| Write::PruneAgent(agent.id)));
        let with_root = parts.next_back();
        for below in parts {
            if !forget(below.collect()).await? {
                return Ok(false);
            }
        }
        // Events go with their root in one commit, unless there are too many for that.
        if at_or_after(&**self.store(), root.id, EVENTS).await?.is_some() {
            match self.prune_events(root.id, self.now(), &at_rest).await {
                Err(Error::Store(StoreError::NotAtRest { .. })) => return Ok(false),
                pruned => pruned?,
            };
        }
        Ok(forget(with_root.into_iter().flatten().collect()).await?)
    }

    /// Prunes the events of a tree from before `before`, as long as the expectations hold. Returns how many.
    async fn prune_events(&self, root: AgentId, before: Time, expect: &[Expect]) -> Result<u64> {
        let store = self.store();
        let Some(first) = at_or_after(&**store, root, 0).await?.filter(|first| first.at < before) else {
            return Ok(0);
        };
        let keep = first_kept(&**store, root, first.seq, before).await?;
        let mut below = first.seq;
        while below < keep && !self.stopping().is_cancelled() {
            below = keep.min(below + EVENTS);
            // Each is a commit of its own, under its own id.
            let forgets = Commit { expect: expect.to_vec(), ..Commit::new(self.now()) };
            self.commit(forgets.write(Write::PruneEvents(root, below))).await?;
        }
        Ok(below - first.seq)
    }
}

/// The event of a tree with this number, or the first one after it.
async fn at_or_after(store: &dyn Store, root: AgentId, number: u64) -> Result<Option<Event>> {
    Ok(store.events(&Scope::All, root, number.saturating_sub(1), 1).await?.pop())
}

/// The number of the first event to keep, given that event `old` is to be pruned: the first young one, or
/// else the last of all. Events are in the order of their times, so a few steps find it.
async fn first_kept(store: &dyn Store, root: AgentId, mut old: u64, before: Time) -> Result<u64> {
    let is_old = async |number: u64| -> Result<Option<bool>> {
        Ok(at_or_after(store, root, number).await?.map(|event| event.at < before))
    };
    let mut step = 1;
    while is_old(old + step).await? == Some(true) {
        old += step;
        step *= 2;
    }
    // Search between an old event and one that is young or does not exist.
    let mut other = old + step;
    while other - old > 1 {
        let middle = old + (other - old) / 2;
        match is_old(middle).await? {
            Some(true) => old = middle,
            _ => other = middle,
        }
    }
    Ok(if is_old(other).await?.is_some() { other } else { old })
}
