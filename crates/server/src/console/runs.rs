//! Runs of all agents, narrowed by what they are and how they ended.

use std::collections::HashMap;

use askama::Template;
use axum::Json;
use entourage_api::{ListRuns, Run};
use entourage_types::{AgentId, ShownStatus, StopReason, WaitingOn};
use serde::Deserialize;

use super::{
    filters,
    given::{condition, some},
    named::Names,
    reason::Reason,
    shell::{Page, Section, Shown, View},
};
use crate::{extract::Filter, routes::v1::runs};

/// Of how many runs that wait for a retry it is asked what they lack.
const EXPLAINED: usize = 20;

#[derive(Deserialize, Default)]
pub(super) struct Wanted {
    root: Option<String>,
    agent: Option<String>,
    kind: Option<String>,
    version: Option<String>,
    status: Option<String>,
    stop_reason: Option<String>,
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "runs.html")]
struct Runs {
    runs: Vec<Run>,
    names: Names,
    wanted: ListRuns,
    next: Option<String>,
    /// Why agents wait whose run says no more than that it goes on by itself.
    reasons: HashMap<AgentId, Reason>,
}

impl Runs {
    /// What a run waits for, in a word or two.
    fn on(&self, run: &Run, on: &WaitingOn) -> &'static str {
        self.reasons.get(&run.agent).map_or_else(|| filters::waits_on(*on), |reason| reason.on(on))
    }

    /// The statuses in which a run can be.
    #[allow(clippy::unused_self, reason = "templates call methods of their page")]
    fn statuses(&self) -> impl Iterator<Item = ShownStatus> {
        let never = [ShownStatus::Idle, ShownStatus::Queued];
        ShownStatus::ALL.into_iter().filter(move |status| !never.contains(status))
    }

    /// Whether any condition is set.
    fn is_narrowed(&self) -> bool {
        self.wanted != ListRuns { cursor: self.wanted.cursor.clone(), ..ListRuns::default() }
    }

    /// Whether this is the reason that is asked for.
    fn is_reason(&self, word: &str) -> bool {
        self.wanted.stop_reason.is_some_and(|reason| reason.as_str() == word)
    }

    /// The query that leads to the next page.
    fn next_query(&self) -> Option<String> {
        let cursor = self.next.as_ref()?;
        let ListRuns { root, agent, kind, version, status, stop_reason, .. } = &self.wanted;
        let more = [
            ("root", root.map(|root| root.to_string())),
            ("agent", agent.map(|agent| agent.to_string())),
            ("kind", kind.clone()),
            ("version", version.clone()),
            ("status", status.map(|status| status.to_string())),
            ("stop_reason", stop_reason.map(|reason| reason.to_string())),
        ];
        Some(filters::query("cursor", cursor, more))
    }
}

impl Page for Runs {
    const SECTION: Section = Section::Trees;

    fn title(&self) -> String {
        "Runs".to_owned()
    }
}

pub(super) async fn show(view: View, Filter(wanted): Filter<Wanted>) -> Shown {
    let wanted = ListRuns {
        root: condition::<AgentId>("root", wanted.root)?,
        agent: condition::<AgentId>("agent", wanted.agent)?,
        kind: wanted.kind.and_then(some),
        version: wanted.version.and_then(some),
        status: condition("status", wanted.status)?,
        stop_reason: condition("stop_reason", wanted.stop_reason)?,
        limit: None,
        cursor: wanted.cursor,
    };
    let Json(page) = runs::all(view.caller.clone(), Filter(wanted.clone())).await?;
    let of = wanted.agent.into_iter().chain(wanted.root);
    let named: Vec<AgentId> = page.data.iter().map(|run| run.agent).chain(of).collect();
    let names = Names::of(&view.caller, &named).await;
    let mut reasons = HashMap::new();
    let is_retry = |run: &&Run| run.waiting_on == Some(WaitingOn::Retry);
    for run in page.data.iter().filter(is_retry).take(EXPLAINED) {
        // One that is gone meanwhile has none.
        if let Ok(reason) = Reason::of_any(&view.caller, run.agent).await {
            reasons.insert(run.agent, reason);
        }
    }
    view.show(Runs { runs: page.data, names, wanted, next: page.next_cursor, reasons }).await
}
