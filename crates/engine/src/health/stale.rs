//! Runs of which nothing has changed for too long, although nobody asked them to wait: tasks end without a result, and
//! goals go back to rest (S4-R128, R129).

use std::collections::HashSet;

use entourage_store::{AgentQuery, Page};
use entourage_types::{Agent, HealthAct, Scope, Time};

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
    if is_alive(engine, all, &open.agent, since) || has_live_workers(engine, all, &open.agent, since).await? {
        return Ok(None);
    }
    let text = format!("nothing of it changed for {}", said(most));
    let why = format!("nothing of it has changed since {}", open.agent.updated);
    let remedy = Remedy::End(open.clone(), Neglect::Stale { text });
    Ok(Some(Finding { report: HealthReport { agent: open.agent.id, what, why }, remedy }))
}

/// Whether an agent has changed since this time, is at work, is about to be, or waits for a person or for another attempt.
fn is_alive(engine: &Engine, all: &OpenRuns, agent: &Agent, since: Time) -> bool {
    agent.updated > since
        || all.due.contains(&agent.id)
        || open::is_paused(agent)
        || open::is_a_persons(agent)
        || engine.inner.activations.is_at_work(agent.id)
}

/// Whether one of the agents that work for an agent, or for one of these, is alive.
async fn has_live_workers(engine: &Engine, all: &OpenRuns, agent: &Agent, since: Time) -> Result<bool> {
    let query =
        AgentQuery { root: Some(agent.root), active: true, page: Page::all(), ..AgentQuery::default() };
    let mut active = engine.store().agents(&Scope::from(&agent.owner), query).await?;
    active.sort_by_key(|agent| agent.depth);
    let mut workers = HashSet::from([agent.id]);
    Ok(active.iter().any(|below| {
        let works =
            !below.works_for.is_person() && below.parent.is_some_and(|above| workers.contains(&above));
        works && workers.insert(below.id) && is_alive(engine, all, below, since)
    }))
}
