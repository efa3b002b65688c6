//! What a person does to an agent: writes to it, or intervenes.

use askama::Template;
use axum::response::{IntoResponse, Redirect, Response};
use entourage_api::{Agent, CreateAgent, Intervene, SendMessage};
use entourage_types::{Action, AgentId};
use serde::Deserialize;

use super::shell::{Fields, Shown, View, is_htmx, new_key};
use crate::{
    extract::{Body, Caller, Id, IdempotencyKey},
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
    /// The page to go back to.
    #[serde(default)]
    back: String,
}

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.trim().is_empty())
}

/// Intervenes in an agent.
pub(super) async fn intervene(
    caller: Caller,
    headers: axum::http::HeaderMap,
    Id(id): Id<AgentId>,
    Fields(wanted): Fields<Wanted>,
) -> Shown {
    let Wanted { action, text, key, back } = wanted;
    let deletes_page = action == Action::Delete;
    let body = Body(Intervene { action, text: some(text) });
    let _ = interventions::intervene(caller, Id(id), IdempotencyKey::of_form(key), body).await?;
    let page = if back.starts_with("/console/trees/") || deletes_page {
        format!("/console/trees/{id}")
    } else {
        format!("/console/agents/{id}")
    };
    Ok(done(&headers, &page))
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
    headers: axum::http::HeaderMap,
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
    Ok(done(&headers, &format!("/console/agents/{id}")))
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
fn done(headers: &axum::http::HeaderMap, page: &str) -> Response {
    if is_htmx(headers) {
        let told = format!("{{\"sent\":{{\"key\":\"{}\"}}}}", new_key());
        return (axum::http::StatusCode::NO_CONTENT, [("hx-trigger", told)]).into_response();
    }
    Redirect::to(page).into_response()
}

fn redirect(page: &str) -> Response {
    (axum::http::StatusCode::NO_CONTENT, [("hx-redirect", page.to_owned())]).into_response()
}
