//! Trees: who works, on what, since when, at what cost.

use askama::Template;
use axum::Json;
use entourage_api::{Agent, AgentOrder, ListAgents};
use entourage_types::{AgentId, ShownStatus};
use serde::Deserialize;

use super::{
    act::NewAgent,
    filters,
    shell::{Page, Section, Shown, View, new_key},
};
use crate::{
    extract::{Filter, Id},
    routes::v1::agents,
};

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
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
}

/// The agent at the top of a tree, with what it waits for.
struct Row {
    agent: Agent,
    why: Option<String>,
    /// How many agents of the tree are in which status, where there are more than the one.
    below: Vec<(ShownStatus, u64)>,
    open_questions: u64,
}

impl Page for Trees {
    const SECTION: Section = Section::Trees;

    fn title(&self) -> String {
        "Trees".to_owned()
    }

    fn below(&self, _: &View) -> askama::Result<String> {
        NewAgent { key: new_key() }.render()
    }
}

pub(super) async fn show(view: View, Filter(wanted): Filter<Wanted>) -> Shown {
    let blank = |text: &String| text.trim().is_empty();
    let status = wanted.status.filter(|status| !blank(status));
    let status: Option<ShownStatus> = match status {
        Some(status) => Some(status.parse().map_err(|why: <ShownStatus as std::str::FromStr>::Err| {
            crate::Problem::bad_query(format!("status: {why}"))
        })?),
        None => None,
    };
    let text = wanted.text.filter(|text| !blank(text));
    let list = ListAgents {
        roots: true,
        status,
        text: text.clone(),
        order: Some(AgentOrder::Updated),
        cursor: wanted.cursor,
        ..ListAgents::default()
    };
    let Json(page) = agents::list(view.caller.clone(), Filter(list)).await?;
    let roots: Vec<AgentId> = page.data.iter().map(|agent| agent.id).collect();
    let mut sums = view.caller.client.subtrees(&roots).await?;
    let mut rows = Vec::with_capacity(page.data.len());
    for agent in page.data {
        let why = match agent.status {
            ShownStatus::Waiting | ShownStatus::Failed => {
                let Json(why) = agents::why(view.caller.clone(), Id(agent.id)).await?;
                Some(why.text)
            }
            _ => None,
        };
        // A tree that was removed meanwhile has none.
        let sums = sums.remove(&agent.id).unwrap_or_default();
        let all: u64 = sums.agents.iter().sum();
        let counted = ShownStatus::ALL.into_iter().zip(sums.agents).filter(|(_, count)| *count > 0);
        let below = if all > 1 { counted.collect() } else { Vec::new() };
        rows.push(Row { agent, why, below, open_questions: sums.open_questions });
    }
    view.show(&Trees { rows, status, text: text.unwrap_or_default(), next: page.next_cursor })
}
