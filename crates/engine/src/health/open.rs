//! The open runs that health looks at, as they are at this moment.

use std::collections::{BTreeSet, HashSet};

use entourage_store::RunQuery;
use entourage_types::{Agent, AgentId, Run, Scope, Status, Task, Time, WaitingOn};

use crate::{
    Engine, Result,
    pages::{DueWakeups, pages},
};

/// An open run, and its agent.
#[derive(Debug, Clone)]
pub(super) struct OpenRun {
    pub(super) agent: Agent,
    pub(super) run: Run,
    /// Whether it works on a task that was created with `create_task`; otherwise it is that of a permanent agent, which
    /// a person talks to.
    pub(super) is_task: bool,
    /// Whether something wakes its agent now.
    pub(super) is_due: bool,
}

impl OpenRun {
    /// Whether its agent waits for its next attempt at a model call.
    pub(super) fn is_paused(&self) -> bool {
        self.agent.waiting_on == Some(WaitingOn::Retry)
    }

    /// Whether its agent goes on when a person wants it to.
    pub(super) fn is_a_persons(&self) -> bool {
        matches!(self.agent.waiting_on, Some(WaitingOn::User | WaitingOn::Resume))
    }

    /// Whether its agent has not changed since before this time.
    pub(super) fn is_unchanged_since(&self, time: Time) -> bool {
        self.agent.updated <= time
    }
}

/// All open runs of created tasks and of permanent agents.
pub(super) async fn all(engine: &Engine) -> Result<Vec<OpenRun>> {
    let mut found = Vec::new();
    for kind in kinds(engine) {
        let query = RunQuery { kind: Some(kind), open: true, ..RunQuery::default() };
        let mut pages = pages(&**engine.store(), &Scope::All, query);
        while let Some(page) = pages.next().await? {
            for run in page {
                found.extend(look(engine, run).await?);
            }
        }
    }
    let mut suspects: HashSet<AgentId> = found.iter().map(|open| open.agent.id).collect();
    let mut due = HashSet::new();
    if !suspects.is_empty() {
        let mut pages = pages(&**engine.store(), &Scope::All, DueWakeups(engine.now()));
        while let Some(page) = pages.next().await? {
            due.extend(page.into_iter().filter_map(|wakeup| suspects.take(&wakeup.agent)));
        }
    }
    for open in &mut found {
        open.is_due = due.contains(&open.agent.id);
    }
    Ok(found)
}

/// The names of the permanent kinds, and of those that work on created tasks.
fn kinds(engine: &Engine) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for kind in engine.kinds().iter() {
        names.extend(kind.tasks.as_ref().map(|tasks| tasks.kind.clone()));
        if kind.permanent {
            names.insert(kind.name.clone());
        }
    }
    names
}

/// An open run with its agent; none if it is none of those that health looks at.
async fn look(engine: &Engine, run: Run) -> Result<Option<OpenRun>> {
    let Some(agent) = engine.store().agent(&Scope::All, run.agent).await? else { return Ok(None) };
    let is_permanent = engine.kinds().get(&agent.kind).is_some_and(|kind| kind.permanent);
    let is_task = !agent.works_for.is_person() && works_on_created(engine, &run).await?;
    let is_seen = is_task || (is_permanent && agent.works_for.is_person());
    Ok(is_seen.then_some(OpenRun { agent, run, is_task, is_due: false }))
}

/// Whether a run works on an open task that its assigner created with `create_task`.
async fn works_on_created(engine: &Engine, run: &Run) -> Result<bool> {
    for id in &run.tasks {
        let task: Option<Task> = engine.store().record(&Scope::All, id).await?;
        let Some(task) = task.filter(|task| task.status == Status::Queued) else { continue };
        let Some(from) = engine.store().agent(&Scope::All, task.from).await? else { continue };
        let policy = engine.kinds().get(&from.kind).and_then(|kind| kind.tasks.clone());
        if policy.is_some_and(|policy| policy.kind == task.kind) {
            return Ok(true);
        }
    }
    Ok(false)
}
