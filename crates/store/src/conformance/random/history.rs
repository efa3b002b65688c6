//! A history as it is replayed, on a store and on the simplest one.

use std::collections::{BTreeMap, BTreeSet};

use entourage_types::{Agent, AgentId, BudgetId, EntityKind, Scope, ShownStatus, Tally, UsageBy};

use super::{
    super::{Backing, sample::at},
    World,
    acts::Act,
    budgets, everything, owner,
};
use crate::{
    AgentQuery, Claim, Commit, EntityQuery, ItemQuery, MemoryStore, Page, Result, RunQuery, Store,
    UsageQuery, Write,
};

/// A history so far, on the store of this place.
pub(super) struct History<P: Backing> {
    place: P,
    store: P::Store,
    world: World,
    /// The budgets that it is about.
    spent_from: BTreeSet<BudgetId>,
    /// By how much the epochs of agents have risen that were moved.
    raised: BTreeMap<AgentId, u64>,
}

impl<P: Backing> History<P> {
    /// Begins with two agents at the top.
    pub(super) async fn begin(place: P) -> Result<Self> {
        let (store, world) = (place.open().await?, World { memory: MemoryStore::default(), now: 0 });
        let first = Commit::new(at(0))
            .write(Write::NewAgent(Agent::root(owner(false), "helper", "helps", at(0))))
            .write(Write::NewAgent(Agent::root(owner(true), "helper", "helps", at(0))));
        world.memory.commit(first.clone()).await?;
        store.commit(first).await?;
        Ok(Self { place, store, world, spent_from: BTreeSet::new(), raised: BTreeMap::new() })
    }

    /// Replays acts, and compares what both stores return.
    pub(super) async fn go_on(mut self, acts: &[Act]) -> Result<Self> {
        for act in acts {
            self.world.now += 1;
            match act {
                Act::Claim(nth) => {
                    let agents = self.world.agents().await?;
                    let agent = agents[nth % agents.len()].id;
                    let claim = uncounted(self.store.claim(agent, 0).await?, 0);
                    let raised = self.raised.get(&agent).copied().unwrap_or_default();
                    let expected = uncounted(self.world.memory.claim(agent, 0).await?, raised);
                    assert_eq!(format!("{claim:?}"), format!("{expected:?}"));
                }
                Act::Commit { by, stale, expect, writes } => {
                    let commit = self.world.commit(*by, *stale, expect.as_ref(), writes).await?;
                    budgets::note(&commit, &mut self.spent_from);
                    let expected = self.world.memory.commit(commit.clone()).await;
                    let committed = self.store.commit(self.of_moved(commit.clone())).await;
                    let same = match (&committed, &expected) {
                        (Ok(committed), Ok(expected)) => committed == expected,
                        (Err(refused), Err(expected)) => budgets::agree(refused, expected),
                        _ => false,
                    };
                    assert!(same, "{commit:#?}\ncame to {committed:?}, in memory to {expected:?}");
                }
                Act::Restart => {
                    let Self { place, store, .. } = self;
                    drop(store);
                    self = Self { store: place.open().await?, place, ..self };
                }
            }
        }
        Ok(self)
    }

    /// Has all rows moved to another place.
    pub(super) async fn moved<Q: Backing>(
        self,
        to: Q,
        moves: impl AsyncFn(&P, &Q) -> Result<()>,
    ) -> Result<History<Q>> {
        let Self { place, store, world, spent_from, .. } = self;
        drop(store);
        moves(&place, &to).await?;
        let (store, mut raised) = (to.open().await?, BTreeMap::new());
        for agent in world.agents().await? {
            let moved = store.agent(&Scope::All, agent.id).await?;
            let epoch = moved.map_or(0, |moved| moved.epoch.number);
            assert!(epoch > agent.epoch.number, "no activation of before may commit: {epoch} of {agent:?}");
            raised.insert(agent.id, epoch - agent.epoch.number);
        }
        Ok(History { place: to, store, world, spent_from, raised })
    }

    /// A commit as an activation of the moved agent makes it.
    fn of_moved(&self, mut commit: Commit) -> Commit {
        if let Some(fence) = &mut commit.fence {
            fence.epoch.number += self.raised.get(&fence.agent).copied().unwrap_or_default();
        }
        commit
    }

    /// Compares everything that both store.
    pub(super) async fn compare(&self) -> Result<()> {
        let kept = all(&self.store, &self.spent_from).await?;
        let expected = all(&self.world.memory, &self.spent_from).await?;
        for (kept, expected) in kept.iter().zip(&expected) {
            assert_eq!(kept, expected);
        }
        assert_eq!(kept.len(), expected.len());
        Ok(())
    }
}

/// A claim as every store returns it: one that was opened again may count claims anew, and one that nodes share has a
/// clock and holders.
fn uncounted(claim: Option<Claim>, raised: u64) -> Option<Claim> {
    claim.map(|mut claim| {
        claim.agent.epoch.number += raised;
        Claim { now: None, unsettled: 0, taken_from: None, ..claim }
    })
}

/// Reads every row under every scope, of budgets those that the history is about.
async fn all(store: &impl Store, budgets: &BTreeSet<BudgetId>) -> Result<Vec<String>> {
    let mut read = vec![format!("{:?}", store.due(at(1_000_000), None, 10_000).await?)];
    for scope in [Scope::All, Scope::Owner(owner(false)), Scope::Owner(owner(true))] {
        let agents = store.agents(&scope, AgentQuery { page: everything(), ..AgentQuery::default() }).await?;
        let runs = store.runs(&scope, RunQuery { page: everything(), ..RunQuery::default() }).await?;
        let open = RunQuery { open: true, ..RunQuery::default() };
        read.push(format!("{:?}", store.count_runs(&scope, open).await?));
        for by in
            [&[][..], &[UsageBy::Day, UsageBy::Model], &[UsageBy::Owner, UsageBy::Kind], &[UsageBy::Run]]
        {
            let query = UsageQuery { by: by.to_vec(), ..UsageQuery::default() };
            let mut sums = store.usage(&scope, query).await?;
            // If rows were written again with less usage, a store may keep a sum of zero.
            sums.retain(|sum| sum.tally != Tally::default());
            read.push(format!("{sums:?}"));
        }
        for run in &runs {
            let items = ItemQuery { run: Some(run.id), ..ItemQuery::of(run.agent, 0, 10_000) };
            read.push(format!("{run:?}: {:?}", store.steps(&scope, run.id).await?));
            read.push(format!("{:?}", store.items(&scope, items).await?));
        }
        for query in lists() {
            let found = store.agents(&scope, query).await?.into_iter().map(|agent| agent.id);
            read.push(format!("{:?}", found.collect::<Vec<_>>()));
        }
        for status in ShownStatus::ALL {
            let query = RunQuery { status: Some(status), page: everything(), ..RunQuery::default() };
            let found = store.runs(&scope, query).await?.into_iter().map(|run| run.id);
            read.push(format!("{:?}", found.collect::<Vec<_>>()));
        }
        let ids: Vec<_> = agents.iter().map(|agent| agent.id).collect();
        read.push(format!("{:?}", store.subtrees(&scope, &ids).await?));
        for agent in agents {
            // A claimed epoch may be ahead of the row that is read; claims and commits show it.
            read.push(format!("{:?}", Agent { epoch: 0.into(), ..agent.clone() }));
            read.push(format!("{:?}", store.items(&scope, ItemQuery::of(agent.id, 0, 10_000)).await?));
            read.push(format!("{:?}", store.events(&scope, agent.id, 0, 10_000).await?));
            read.push(format!("{:?}", store.inbox(agent.id).await?));
        }
        for budget in budgets {
            read.push(format!("{budget}: {:?}", store.budget(&scope, budget).await?));
        }
        for kind in [EntityKind::TASK, EntityKind::QUESTION, EntityKind::REQUEST] {
            let query = EntityQuery { with_texts: true, page: everything(), ..EntityQuery::of(kind) };
            read.push(format!("{:?}", store.entities(&scope, query.clone()).await?));
            let text = Some("word1".to_owned());
            let mut found = store.entities(&scope, EntityQuery { text, ..query }).await?;
            found.sort_by(|a, b| a.id.cmp(&b.id));
            read.push(format!("{found:?}"));
        }
    }
    Ok(read)
}

/// Lists of agents by what a store may keep beside their rows.
fn lists() -> impl Iterator<Item = AgentQuery> {
    let all = || AgentQuery { page: everything(), ..AgentQuery::default() };
    let of_status = move |status| AgentQuery { status: Some(status), ..all() };
    let others = [
        AgentQuery { active: true, ..all() },
        AgentQuery { unread: true, ..all() },
        AgentQuery { page: Page { newest_first: true, ..everything() }, ..all() },
    ];
    ShownStatus::ALL.into_iter().map(of_status).chain(others)
}
