//! Any history of commits, claims and restarts reads as the plainest model of a store says.

use entourage_types::{
    Agent, Entity, EntityKind, Owner, QuestionStatus, Run, Scope, Status, Step, StepState, Task, WaitingOn,
};
use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};

use super::{
    Place,
    model::Model,
    sample::{at, post, question, request, run, say, step, task, wakeup},
};
use crate::{
    AgentQuery, Commit, EntityQuery, Error, Expect, ItemQuery, Page, Result, RunQuery, Store, Write,
};

/// One thing that happens. Numbers choose among what there is by then.
#[derive(Debug, Clone)]
enum Act {
    Claim(usize),
    Commit { by: Option<usize>, stale: bool, expect: Option<Hope>, writes: Vec<Deed> },
    Restart,
}

/// What a commit expects.
#[derive(Debug, Clone)]
enum Hope {
    Agent(usize),
    Absent(u8),
    Status(u8, bool),
    Room(usize, u32),
}

/// What a commit writes.
#[derive(Debug, Clone)]
enum Deed {
    Root { stranger: bool },
    Child { of: usize, key: Option<u8> },
    Row { status: usize, waiting: bool, session: bool },
    Item { skip: bool },
    Run { new: bool, status: usize },
    Step { key: u8, done: bool },
    Post { to: usize },
    Read { nth: usize },
    Wake { whom: usize, due: u64, again: bool },
    Woken { nth: usize },
    Task { from: usize, to: usize },
    Question { of: usize, open: bool },
    Record { id: u8, stranger: bool, open: bool, text: Option<u8> },
}

const STATUSES: [Status; 4] = [Status::Running, Status::Waiting, Status::Succeeded, Status::Failed];

fn deed() -> impl Strategy<Value = Deed> {
    let any_agent = 0..64_usize;
    prop_oneof![
        1 => any::<bool>().prop_map(|stranger| Deed::Root { stranger }),
        1 => (any_agent.clone(), prop::option::of(0..2_u8)).prop_map(|(of, key)| Deed::Child { of, key }),
        4 => (0..4_usize, any::<bool>(), prop::bool::weighted(0.2))
            .prop_map(|(status, waiting, session)| Deed::Row { status, waiting, session }),
        4 => prop::bool::weighted(0.1).prop_map(|skip| Deed::Item { skip }),
        2 => (any::<bool>(), 0..4_usize).prop_map(|(new, status)| Deed::Run { new, status }),
        2 => (0..4_u8, any::<bool>()).prop_map(|(key, done)| Deed::Step { key, done }),
        3 => any_agent.clone().prop_map(|to| Deed::Post { to }),
        2 => (0..4_usize).prop_map(|nth| Deed::Read { nth }),
        2 => (any_agent.clone(), 0..20_u64, any::<bool>())
            .prop_map(|(whom, due, again)| Deed::Wake { whom, due, again }),
        2 => (0..4_usize).prop_map(|nth| Deed::Woken { nth }),
        1 => (any_agent.clone(), any_agent.clone()).prop_map(|(from, to)| Deed::Task { from, to }),
        1 => (any_agent, any::<bool>()).prop_map(|(of, open)| Deed::Question { of, open }),
        2 => (0..4_u8, prop::bool::weighted(0.1), any::<bool>(), prop::option::of(0..3_u8))
            .prop_map(|(id, stranger, open, text)| Deed::Record { id, stranger, open, text }),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let hope = prop_oneof![
        (0..64_usize).prop_map(Hope::Agent),
        (0..4_u8).prop_map(Hope::Absent),
        (0..4_u8, any::<bool>()).prop_map(|(id, open)| Hope::Status(id, open)),
        (0..64_usize, 1..6_u32).prop_map(|(of, limit)| Hope::Room(of, limit)),
    ];
    let commit = (
        prop::option::weighted(0.7, 0..64_usize),
        prop::bool::weighted(0.1),
        prop::option::weighted(0.3, hope),
        prop::collection::vec(deed(), 1..8),
    );
    prop_oneof![
        4 => (0..64_usize).prop_map(Act::Claim),
        20 => commit.prop_map(|(by, stale, expect, writes)| Act::Commit { by, stale, expect, writes }),
        1 => Just(Act::Restart),
    ]
}

/// A history, and what the model makes of it.
struct World {
    model: Model,
    now: u64,
}

impl World {
    fn agent(&self, nth: usize) -> Agent {
        self.model.agents[nth % self.model.agents.len()].clone()
    }

    fn commit(&self, by: Option<usize>, stale: bool, expect: Option<&Hope>, deeds: &[Deed]) -> Commit {
        let mut agent = by.map(|nth| self.agent(nth));
        let mut commit = match &mut agent {
            Some(agent) => {
                agent.epoch -= u64::from(stale && agent.epoch > 0);
                Commit::fenced(agent, at(self.now))
            }
            None => Commit::new(at(self.now)),
        };
        commit.expect.extend(expect.map(|hope| self.expect(hope)));
        let mut current = agent
            .as_ref()
            .and_then(|agent| self.model.runs.iter().rfind(|run| run.agent == agent.id).map(|run| run.id));
        for deed in deeds {
            if let Some(write) =
                self.outside(deed).or_else(|| self.inside(deed, agent.as_mut()?, &mut current))
            {
                commit.push(write);
            }
        }
        // As an engine does: the row last, when it or the number of items changed.
        if let Some(agent) = agent.filter(|agent| self.model.agent(agent.id) != Some(agent)) {
            commit.push(Write::Agent(agent));
        }
        commit
    }

    fn expect(&self, hope: &Hope) -> Expect {
        match hope {
            Hope::Agent(nth) => Expect::Agent(self.agent(*nth).id),
            Hope::Absent(id) => Expect::Absent(EntityKind::Request, id.to_string()),
            Hope::Status(id, open) => Expect::Status(EntityKind::Request, id.to_string(), word(*open)),
            Hope::Room(nth, limit) => Expect::TreeBelow(self.agent(*nth).root, *limit),
        }
    }

    /// What anybody may write.
    fn outside(&self, deed: &Deed) -> Option<Write> {
        Some(match deed {
            Deed::Root { stranger } => {
                Write::NewAgent(Agent::root(owner(*stranger), "helper", "helps", at(self.now)))
            }
            Deed::Child { of, key } => {
                let key = key.map(|key| format!("key {key}"));
                Write::NewAgent(self.agent(*of).child("digger", "digs", key, at(self.now)))
            }
            Deed::Post { to } => Write::Post(post(self.agent(*to).id, "hello")),
            Deed::Wake { whom, due, again: false } => Write::Wake(wakeup(&self.agent(*whom), at(*due))),
            Deed::Wake { whom, due, again: true } => {
                let mut wakeups = self.model.wakeups.values().cycle().skip(*whom);
                Write::Wake(entourage_types::Wakeup { due: at(*due), ..wakeups.next()?.clone() })
            }
            Deed::Task { from, to } => {
                let task = task(&self.agent(*from), self.agent(*to).id);
                Write::Task(Task { updated: at(self.now), ..task })
            }
            Deed::Question { of, open } => {
                let mut question = question(&self.agent(*of));
                if !open {
                    question.status = QuestionStatus::Declined;
                }
                Write::Question(question)
            }
            Deed::Record { id, stranger, open, text } => Write::Entity(Entity {
                text: text.map(|text| format!("word{text}")),
                updated: at(self.now),
                ..request(&owner(*stranger), &id.to_string(), word(*open))
            }),
            _ => return None,
        })
    }

    /// What only the activation of this agent may.
    fn inside(
        &self,
        deed: &Deed,
        agent: &mut Agent,
        current: &mut Option<entourage_types::RunId>,
    ) -> Option<Write> {
        Some(match deed {
            Deed::Row { status, waiting, session } => {
                agent.status = STATUSES[*status];
                agent.waiting_on = waiting.then_some(WaitingOn::Timer);
                agent.session += u32::from(*session);
                agent.updated = at(self.now);
                return None;
            }
            Deed::Item { skip } => {
                agent.items += u64::from(*skip);
                Write::Item(say(agent, (*current)?, "hello"))
            }
            Deed::Run { new, status } => {
                let row = run(agent);
                let id = current.filter(|_| !new).unwrap_or(row.id);
                *current = Some(id);
                Write::Run(Run { id, status: STATUSES[*status], started: at(self.now), ..row })
            }
            Deed::Step { key, done } => {
                let state = if *done { StepState::Done } else { StepState::Open };
                let step = step((*current)?, &format!("tool/{key}"), state);
                Write::Step(Step { updated: at(self.now), ..step })
            }
            Deed::Read { nth } => Write::Read(self.model.posts(agent.id).get(*nth)?.id),
            Deed::Woken { nth } => Write::Woken(self.model.due().get(*nth)?.id),
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

async fn replay(place: impl Place, acts: &[Act]) -> Result<()> {
    let mut store = place.open().await?;
    let mut world = World { model: Model::default(), now: 0 };
    let first = Commit::new(at(0))
        .write(Write::NewAgent(Agent::root(owner(false), "helper", "helps", at(0))))
        .write(Write::NewAgent(Agent::root(owner(true), "helper", "helps", at(0))));
    assert!(world.model.commit(&first).is_ok());
    store.commit(first).await?;
    for act in acts {
        world.now += 1;
        match act {
            Act::Claim(nth) => {
                let agent = world.agent(*nth).id;
                let (claim, expected) = (store.claim(agent, 0).await?, world.model.claim(agent));
                assert_eq!(format!("{claim:?}"), format!("{expected:?}"));
            }
            Act::Commit { by, stale, expect, writes } => {
                let commit = world.commit(*by, *stale, expect.as_ref(), writes);
                let expected = world.model.commit(&commit);
                let committed = store.commit(commit.clone()).await;
                let same = match (&committed, &expected) {
                    (Ok(committed), Ok(expected)) => committed == expected,
                    (Err(_), Err(_)) => true,
                    _ => false,
                };
                assert!(same, "{commit:#?}\ncame to {committed:?}, the model says {expected:?}");
            }
            Act::Restart => {
                drop(store);
                store = place.open().await?;
            }
        }
    }
    compare(&store, &world.model).await
}

/// Every row, by every owner.
async fn compare(store: &impl Store, model: &Model) -> Result<()> {
    let page = || Page { limit: 10_000, ..Page::default() };
    assert_eq!(model.told_items(), model.items.len());
    assert_eq!(store.due(at(1_000_000), None, 10_000).await?, model.due());
    for scope in [Scope::House, Scope::Owner(owner(false)), Scope::Owner(owner(true))] {
        let agents: Vec<Agent> = model.agents.iter().filter(|a| scope.sees(&a.owner)).cloned().collect();
        let query = AgentQuery { page: page(), ..AgentQuery::default() };
        // An epoch may be ahead of what is read; claims and commits tell it.
        let known = |agents: &[Agent]| -> Vec<Agent> {
            agents.iter().map(|agent| Agent { epoch: 0, ..agent.clone() }).collect()
        };
        assert_eq!(known(&store.agents(&scope, query).await?), known(&agents));
        let runs: Vec<Run> = model.runs.iter().filter(|run| scope.sees(&run.owner)).cloned().collect();
        let query = RunQuery { page: page(), ..RunQuery::default() };
        assert_eq!(store.runs(&scope, query).await?, runs);
        for run in runs {
            assert_eq!(store.steps(&scope, run.id).await?, model.steps(run.id));
            let query = ItemQuery { run: Some(run.id), ..ItemQuery::of(run.agent, 0, 10_000) };
            let items: Vec<_> =
                model.items.iter().filter(|i| (i.agent, i.run) == (run.agent, run.id)).cloned().collect();
            assert_eq!(store.items(&scope, query).await?, items);
        }
        for agent in agents {
            let query = ItemQuery::of(agent.id, 0, 10_000);
            let items: Vec<_> = model.items.iter().filter(|i| i.agent == agent.id).cloned().collect();
            assert_eq!(store.items(&scope, query).await?, items);
            let events: Vec<_> = model.events.iter().filter(|e| e.root == agent.id).cloned().collect();
            assert_eq!(store.events(&scope, agent.id, 0, 10_000).await?, events);
            assert_eq!(store.inbox(agent.id).await?, model.posts(agent.id));
        }
        for kind in [EntityKind::Task, EntityKind::Question, EntityKind::Request] {
            let rows = model.entities.iter().filter(|e| e.kind == kind && scope.sees(&e.owner));
            let rows: Vec<Entity> = rows.cloned().collect();
            let query = EntityQuery { page: page(), ..EntityQuery::of(kind) };
            assert_eq!(store.entities(&scope, query.clone()).await?, rows);
            let text = Some("word1".to_owned());
            let mut found = store.entities(&scope, EntityQuery { text, ..query }).await?;
            found.sort_by(|a, b| a.id.cmp(&b.id));
            let mut rows: Vec<_> =
                rows.into_iter().filter(|row| row.text.as_deref() == Some("word1")).collect();
            rows.sort_by(|a, b| a.id.cmp(&b.id));
            assert_eq!(found, rows);
        }
    }
    Ok(())
}

/// Replays random histories on the store and on the model, and compares all that they return and
/// keep.
///
/// # Panics
/// When they differ, with the shortest history found for it.
pub fn any_history_reads_as_the_model_says<P: Place>(place: impl Fn() -> P) {
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
