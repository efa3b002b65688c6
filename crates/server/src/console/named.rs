//! What agents are called, on pages that name them by their ids.

use std::collections::HashMap;

use axum::Json;
use entourage_api::Agent;
use entourage_types::{AgentId, ShownStatus, WaitingOn};

use super::filters::title_of;
use crate::{
    extract::{Caller, Id},
    routes::v1::agents,
};

/// What the tree of an agent is called, unless the agent is its root.
pub(super) async fn tree_of(caller: &Caller, agent: &Agent) -> Option<String> {
    let is_root = agent.root == agent.id;
    if is_root { None } else { Some(Names::of(caller, &[agent.root]).await.title(&agent.root)) }
}

/// The names of agents.
#[derive(Default)]
pub(super) struct Names(HashMap<AgentId, Named>);

/// What an agent is called, its kind, and its state.
struct Named {
    title: String,
    kind: String,
    status: ShownStatus,
    waiting_on: Option<WaitingOn>,
}

impl Names {
    /// Those of these agents, each read once. One that is gone has none.
    pub(super) async fn of(caller: &Caller, ids: &[AgentId]) -> Self {
        let mut names = HashMap::new();
        for &id in ids {
            if names.contains_key(&id) {
                continue;
            }
            if let Ok(Json(agent)) = agents::get(caller.clone(), Id(id)).await {
                let title = title_of(&agent.title, &agent.kind).to_owned();
                let Agent { kind, status, waiting_on, .. } = agent;
                names.insert(id, Named { title, kind, status, waiting_on });
            }
        }
        Self(names)
    }

    /// What the agent is called.
    pub(super) fn title(&self, id: &AgentId) -> String {
        self.0.get(id).map_or_else(|| id.to_string(), |named| named.title.clone())
    }

    /// What it waits for, if it waits.
    pub(super) fn waiting_on(&self, id: &AgentId) -> Option<WaitingOn> {
        self.0.get(id).filter(|named| named.status == ShownStatus::Waiting).and_then(|named| named.waiting_on)
    }

    /// The name of its kind.
    pub(super) fn kind(&self, id: &AgentId) -> &str {
        self.0.get(id).map_or("", |named| &named.kind)
    }
}
