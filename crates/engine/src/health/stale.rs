//! Runs of which nothing has changed for too long, although nobody asked them to wait: tasks end without a result, and
//! goals go back to rest (S4-R128, R129).

use entourage_types::HealthAct;

use super::{Finding, HealthReport, OpenRun, Remedy, said};
use crate::{Engine, run::Neglect};

pub(super) fn find(engine: &Engine, open: &[OpenRun]) -> Vec<Finding> {
    open.iter().filter_map(|open| judge(engine, open)).collect()
}

/// What is done about an open run. One that something wakes now is about to go on; one that is paused may expire.
fn judge(engine: &Engine, open: &OpenRun) -> Option<Finding> {
    let policy = engine.health();
    let (most, what) = match open.is_task {
        true => (policy.stale_task, HealthAct::Stalled),
        false => (policy.stale_goal, HealthAct::Rested),
    };
    let waits = open.is_due || open.is_paused() || open.is_a_persons();
    if waits || !open.is_unchanged_since(engine.now() - most) {
        return None;
    }
    let agent = open.agent.id;
    if engine.inner.activations.is_at_work(agent) {
        return None;
    }
    let text = format!("nothing of it changed for {}", said(most));
    let why = format!("nothing of it has changed since {}", open.agent.updated);
    let remedy = Remedy::End(open.clone(), Neglect::Stalled { text });
    Some(Finding { report: HealthReport { agent, what, why }, remedy })
}
