//! What a person does to an agent: writes to it, or intervenes.

use std::collections::HashSet;

use askama::Template;
use axum::{
    Json,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Redirect, Response},
};
use entourage_api::{Agent, CreateAgent, Intervene, SendMessage, ShowTree, ShownTree};
use entourage_types::{Action, AgentId, ShownStatus};
use serde::Deserialize;

use super::shell::{Fields, Shown, View, is_htmx, new_key};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IdempotencyKey},
    routes::v1::{agents, interventions, messages},
};

/// The dialog with all interventions. A script fills in the agent, where a page has more than one.
#[derive(Template)]
#[template(path = "acts.html")]
pub(super) struct Acts {
    agent: Option<AgentId>,
    key: String,
}

impl Acts {
    /// For one of the agents on the page.
    pub(super) fn of_any() -> Self {
        Self { agent: None, key: new_key() }
    }

    /// For this agent.
    pub(super) fn of(agent: AgentId) -> Self {
        Self { agent: Some(agent), key: new_key() }
    }
}

/// The form with which a person asks a new agent.
#[derive(Template)]
#[template(path = "new_agent.html")]
pub(super) struct NewAgent {
    pub(super) key: String,
}

/// What the form of an intervention sends.
#[derive(Deserialize)]
pub(super) struct Wanted {
    action: Action,
    #[serde(default)]
    text: String,
    #[serde(default)]
    key: String,
    /// Also in every agent below it that has not ended.
    #[serde(default)]
    below: bool,
}

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.trim().is_empty())
}

/// Intervenes in an agent, and in all below it if that is wanted.
pub(super) async fn intervene(
    caller: Caller,
    headers: HeaderMap,
    Id(id): Id<AgentId>,
    Fields(wanted): Fields<Wanted>,
) -> Shown {
    let Wanted { action, text, key, below } = wanted;
    let text = some(text);
    let branch = if below { working_below(&caller, id).await? } else { Vec::new() };
    let own = interventions::intervene(
        caller.clone(),
        Id(id),
        IdempotencyKey::of_form(key.clone()),
        Body(Intervene { action, text: text.clone() }),
    );
    let mut concerned = 0;
    match own.await {
        Ok(_) => concerned += 1,
        // It rests; those below it may not.
        Err(problem) if branch.is_empty() || problem.document.status != StatusCode::CONFLICT.as_u16() => {
            return Err(problem);
        }
        Err(_) => {}
    }
    for agent in branch {
        let key = IdempotencyKey::of_form(format!("{key}/{agent}"));
        let body = Body(Intervene { action, text: text.clone() });
        // One that has ended meanwhile needs no more.
        concerned +=
            usize::from(interventions::intervene(caller.clone(), Id(agent), key, body).await.is_ok());
    }
    let agents = if concerned == 1 { "1 agent".to_owned() } else { format!("{concerned} agents") };
    Ok(done(&headers, &format!("/console/agents/{id}"), &format!("{action}: {agents}.")))
}

/// The agents below this one that are at work or wait, those on top first.
async fn working_below(caller: &Caller, id: AgentId) -> Result<Vec<AgentId>, Problem> {
    let Json(shown) = agents::tree(caller.clone(), Id(id), Filter(ShowTree { at: None })).await?;
    let ShownTree::Now(tree) = shown else { return Ok(Vec::new()) };
    let mut below: HashSet<AgentId> = HashSet::from([id]);
    let mut working = Vec::new();
    // Parents come before their children.
    for agent in tree.into_agents() {
        if agent.parent.is_some_and(|parent| below.contains(&parent)) {
            below.insert(agent.id);
            if matches!(agent.status, ShownStatus::Queued | ShownStatus::Running | ShownStatus::Waiting) {
                working.push(agent.id);
            }
        }
    }
    Ok(working)
}

/// What the form of a message sends.
#[derive(Deserialize)]
pub(super) struct Said {
    text: String,
    #[serde(default)]
    key: String,
    /// Read before the next model call, whatever the agent's kind does with messages.
    #[serde(default)]
    steer: bool,
}

/// Writes to an agent.
pub(super) async fn send(
    caller: Caller,
    headers: HeaderMap,
    Id(id): Id<AgentId>,
    Fields(Said { text, key, steer }): Fields<Said>,
) -> Shown {
    let key = IdempotencyKey::of_form(key);
    if steer {
        let body = Body(Intervene { action: Action::Steer, text: some(text) });
        let _ = interventions::intervene(caller, Id(id), key, body).await?;
    } else {
        let _ = messages::send(caller, Id(id), key, Body(SendMessage { message: text })).await?;
    }
    Ok(done(&headers, &format!("/console/agents/{id}"), "Sent."))
}

/// What the form of a new agent sends.
#[derive(Deserialize)]
pub(super) struct New {
    #[serde(default)]
    kind: String,
    text: String,
    #[serde(default)]
    key: String,
}

/// Creates an agent, at work on what it is told.
pub(super) async fn create(view: View, Fields(New { kind, text, key }): Fields<New>) -> Shown {
    let new = CreateAgent { kind: some(kind), title: None, message: Some(text), parent: None };
    let agent: Agent = agents::created(&view.caller, &IdempotencyKey::of_form(key), new).await?;
    let page = format!("/console/agents/{}", agent.id);
    Ok(if view.is_part() { redirect(&page) } else { Redirect::to(&page).into_response() })
}

/// What a form comes to. The page is refreshed by the hint of what changed; the form gets a key for what is sent next.
fn done(headers: &HeaderMap, page: &str, said: &str) -> Response {
    if is_htmx(headers) {
        let told = serde_json::json!({ "sent": { "key": new_key(), "said": said } }).to_string();
        return (StatusCode::NO_CONTENT, [("hx-trigger", told)]).into_response();
    }
    Redirect::to(page).into_response()
}

fn redirect(page: &str) -> Response {
    (StatusCode::NO_CONTENT, [("hx-redirect", page.to_owned())]).into_response()
}
