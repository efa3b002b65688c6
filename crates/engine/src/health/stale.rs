//! Runs of which nothing has changed for too long, although nobody asked them to wait: tasks end without a result, and
//! goals go back to rest (S4-R128, R129).

use std::collections::HashSet;

use entourage_store::{AgentQuery, Page};
use entourage_types::{Agent, HealthAct, Scope, Status, Time, Wait};

use super::{Finding, HealthReport, OpenRun, OpenRuns, Remedy, open, said};
use crate::{Engine, Result, run::Neglect};

pub(super) async fn find(engine: &Engine, open: &OpenRuns) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for run in &open.runs {
        found.extend(judge(engine, open, run).await?);
    }
    Ok(found)
}

/// What is done about an open run. One that is about to go on does so; one that is paused may expire; one that agents
/// work for waits for these, whatever else it waits for.
async fn judge(engine: &Engine, all: &OpenRuns, open: &OpenRun) -> Result<Option<Finding>> {
    let policy = engine.health();
    let (most, what) = match open.is_task {
        true => (policy.stale_task, HealthAct::Stalled),
        false => (policy.stale_goal, HealthAct::Rested),
    };
    let since = engine.now() - most;
    if is_alive(engine, all, &open.agent, since).await?
        || has_live_workers(engine, all, &open.agent, since).await?
    {
        return Ok(None);
    }
    let text = format!("nothing of it changed for {}", said(most));
    let why = format!("nothing of it has changed since {}", open.agent.updated);
    let remedy = Remedy::End(open.clone(), Neglect::Stale { text });
    Ok(Some(Finding { report: HealthReport { agent: open.agent.id, what, why }, remedy }))
}

/// Whether an agent has changed since this time, is at work, is about to be, or waits for a person, for another attempt or
/// for a moment that is to come.
async fn is_alive(engine: &Engine, all: &OpenRuns, agent: &Agent, since: Time) -> Result<bool> {
    Ok(agent.updated > since
        || all.due.contains(&agent.id)
        || open::is_paused(agent)
        || open::is_a_persons(agent)
        || engine.inner.activations.is_at_work(agent.id)
        || waits_for_a_moment(engine, agent).await?)
}

/// Whether a call of an agent waits for a moment that is to come.
async fn waits_for_a_moment(engine: &Engine, agent: &Agent) -> Result<bool> {
    if agent.status != Status::Waiting {
        return Ok(false);
    }
    let Some(run) = open::run_of(engine, agent.id).await? else { return Ok(false) };
    let (steps, now) = (engine.store().steps(&Scope::All, run.id).await?, engine.now());
    Ok(steps.iter().any(|step| matches!(step.wait(), Some(Wait::Until { until }) if *until > now)))
}

/// Whether one of the agents that work for an agent, or for one of these, is alive.
async fn has_live_workers(engine: &Engine, all: &OpenRuns, agent: &Agent, since: Time) -> Result<bool> {
    let query =
        AgentQuery { root: Some(agent.root), active: true, page: Page::all(), ..AgentQuery::default() };
    let mut active = engine.store().agents(&Scope::from(&agent.owner), query).await?;
    active.sort_by_key(|agent| agent.depth);
    let mut workers = HashSet::from([agent.id]);
    for below in &active {
        let works =
            !below.works_for.is_person() && below.parent.is_some_and(|above| workers.contains(&above));
        if works && workers.insert(below.id) && is_alive(engine, all, below, since).await? {
            return Ok(true);
        }
    }
    Ok(false)
}
