//! Tasks that ended long ago. Trees of permanent agents are never old enough to be pruned as a whole, so their tasks are
//! forgotten one by one; the events keep their numbers (S4-R127).

use std::collections::HashMap;

use entourage_store::{
    AgentQuery, Commit, Error as StoreError, Expect, Page, RecordFilter, Versioned, Write,
};
use entourage_types::{
    Agent, AgentId, EntityKind, HealthAct, Parent, Record, Schedule, ScheduleStatus, Scope, Task, TaskId,
    Time, Tombstone,
};

use super::{Finding, HealthReport, Remedy};
use crate::{Engine, Error, Result, pages::pages};

/// So many are forgotten in one round, the oldest of each agent first; the next round goes on.
const MOST: usize = 500;
/// So many agents and tasks, or more by those of a page, are looked at in one round; the next round goes on.
const LOOKED: usize = 5_000;
/// Tasks that are read at once: most agents have no old ones.
const TASKS: u32 = 32;

/// What a round finds.
pub(super) struct Finished {
    pub(super) found: Vec<Finding>,
    /// Where the next round goes on.
    pub(super) next: Place,
    /// So many of the last findings are about tasks behind that place.
    pub(super) behind: usize,
}

impl Finished {
    fn up_to(next: Place, found: Vec<Finding>) -> Self {
        Self { found, next, behind: 0 }
    }
}

/// Where a round begins to look: with the first agent, unless it says more.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    /// Behind this agent.
    agent: Option<AgentId>,
    /// With the agent that follows it, behind this task.
    task: Option<TaskId>,
}

/// Looks at permanent agents, which are the oldest first, from a place on.
pub(super) async fn find(engine: &Engine, from: Place) -> Result<Finished> {
    let before = engine.now() - engine.health().prune;
    // The kinds whose trees are kept, with the kind that works on what their agents create.
    let permanent: HashMap<String, String> = {
        let kinds = engine.kinds();
        let creating = kinds.iter().filter(|kind| kind.permanent);
        creating.filter_map(|kind| Some((kind.name.clone(), kind.tasks.as_ref()?.kind.clone()))).collect()
    };
    let mut next = from.as_it_is(engine).await?;
    let page = Page { after: next.agent.map(|agent| agent.to_string()), ..Page::default() };
    let query = AgentQuery { page, ..AgentQuery::default() };
    let mut pages = pages(&**engine.store(), &Scope::All, query);
    let mut round = Round { before, looked: 0, found: Vec::new() };
    while let Some(page) = pages.next().await? {
        round.looked += page.len();
        for agent in &page {
            // They are in the order of their creation.
            if agent.created > before {
                return Ok(Finished::up_to(Place::default(), round.found));
            }
            let behind = next.task.take();
            if let Some(works) = permanent.get(&agent.kind)
                && let Stop::Full { stays, behind } = round.old_tasks(engine, (agent, works), behind).await?
            {
                next.task = stays;
                return Ok(Finished { found: round.found, next, behind });
            }
            next.agent = Some(agent.id);
        }
        if round.looked >= LOOKED {
            return Ok(Finished::up_to(next, round.found));
        }
    }
    Ok(Finished::up_to(Place::default(), round.found))
}

impl Place {
    /// Moves on behind a task that could not be forgotten.
    pub(super) fn pass(&mut self, task: TaskId) {
        self.task = Some(task);
    }

    /// The same, or the first place before it if what it names was removed meanwhile.
    async fn as_it_is(self, engine: &Engine) -> Result<Self> {
        let Self { agent: Some(id), task } = self else { return self.with_task_if_there(engine).await };
        match engine.store().agent(&Scope::All, id).await? {
            Some(_) => Self { agent: Some(id), task }.with_task_if_there(engine).await,
            None => Ok(Self::default()),
        }
    }

    async fn with_task_if_there(self, engine: &Engine) -> Result<Self> {
        let Some(task) = self.task else { return Ok(self) };
        let found: Option<Task> = engine.store().record(&Scope::All, task).await?;
        Ok(Self { task: found.map(|found| found.id), ..self })
    }
}

/// Why a round looks at no more tasks of an agent.
enum Stop {
    /// There are none.
    End,
    /// It has looked at enough, or found enough.
    Full {
        /// The last task that was looked at and stays.
        stays: Option<TaskId>,
        /// How many of those behind it were found.
        behind: usize,
    },
}

/// What a round has looked at.
struct Round {
    /// What ended before this time is old.
    before: Time,
    looked: usize,
    found: Vec<Finding>,
}

impl Round {
    /// Adds the tasks that an agent created for agents of this kind and that ended long ago, unless their agents were at
    /// work since, or will be.
    async fn old_tasks(
        &mut self,
        engine: &Engine,
        (from, works): (&Agent, &str),
        behind: Option<TaskId>,
    ) -> Result<Stop> {
        // What is found is gone in the next round, as far as it can be forgotten.
        let (mut stays, mut found_before) = (behind, self.found.len());
        let mut page = Page { limit: TASKS, after: behind.map(|task| task.to_string()), ..Page::default() };
        loop {
            let filter = RecordFilter::<Task> { page: page.clone(), ..RecordFilter::of(from.id) };
            let tasks = engine.store().records(&Scope::All, filter).await?;
            let is_last = tasks.len() < TASKS as usize;
            page.after = tasks.last().map(|task| task.id.to_string());
            self.looked += tasks.len();
            for task in tasks {
                // They are in the order of their creation.
                if task.created > self.before {
                    return Ok(Stop::End);
                }
                if self.found.len() >= MOST {
                    return Ok(Stop::Full { stays, behind: self.found.len() - found_before });
                }
                let is_old = task.kind == works && task.status.is_terminal() && task.updated <= self.before;
                if is_old && is_at_rest(engine, &task, self.before).await? {
                    let why = format!("its task ended at {}", task.updated);
                    let report = HealthReport { agent: task.to, what: HealthAct::Pruned, why };
                    self.found.push(Finding { report, remedy: Remedy::Forget(task) });
                } else {
                    (stays, found_before) = (Some(task.id), self.found.len());
                }
            }
            if is_last {
                return Ok(Stop::End);
            }
            if self.looked >= LOOKED {
                return Ok(Stop::Full { stays, behind: self.found.len() - found_before });
            }
        }
    }
}

/// Whether the agent of a task has done nothing since this time, belongs to that task alone, and has no schedule. An
/// agent that was forgotten has left its task behind.
async fn is_at_rest(engine: &Engine, task: &Task, before: Time) -> Result<bool> {
    let scope = Scope::from(&task.owner);
    let Some(agent) = engine.store().agent(&scope, task.to).await? else { return Ok(true) };
    if !agent.status.is_terminal() || agent.key.is_some() || agent.updated > before {
        return Ok(false);
    }
    let all = RecordFilter::<Schedule> { page: Page::all(), ..RecordFilter::of(agent.id) };
    let schedules = engine.store().records(&scope, all).await?;
    Ok(schedules.iter().all(|schedule| schedule.status == ScheduleStatus::Ended))
}

/// Forgets the agent that worked on a task, and then the task, if nobody took it up again. Returns whether it did.
pub(super) async fn forget(engine: &Engine, task: Task) -> Result<bool> {
    let client = engine.client(task.owner.clone());
    let scope = Scope::from(&task.owner);
    let Some(Versioned { record, version }) =
        engine.store().versioned::<Task>(&scope, &task.id.to_string()).await?
    else {
        return Ok(false);
    };
    if record != task {
        return Ok(false);
    }
    match client.forget(task.to).await {
        // Nothing is left of it, or of its tombstone.
        Ok(()) | Err(Error::NotFound { .. }) => {}
        // It has something to do again.
        Err(Error::NotNow { .. }) => return Ok(false),
        Err(error) => return Err(error),
    }
    let (of, at) = (Parent::Record(Task::KIND, task.id.to_string()), engine.now());
    let Task { owner, root, from, .. } = task;
    let tombstone = Tombstone { of, owner, root, agent: from, at };
    let forgets = Commit::new(at)
        .expect(Expect::version::<Task>(task.id, version))
        .write(Write::PruneEntity(EntityKind::TASK, task.id.to_string()))
        .write(Write::record(&tombstone)?);
    match engine.commit(forgets).await {
        Ok(_) => Ok(true),
        Err(StoreError::OtherVersion { .. } | StoreError::NoAgent { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
