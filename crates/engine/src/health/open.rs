//! The open runs that health looks at, as they are at this moment.

use std::collections::{BTreeSet, HashSet};

use entourage_store::{AgentQuery, Page, RunQuery};
use entourage_types::{Agent, AgentId, Run, Scope, ShownStatus, Status, Task, WaitingOn};

use crate::{
    Engine, Result,
    pages::{DueWakeups, pages},
};

/// The open runs of created tasks and of permanent agents that a rule may have something to do about, and whom something
/// wakes now.
pub(super) struct OpenRuns {
    pub(super) runs: Vec<OpenRun>,
    pub(super) due: HashSet<AgentId>,
}

/// An open run, and its agent.
#[derive(Debug, Clone)]
pub(super) struct OpenRun {
    pub(super) agent: Agent,
    pub(super) run: Run,
    /// Whether it works on a task that was created with `create_task`; otherwise it is that of a permanent agent, which
    /// a person talks to.
    pub(super) is_task: bool,
}

/// Whether an agent waits for its next attempt at a model call.
pub(super) fn is_paused(agent: &Agent) -> bool {
    agent.waiting_on == Some(WaitingOn::Retry)
}

/// Whether an agent goes on when a person wants it to.
pub(super) fn is_a_persons(agent: &Agent) -> bool {
    matches!(agent.waiting_on, Some(WaitingOn::User | WaitingOn::Resume))
}

/// All of them. Most agents with an open run have changed lately: of these only the agent is read, a page at a time.
pub(super) async fn all(engine: &Engine) -> Result<OpenRuns> {
    let policy = engine.health();
    let since = engine.now() - policy.stale_task.min(policy.stale_goal);
    let mut runs = Vec::new();
    for kind in kinds(engine) {
        for status in [ShownStatus::Running, ShownStatus::Waiting] {
            let (kind, status) = (Some(kind.clone()), Some(status));
            let query = AgentQuery { kind, status, ..AgentQuery::default() };
            let mut pages = pages(&**engine.store(), &Scope::All, query);
            while let Some(page) = pages.next().await? {
                for agent in page.into_iter().filter(|agent| is_paused(agent) || agent.updated <= since) {
                    runs.extend(look(engine, agent).await?);
                }
            }
        }
    }
    let mut due = HashSet::new();
    if !runs.is_empty() {
        let mut pages = pages(&**engine.store(), &Scope::All, DueWakeups(engine.now()));
        while let Some(page) = pages.next().await? {
            due.extend(page.into_iter().map(|wakeup| wakeup.agent));
        }
    }
    Ok(OpenRuns { runs, due })
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

/// The open run of an agent, if it has one.
pub(super) async fn run_of(engine: &Engine, agent: AgentId) -> Result<Option<Run>> {
    let page = Page { limit: 1, ..Page::default() };
    let query = RunQuery { agent: Some(agent), open: true, page, ..RunQuery::default() };
    Ok(engine.store().runs(&Scope::All, query).await?.pop())
}

/// The open run of an agent; none if it is none of those that health looks at.
async fn look(engine: &Engine, agent: Agent) -> Result<Option<OpenRun>> {
    let Some(run) = run_of(engine, agent.id).await? else { return Ok(None) };
    let is_permanent = engine.kinds().get(&agent.kind).is_some_and(|kind| kind.permanent);
    let is_task = !agent.works_for.is_person() && works_on_created(engine, &run).await?;
    let is_seen = is_task || (is_permanent && agent.works_for.is_person());
    Ok(is_seen.then_some(OpenRun { agent, run, is_task }))
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
