//! Events: the numbered facts of one tree.

use askama::Template;
use axum::Json;
use entourage_api::{Begin, Event, EventPage};
use entourage_types::AgentId;
use serde::Deserialize;
use serde_json::Value;

use super::{
    filters,
    shell::{Page, Section, Shown, Shows, View},
};
use crate::{
    extract::{Filter, Id},
    routes::v1::{agents, events},
};

/// How many events are on a page.
const EACH: u32 = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct At {
    /// Events before this one.
    before: Option<u64>,
    after: Option<u64>,
}

#[derive(Template)]
#[template(path = "events.html")]
struct Events {
    root: AgentId,
    rows: Vec<Row>,
    earlier: Option<u64>,
    later: Option<u64>,
}

struct Row {
    event: Event,
    name: String,
    /// All of it, but what every event has.
    facts: Value,
    /// The numbers that are missing before it: there must be none.
    gap: bool,
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
    let Json(EventPage { data, earlier, later, .. }) = events::page(caller, id, begin).await?;
    let mut expected = data.first().map(|event| event.seq);
    let mut rows: Vec<Row> = Vec::with_capacity(data.len());
    for event in data {
        let gap = expected.is_some_and(|expected| expected != event.seq);
        expected = Some(event.seq + 1);
        rows.push(row(event, gap));
    }
    rows.reverse();
    view.show(&Events { root: agent.root, rows, earlier, later })
}

fn row(event: Event, gap: bool) -> Row {
    let mut facts = serde_json::to_value(&event.body).unwrap_or_default();
    let name = facts.as_object_mut().and_then(|facts| facts.remove("event"));
    let name = name.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
    Row { event, name, facts, gap }
}
