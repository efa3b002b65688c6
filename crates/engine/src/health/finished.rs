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
    let permanent: Vec<String> = {
        let kinds = engine.kinds();
        kinds.iter().filter(|kind| kind.permanent).map(|kind| kind.name.clone()).collect()
    };
    let mut found = Vec::new();
    for kind in permanent {
        let query = AgentQuery { kind: Some(kind), ..AgentQuery::default() };
        let mut pages = pages(&**engine.store(), &Scope::All, query);
        while let Some(page) = pages.next().await? {
            for agent in page {
                old_tasks(engine, &agent, before, &mut found).await?;
                if found.len() >= MOST {
                    found.truncate(MOST);
                    return Ok(found);
                }
            }
        }
    }
    Ok(found)
}

/// Adds the tasks that an agent gave and that ended before this time.
async fn old_tasks(engine: &Engine, from: &Agent, before: Time, found: &mut Vec<Finding>) -> Result<()> {
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
            if task.status.is_terminal() && task.updated <= before {
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
