//! A tree as it was after one of its events: told by the events alone, asking no model.

use askama::Template;
use axum::Json;
use entourage_api::{PastAgent, ShowTree, ShownTree};
use entourage_types::{AgentId, Cost, Time};

use super::{
    filters,
    named::Names,
    shell::{Page, Section, Shown, Shows, View},
    tree::urgency,
};
use crate::{
    Problem,
    extract::{Filter, Id},
    routes::v1::agents,
};

#[derive(Template)]
#[template(path = "past.html")]
struct Then {
    /// What the tree is called.
    name: String,
    root: AgentId,
    at: u64,
    time: Time,
    last: u64,
    agents: Vec<PastAgent>,
    /// How many agents there were that are not shown.
    hidden: usize,
    cost: Cost,
}

/// How many agents are shown.
const SHOWN: usize = 200;

impl Page for Then {
    const SECTION: Section = Section::Trees;

    fn title(&self) -> String {
        format!("Tree at event {}", self.at)
    }

    fn shows(&self) -> Shows {
        Shows::Nothing
    }
}

pub(super) async fn show(view: View, id: AgentId, at: u64) -> Shown {
    let Json(shown) = agents::tree(view.caller.clone(), Id(id), Filter(ShowTree { at: Some(at) })).await?;
    let ShownTree::Then(past) = shown else {
        return Err(Problem::internal("the tree was shown as it is, and not as it was"));
    };
    let cost = past.agents.iter().fold(0_u64, |sum, agent| sum.saturating_add(agent.cost.nanos()));
    let mut agents = past.agents;
    let hidden = agents.len().saturating_sub(SHOWN);
    if hidden > 0 {
        agents.sort_by_key(|agent| urgency(agent.status));
        agents.truncate(SHOWN);
    }
    let name = Names::of(&view.caller, &[past.root]).await.title(&past.root);
    view.show(Then {
        name,
        root: past.root,
        at: past.at,
        time: past.time,
        last: past.last,
        agents,
        hidden,
        cost: Cost::from_nanos(cost),
    })
    .await
}
