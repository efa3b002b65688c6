//! Trees: who works, on what, since when, at what cost.

use askama::Template;
use axum::Json;
use entourage_api::{Agent, AgentOrder, ListAgents, Page as ListPage};
use entourage_types::{AgentId, ShownStatus, Time};
use serde::Deserialize;

use super::{
    act::NewAgent,
    filters,
    given::{condition, some},
    reason::Reason,
    shell::{Page, Section, Shown, View},
};
use crate::{
    Problem,
    extract::{Caller, Filter},
    routes::v1::agents,
};

/// The most pages of agents that are searched for roots, and how many roots are enough to end the search.
const LOOKS: usize = 5;
const FEW: usize = 10;

#[derive(Deserialize, Default)]
pub(super) struct Wanted {
    status: Option<String>,
    text: Option<String>,
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "trees.html")]
struct Trees {
    rows: Vec<Row>,
    status: Option<ShownStatus>,
    text: String,
    next: Option<String>,
    new: Option<NewAgent>,
}

/// The agent at the top of a tree, with what it waits for.
struct Row {
    agent: Agent,
    reason: Option<Reason>,
    /// How many agents of the tree are in which status, where there are more than the one.
    below: Vec<(ShownStatus, u64)>,
    open_questions: u64,
}

/// The statuses in which an agent can be.
pub(super) fn of_agents() -> impl Iterator<Item = ShownStatus> {
    ShownStatus::ALL.into_iter().filter(|status| *status != ShownStatus::Queued)
}

impl Row {
    /// Since when it is in its state, where that is known.
    fn since(&self) -> Option<Time> {
        self.reason.as_ref().and_then(Reason::since)
    }
}

impl Page for Trees {
    const SECTION: Section = Section::Trees;

    fn title(&self) -> String {
        "Trees".to_owned()
    }

    fn below(&self, _: &View) -> askama::Result<String> {
        self.new.as_ref().map_or_else(|| Ok(String::new()), Template::render)
    }
}

/// The roots that changed last. A page of the list scans a bounded number of agents, of which few may be roots, so further
/// pages are read until there are enough.
pub(super) async fn latest(caller: &Caller, list: ListAgents) -> Result<ListPage<Agent>, Problem> {
    let mut found = ListPage { data: Vec::new(), next_cursor: list.cursor.clone() };
    let list = ListAgents { roots: true, order: Some(AgentOrder::Updated), ..list };
    for _ in 0..LOOKS {
        let next = ListAgents { cursor: found.next_cursor.take(), ..list.clone() };
        let Json(page) = agents::list(caller.clone(), Filter(next)).await?;
        found.data.extend(page.data);
        found.next_cursor = page.next_cursor;
        if found.data.len() >= FEW || found.next_cursor.is_none() {
            break;
        }
    }
    Ok(found)
}

pub(super) async fn show(view: View, Filter(wanted): Filter<Wanted>) -> Shown {
    let status: Option<ShownStatus> = condition("status", wanted.status)?;
    let text = wanted.text.and_then(some);
    let list = ListAgents { status, text: text.clone(), cursor: wanted.cursor, ..ListAgents::default() };
    let page = latest(&view.caller, list).await?;
    let roots: Vec<AgentId> = page.data.iter().map(|agent| agent.id).collect();
    let mut sums = view.caller.client.subtrees(&roots).await?;
    let mut rows = Vec::with_capacity(page.data.len());
    for agent in page.data {
        let reason = match agent.status {
            ShownStatus::Waiting | ShownStatus::Failed => Some(Reason::of_any(&view.caller, agent.id).await?),
            _ => None,
        };
        // A tree that was removed meanwhile has none.
        let sums = sums.remove(&agent.id).unwrap_or_default();
        let all: u64 = sums.agents.iter().sum();
        let counted = ShownStatus::ALL.into_iter().zip(sums.agents).filter(|(_, count)| *count > 0);
        let below = if all > 1 { counted.collect() } else { Vec::new() };
        rows.push(Row { agent, reason, below, open_questions: sums.open_questions });
    }
    let new = NewAgent::of(&view, false).await?;
    view.show(Trees { rows, status, text: text.unwrap_or_default(), next: page.next_cursor, new }).await
}
