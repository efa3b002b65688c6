//! Any history of commits, claims and restarts reads as it does in the simplest store, the one in memory.

mod acts;
mod budgets;
mod history;

use std::time::Duration;

use entourage_types::{
    Agent, Cost, Entity, EntityKind, ModelUse, Owner, Parent, Post, QuestionStatus, Run, Scope, Status, Step,
    Task, Tombstone, Usage, WaitingOn, Wakeup,
};
use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};

use super::{
    Backing,
    sample::{at, done, key as key_of, open, post, question, request, run, say, step, task, wakeup},
};
use crate::{AgentQuery, Commit, Expect, InboxSize, MemoryStore, Page, Result, RunQuery, Store, Write};
use acts::{RandomExpect, RandomWrite, act};
use history::History;

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
        let replayed: Result<()> =
            runtime.block_on(async { History::begin(place()).await?.go_on(&acts).await?.compare().await });
        replayed.map_err(|error| TestCaseError::fail(error.to_string()))
    });
    if let Err(difference) = differs {
        panic!("{difference}");
    }
}

/// Replays random histories on a store in one place, has all rows moved to another place, goes on there, and compares
/// everything with the store in memory: at the move and at the end.
///
/// # Panics
/// If they differ, with the shortest history found that shows it.
pub fn any_random_history_goes_on_after_a_move<P: Backing, Q: Backing>(
    from: impl Fn() -> P,
    to: impl Fn() -> Q,
    moves: impl AsyncFn(&P, &Q) -> Result<()>,
) {
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => panic!("no runtime: {error}"),
    };
    let config = Config { cases: 32, failure_persistence: None, ..Config::default() };
    let histories = (prop::collection::vec(act(), 1..60), prop::collection::vec(act(), 1..20));
    let differs = TestRunner::new(config).run(&histories, |(before, after)| {
        let replayed: Result<()> = runtime.block_on(async {
            let history = History::begin(from()).await?.go_on(&before).await?;
            let history = history.moved(to(), &moves).await?;
            history.compare().await?;
            history.go_on(&after).await?.compare().await
        });
        replayed.map_err(|error| TestCaseError::fail(error.to_string()))
    });
    if let Err(difference) = differs {
        panic!("{difference}");
    }
}
