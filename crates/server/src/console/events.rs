//! Events: the numbered facts of one tree.

use askama::Template;
use axum::Json;
use entourage_api::{Begin, Event, EventPage};
use entourage_types::AgentId;
use serde::Deserialize;
use serde_json::Value;

use super::{
    filters,
    named::Names,
    shell::{Page, Section, Shown, Shows, View},
};
use crate::{
    extract::{Filter, Id},
    routes::v1::{agents, events},
};

/// How many events are on a page.
const EACH: u32 = 100;

#[derive(Deserialize)]
pub(super) struct At {
    /// Events before this one.
    before: Option<u64>,
    after: Option<u64>,
}

#[derive(Template)]
#[template(path = "events.html")]
struct Events {
    root: AgentId,
    title: String,
    rows: Vec<Row>,
    /// The number before which events are missing at the end of the page: there must be none.
    missing: Option<u64>,
    earlier: Option<u64>,
    later: Option<u64>,
}

struct Row {
    event: Event,
    name: String,
    /// All of it, but what every event has.
    facts: Value,
    /// Whether events right before it are missing: none may be.
    is_after_gap: bool,
}

impl Page for Events {
    const SECTION: Section = Section::Trees;

    fn title(&self) -> String {
        "Events".to_owned()
    }

    fn shows(&self) -> Shows {
        Shows::Tree(self.root)
    }
}

pub(super) async fn show(view: View, Id(id): Id<AgentId>, Filter(At { before, after }): Filter<At>) -> Shown {
    let caller = &view.caller;
    let Json(agent) = agents::get(caller.clone(), Id(id)).await?;
    let begin = Begin { before, after, limit: Some(EACH), ..Begin::default() };
    let Json(page) = events::page(caller, id, begin).await?;
    let (mut expected, last) = numbers(&page, before, after);
    let mut rows: Vec<Row> = Vec::with_capacity(page.data.len());
    for event in page.data {
        let is_after_gap = event.seq != expected;
        expected = event.seq + 1;
        rows.push(row(event, is_after_gap));
    }
    // Of a tree whose events are all pruned none is missing.
    let missing = (page.first > 0 && expected <= last).then_some(last + 1);
    rows.reverse();
    let title = Names::of(caller, &[agent.root]).await.title(&agent.root);
    let EventPage { earlier, later, .. } = page;
    view.show(Events { root: agent.root, title, rows, missing, earlier, later }).await
}

/// The first and the last number that a page covers: each must be on it. Earlier pages end, and later ones begin, with
/// the numbers beside these, so that no gap is between two pages.
fn numbers(page: &EventPage, before: Option<u64>, after: Option<u64>) -> (u64, u64) {
    let first = after.map(|after| after + 1).or(page.earlier).unwrap_or(page.first);
    let last = page.later.or(before.map(|before| before.saturating_sub(1))).unwrap_or(page.last);
    (first, last.min(page.last))
}

fn row(event: Event, is_after_gap: bool) -> Row {
    let mut facts = serde_json::to_value(&event.body).unwrap_or_default();
    let name = facts.as_object_mut().and_then(|facts| facts.remove("event"));
    let name = name.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
    Row { event, name, facts, is_after_gap }
}
