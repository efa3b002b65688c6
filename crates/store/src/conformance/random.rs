//! Any history of commits, claims and restarts reads as it does in the simplest store, the one in memory.

mod acts;
mod budgets;

use std::{collections::BTreeSet, time::Duration};

use entourage_types::{
    Agent, BudgetId, Cost, Entity, EntityKind, ModelUse, Owner, Parent, Post, QuestionStatus, Run, Scope,
    Status, Step, Tally, Task, Tombstone, Usage, UsageBy, WaitingOn, Wakeup,
};
use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};

use super::{
    Backing,
    sample::{at, done, key as key_of, open, post, question, request, run, say, step, task, wakeup},
};
use crate::{
    AgentQuery, Claim, Commit, EntityQuery, Error, Expect, InboxSize, ItemQuery, MemoryStore, Page, Result,
    RunQuery, Store, UsageQuery, Write,
};
use acts::{Act, RandomExpect, RandomWrite, act};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The statuses of runs, and one that only agents have.
const STATUSES: [Status; 5] =
    [Status::Running, Status::Waiting, Status::Succeeded, Status::Failed, Status::Cancelled];

/// A history so far: the simplest store with its results, and the time.
struct World {
    memory: MemoryStore,
    now: u64,
}

impl World {
    async fn agents(&self) -> Result<Vec<Agent>> {
        self.memory.agents(&Scope::All, AgentQuery { page: everything(), ..AgentQuery::default() }).await
    }

    async fn commit(
        &self,
        by: Option<usize>,
        stale: bool,
        expect: Option<&RandomExpect>,
        deeds: &[RandomWrite],
    ) -> Result<Commit> {
        let known = Known::read(&self.memory, self.agents().await?, by).await?;
        let mut agent = by.map(|nth| known.agent(nth));
        let mut commit = match &mut agent {
            Some(agent) => {
                if stale {
                    agent.epoch.number = agent.epoch.number.saturating_sub(1);
                }
                Commit::fenced(agent, at(self.now))
            }
            None => Commit::new(at(self.now)),
        };
        commit.expect.extend(expect.map(|hope| known.expect(hope)));
        let mut current = known.runs.last().map(|run| run.id);
        for deed in deeds {
            let now = self.now;
            let forgets = commit.writes.iter().any(|write| matches!(write, Write::PruneAgent(_)));
            if forgets && matches!(deed, RandomWrite::Prune { .. }) {
                continue;
            }
            let of_its_writer = match (deed, &agent) {
                (RandomWrite::Budget(change), _) => known.change(*change, agent.as_ref()),
                (RandomWrite::PruneEvents { of, before }, None) => {
                    Some(Write::PruneEvents(known.agent(*of).root, *before))
                }
                _ => None,
            };
            let outside = || of_its_writer.or_else(|| known.outside(deed, now));
            if let Some(write) = outside().or_else(|| known.inside(deed, agent.as_mut()?, &mut current, now))
            {
                commit.push(write);
            }
        }
        // As an engine does: the row last, if it or the number of items has changed.
        if let Some(agent) = agent.filter(|agent| !known.agents.contains(agent)) {
            commit.push(Write::Agent(agent));
        }
        Ok(commit)
    }
}

/// What exists when a commit is built.
struct Known {
    agents: Vec<Agent>,
    runs: Vec<Run>,
    posts: Vec<Post>,
    wakeups: Vec<Wakeup>,
}

impl Known {
    async fn read(store: &MemoryStore, agents: Vec<Agent>, by: Option<usize>) -> Result<Self> {
        let own = by.map(|nth| agents[nth % agents.len()].id);
        let query = RunQuery { agent: own, page: everything(), ..RunQuery::default() };
        let posts = match own {
            Some(agent) => store.inbox(agent).await?,
            None => Vec::new(),
        };
        let runs = store.runs(&Scope::All, query).await?;
        Ok(Self { agents, runs, posts, wakeups: store.due(at(1_000_000), None, 10_000).await? })
    }

    fn agent(&self, nth: usize) -> Agent {
        self.agents[nth % self.agents.len()].clone()
    }

    fn expect(&self, hope: &RandomExpect) -> Expect {
        match hope {
            RandomExpect::Agent(nth) => Expect::Agent(self.agent(*nth).id),
            RandomExpect::Absent(id) => Expect::Absent(EntityKind::REQUEST, id.to_string()),
            RandomExpect::Status(id, open) => {
                Expect::Status(EntityKind::REQUEST, id.to_string(), word(*open))
            }
            RandomExpect::Version(id, version) => {
                Expect::Version(EntityKind::REQUEST, id.to_string(), *version)
            }
            RandomExpect::Room(nth, limit) => Expect::TreeBelow(self.agent(*nth).root, *limit),
            RandomExpect::Children(nth, limit) => Expect::ChildrenBelow(self.agent(*nth).id, *limit),
            RandomExpect::Created(nth, limit, since) => {
                Expect::CreatedBelow(self.agent(*nth).root, *limit, at(*since))
            }
            RandomExpect::Inbox(nth, posts, bytes) => {
                Expect::InboxBelow(self.agent(*nth).id, InboxSize { posts: *posts, bytes: *bytes })
            }
            RandomExpect::NotDeleted(nth) => Expect::NotDeleted(self.agent(*nth).id),
            RandomExpect::ChildrenDeleted(nth) => Expect::ChildrenDeleted(self.agent(*nth).id),
            RandomExpect::Ended(nth) => Expect::Ended(self.agent(*nth).id),
            RandomExpect::Living(nth) => Expect::Living(self.agent(*nth).id),
            RandomExpect::LastCreated(nth, last) => {
                Expect::LastCreated { root: self.agent(*nth).root, last: self.agent(*last).id }
            }
            RandomExpect::AtRest(nth, since) => Expect::AtRest(self.agent(*nth).root, at(*since)),
            RandomExpect::Budget(need, lacks) => self.room(*need, *lacks),
        }
    }

    /// Returns the write if any writer may make it.
    fn outside(&self, deed: &RandomWrite, now: u64) -> Option<Write> {
        Some(match deed {
            RandomWrite::Root { stranger } => {
                Write::NewAgent(Agent::root(owner(*stranger), "helper", "helps", at(now)))
            }
            RandomWrite::Child { of, key } => {
                let key = key.map(|nth| key_of(&format!("digger {nth}")));
                Write::NewAgent(self.agent(*of).child("digger", "digs", key, at(now)))
            }
            RandomWrite::Post { to } => Write::Post(post(self.agent(*to).id, "hello")),
            RandomWrite::Wake { agent, due, again: false } => {
                Write::ScheduleWakeup(wakeup(&self.agent(*agent), at(*due)))
            }
            RandomWrite::Wake { agent, due, again: true } => {
                let mut wakeups = self.wakeups.iter().cycle().skip(*agent);
                Write::ScheduleWakeup(entourage_types::Wakeup { due: at(*due), ..wakeups.next()?.clone() })
            }
            RandomWrite::Task { from, to } => {
                let task = task(&self.agent(*from), self.agent(*to).id);
                Write::record(&Task { updated: at(now), ..task }).ok()?
            }
            RandomWrite::Question { of, open } => {
                let mut question = question(&self.agent(*of));
                if !open {
                    question.status = QuestionStatus::Declined;
                }
                Write::record(&question).ok()?
            }
            RandomWrite::Forget { id } => Write::PruneEntity(EntityKind::REQUEST, id.to_string()),
            RandomWrite::Record { id, stranger, open, text, name, below } => Write::entity(Entity {
                text: text.map(|text| format!("word{text}")),
                name: name.map(|name| format!("name{name}")),
                parent: below.map(|id| Parent::Record(EntityKind::REQUEST, id.to_string())),
                updated: at(now),
                ..request(&owner(*stranger), &id.to_string(), word(*open))
            }),
            // Also of one that is there: its events lose their texts nevertheless.
            RandomWrite::Tombstone { of } => {
                let Agent { id, owner, root, .. } = self.agent(*of);
                Write::record(&Tombstone { of: Parent::from(id), owner, root, agent: id, at: at(now) })
                    .ok()?
            }
            // At least one agent remains for the rest of the history.
            RandomWrite::Prune { of } if self.agents.len() > 1 => Write::PruneAgent(self.agent(*of).id),
            _ => return None,
        })
    }

    /// Returns the write if only the activation of this agent may make it.
    fn inside(
        &self,
        deed: &RandomWrite,
        agent: &mut Agent,
        current: &mut Option<entourage_types::RunId>,
        now: u64,
    ) -> Option<Write> {
        Some(match deed {
            RandomWrite::Row { status, waiting, session } => {
                agent.status = STATUSES[*status];
                agent.waiting_on = waiting.then_some(WaitingOn::Timer);
                agent.session += u32::from(*session);
                agent.updated = at(now);
                return None;
            }
            RandomWrite::Item { skip } => {
                agent.items += u64::from(*skip);
                Write::Item(say(agent, (*current)?, "hello"))
            }
            RandomWrite::Run { new, status, calls } => {
                let mut row = run(agent);
                let id = current.filter(|_| !new).unwrap_or(row.id);
                *current = Some(id);
                for call in 0..u64::from(*calls) {
                    let usage = Usage { input: now, output: call, ..Usage::default() };
                    let cost = (call == 2).then(|| Cost::from_nanos(now));
                    let model = format!("model {}", call % 2);
                    row.charge(&ModelUse { model, usage, cost }, at(now) + DAY * (call as u32 / 3));
                }
                Write::Run(Run { id, status: STATUSES[*status], started: at(now), ..row })
            }
            RandomWrite::Step { key, done: is_done } => {
                let state = if *is_done { done() } else { open() };
                let step = step((*current)?, &format!("tool/{key}"), state);
                Write::Step(Step { updated: at(now), ..step })
            }
            RandomWrite::Read { nth } => Write::ConsumePost(self.posts.get(*nth)?.id),
            RandomWrite::Woken { nth } => Write::ConsumeWakeup(self.wakeups.get(*nth)?.id),
            _ => return None,
        })
    }
}

fn owner(stranger: bool) -> Owner {
    if stranger { super::sample::stranger() } else { super::sample::owner() }
}

const fn word(open: bool) -> &'static str {
    if open { "open" } else { "done" }
}

fn everything() -> Page {
    Page { limit: 10_000, ..Page::default() }
}

async fn replay(place: impl Backing, acts: &[Act]) -> Result<()> {
    let mut store = place.open().await?;
    let mut world = World { memory: MemoryStore::default(), now: 0 };
    let first = Commit::new(at(0))
        .write(Write::NewAgent(Agent::root(owner(false), "helper", "helps", at(0))))
        .write(Write::NewAgent(Agent::root(owner(true), "helper", "helps", at(0))));
    world.memory.commit(first.clone()).await?;
    store.commit(first).await?;
    let mut spent_from = BTreeSet::new();
    for act in acts {
        world.now += 1;
        match act {
            Act::Claim(nth) => {
                let agents = world.agents().await?;
                let agent = agents[nth % agents.len()].id;
                // A store that was opened again may count claims anew, and one that nodes share has a clock and holders.
                let uncounted = |claim: Option<Claim>| {
                    claim.map(|claim| Claim { now: None, unsettled: 0, holder: None, ..claim })
                };
                let claim = uncounted(store.claim(agent, 0).await?);
                let expected = uncounted(world.memory.claim(agent, 0).await?);
                assert_eq!(format!("{claim:?}"), format!("{expected:?}"));
            }
            Act::Commit { by, stale, expect, writes } => {
                let commit = world.commit(*by, *stale, expect.as_ref(), writes).await?;
                budgets::note(&commit, &mut spent_from);
                let expected = world.memory.commit(commit.clone()).await;
                let committed = store.commit(commit.clone()).await;
                let same = match (&committed, &expected) {
                    (Ok(committed), Ok(expected)) => committed == expected,
                    (Err(refused), Err(expected)) => budgets::agree(refused, expected),
                    _ => false,
                };
                assert!(same, "{commit:#?}\ncame to {committed:?}, in memory to {expected:?}");
            }
            Act::Restart => {
                drop(store);
                store = place.open().await?;
            }
        }
    }
    let (kept, expected) = (all(&store, &spent_from).await?, all(&world.memory, &spent_from).await?);
    for (kept, expected) in kept.iter().zip(&expected) {
        assert_eq!(kept, expected);
    }
    assert_eq!(kept.len(), expected.len());
    Ok(())
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

/// Replays random histories on the store and in memory, and compares everything that both return and store.
///
/// # Panics
/// If they differ, with the shortest history found that shows it.
pub fn any_random_history_reads_as_from_the_memory_store<P: Backing>(place: impl Fn() -> P) {
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => panic!("no runtime: {error}"),
    };
    let config = Config { cases: 64, failure_persistence: None, ..Config::default() };
    let histories = prop::collection::vec(act(), 1..60);
    let differs = TestRunner::new(config).run(&histories, |acts| {
        let replayed: Result<(), Error> = runtime.block_on(replay(place(), &acts));
        replayed.map_err(|error| TestCaseError::fail(error.to_string()))
    });
    if let Err(difference) = differs {
        panic!("{difference}");
    }
}
