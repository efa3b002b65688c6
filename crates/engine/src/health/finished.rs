//! Tasks that ended long ago. Trees of permanent agents are never old enough to be pruned as a whole, so their tasks are
//! forgotten one by one; the events keep their numbers (S4-R127).

use entourage_store::{
    AgentQuery, Commit, Error as StoreError, Expect, Page, RecordFilter, Versioned, Write,
};
use entourage_types::{Agent, EntityKind, HealthAct, Parent, Record, Scope, Task, Time, Tombstone};

use super::{Finding, HealthReport, Remedy};
use crate::{Engine, Error, Result, pages::pages};

/// So many are forgotten in one round, the oldest of each agent first; the next round goes on.
const MOST: usize = 500;
/// Tasks that are read at once: most agents have no old ones.
const TASKS: u32 = 32;

pub(super) async fn find(engine: &Engine) -> Result<Vec<Finding>> {
    let before = engine.now() - engine.health().prune;
    // The kinds whose trees are kept, with the kind that works on what their agents create.
    let permanent: Vec<(String, String)> = {
        let kinds = engine.kinds();
        let creating = kinds.iter().filter(|kind| kind.permanent);
        creating.filter_map(|kind| Some((kind.name.clone(), kind.tasks.as_ref()?.kind.clone()))).collect()
    };
    let mut found = Vec::new();
    for (kind, works) in permanent {
        let query = AgentQuery { kind: Some(kind), ..AgentQuery::default() };
        let mut pages = pages(&**engine.store(), &Scope::All, query);
        while let Some(page) = pages.next().await? {
            for agent in page {
                old_tasks(engine, &agent, (&works, before), &mut found).await?;
                if found.len() >= MOST {
                    found.truncate(MOST);
                    return Ok(found);
                }
            }
        }
    }
    Ok(found)
}

/// Adds the tasks that an agent created for agents of this kind and that ended before this time, unless their agents
/// were at work since.
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

/// Whether the agent of a task has done nothing since this time, and belongs to that task alone. An agent that was
/// forgotten has left its task behind.
async fn is_at_rest(engine: &Engine, task: &Task, before: Time) -> Result<bool> {
    let agent = engine.store().agent(&Scope::from(&task.owner), task.to).await?;
    Ok(agent.is_none_or(|agent| agent.status.is_terminal() && agent.key.is_none() && agent.updated <= before))
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
