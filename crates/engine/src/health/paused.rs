//! Tasks that are paused: they wait for another attempt at a model call. They are tried again when their time has come,
//! and expire when they were paused for too long (S4-R125, R126).

use entourage_types::{Failed, FailureClass, HealthAct, Retry, Scope, Step, StepState, Time};

use super::{Finding, HealthReport, OpenRun, OpenRuns, Remedy, open, said};
use crate::{Engine, Result, run::Neglect};

pub(super) async fn find(engine: &Engine, open: &OpenRuns) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for task in open.runs.iter().filter(|run| run.is_task && open::is_paused(&run.agent)) {
        let steps = engine.store().steps(&Scope::All, task.run.id).await?;
        let retry = |step: &Step| match &step.state {
            // One that waits for room in a budget waits for a person.
            StepState::Retry(retry) if retry.shortage.is_none() => Some((step.started, retry.clone())),
            _ => None,
        };
        if let Some((since, retry)) = steps.iter().find_map(retry) {
            found.extend(judge(engine, open, (task, since), &retry));
        }
    }
    Ok(found)
}

/// What is done about a task that is paused since this time. One whose time has come is tried before it can expire: the
/// process may have been away.
fn judge(engine: &Engine, all: &OpenRuns, (task, since): (&OpenRun, Time), retry: &Retry) -> Option<Finding> {
    let now = engine.now();
    let expire = engine.health().expire;
    let finding = |what, why, remedy| {
        let report = HealthReport { agent: task.agent.id, what, why };
        Some(Finding { report, remedy })
    };
    if retry.due <= now {
        let why = format!("its next attempt is due since {}", retry.due);
        let remedy = if all.due.contains(&task.agent.id) { Remedy::None } else { Remedy::Wake(task.clone()) };
        return finding(HealthAct::Retried, why, remedy);
    }
    if now.since(since) < expire {
        return None;
    }
    let text = format!("it was paused for {}, and expired", said(expire));
    let cause = format!("{text}; the last error: {}", retry.error);
    let class = retry.failed.last().and_then(|failed| failed.class).unwrap_or(FailureClass::Other);
    let failed = Failed { class, attempts: u32::try_from(retry.failed.len()).unwrap_or(u32::MAX) };
    let why = format!("it was paused since {since}: {}", retry.error);
    finding(HealthAct::Expired, why, Remedy::End(task.clone(), Neglect::Expired { text, cause, failed }))
}
