//! Tasks that ended long ago. Trees of permanent agents are never old enough to be pruned as a whole, so their tasks are
//! forgotten one by one; the events keep their numbers (S4-R127).

use std::collections::HashMap;

use entourage_store::{
    AgentQuery, Commit, Error as StoreError, Expect, Page, RecordFilter, Versioned, Write,
};
use entourage_types::{
    Agent, AgentId, EntityKind, HealthAct, Parent, Record, Schedule, ScheduleStatus, Scope, Task, Time,
    Tombstone,
};

use super::{Finding, HealthReport, Remedy};
use crate::{Engine, Error, Result, pages::pages};

/// So many are forgotten in one round, the oldest of each agent first; the next round goes on.
const MOST: usize = 500;
/// So many agents, or more by those of a page, are looked at in one round; the next round goes on.
const LOOKED: usize = 5_000;
/// Tasks that are read at once: most agents have no old ones.
const TASKS: u32 = 32;

/// What a round finds.
pub(super) struct Finished {
    pub(super) found: Vec<Finding>,
    /// The agent behind which the next round goes on; none if it begins anew. One agent with much that cannot be
    /// forgotten keeps no other waiting.
    pub(super) last: Option<AgentId>,
}

/// Looks at permanent agents, which are the oldest first: those that were created behind one.
pub(super) async fn find(engine: &Engine, behind: Option<AgentId>) -> Result<Finished> {
    let before = engine.now() - engine.health().prune;
    // The kinds whose trees are kept, with the kind that works on what their agents create.
    let permanent: HashMap<String, String> = {
        let kinds = engine.kinds();
        let creating = kinds.iter().filter(|kind| kind.permanent);
        creating.filter_map(|kind| Some((kind.name.clone(), kind.tasks.as_ref()?.kind.clone()))).collect()
    };
    let behind = match behind {
        Some(agent) => engine.store().agent(&Scope::All, agent).await?.map(|agent| agent.id.to_string()),
        None => None,
    };
    let page = Page { after: behind, ..Page::default() };
    let query = AgentQuery { page, ..AgentQuery::default() };
    let mut pages = pages(&**engine.store(), &Scope::All, query);
    let (mut found, mut looked) = (Vec::new(), 0);
    while let Some(page) = pages.next().await? {
        looked += page.len();
        for agent in &page {
            // They are in the order of their creation.
            if agent.created > before {
                return Ok(Finished { found, last: None });
            }
            if let Some(works) = permanent.get(&agent.kind) {
                old_tasks(engine, agent, (works, before), &mut found).await?;
            }
            if found.len() >= MOST {
                return Ok(Finished { found, last: Some(agent.id) });
            }
        }
        if looked >= LOOKED {
            return Ok(Finished { found, last: page.last().map(|agent| agent.id) });
        }
    }
    Ok(Finished { found, last: None })
}

/// Adds the tasks that an agent created for agents of this kind and that ended before this time, unless their agents
/// were at work since, or will be.
async fn old_tasks(
    engine: &Engine,
    from: &Agent,
    (works, before): (&str, Time),
    found: &mut Vec<Finding>,
) -> Result<()> {
    let mut page = Page { limit: TASKS, ..Page::default() };
    loop {
        let filter = RecordFilter::<Task> { page: page.clone(), ..RecordFilter::of(from.id) };
        let tasks = engine.store().records(&Scope::All, filter).await?;
        let is_last = tasks.len() < TASKS as usize;
        page.after = tasks.last().map(|task| task.id.to_string());
        for task in tasks {
            // They are in the order of their creation.
            if task.created > before || found.len() >= MOST {
                return Ok(());
            }
            let is_old = task.kind == works && task.status.is_terminal() && task.updated <= before;
            if is_old && is_at_rest(engine, &task, before).await? {
                let why = format!("its task ended at {}", task.updated);
                let report = HealthReport { agent: task.to, what: HealthAct::Pruned, why };
                found.push(Finding { report, remedy: Remedy::Forget(task) });
            }
        }
        if is_last {
            return Ok(());
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
