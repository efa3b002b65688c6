//! What a person does to an agent: writes to it, or intervenes.

use std::collections::HashSet;

use askama::Template;
use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Redirect, Response},
};
use entourage_api::{
    Agency, Agent, CreateAgent, Intervene, Kind, Respond, SendMessage, ShowTree, ShownTree, Thread,
};
use entourage_engine::USER_AGENT;
use entourage_types::{Action, AgentId, ProgramName, Section};
use serde::Deserialize;

use super::concerned::{Concerned, agents_of, is_at_work};
use super::filters;
use super::given::{lines, some};
use super::shell::{Fields, Shown, View, is_htmx, new_key};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IdempotencyKey, Names},
    routes::v1::{agencies, agents, interventions, kinds, messages},
    state::AppState,
};

/// How a thread of an agency names the person, who has given no other name.
const USER: &str = "user";

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
    key: String,
    kinds: Vec<Kind>,
    agencies: Vec<Agency>,
    /// Whether the answer is read as a chat.
    is_chat: bool,
}

impl NewAgent {
    /// With whom a person can begin. What is asked for without what surrounds it has no form.
    pub(super) async fn of(view: &View, is_chat: bool) -> Result<Option<Self>, Problem> {
        if view.is_part() {
            return Ok(None);
        }
        let Json(kinds) = kinds::list(view.caller.clone()).await?;
        let kinds = kinds.data.into_iter().filter(|kind| !kind.gone && can_begin(kind)).collect();
        let Json(agencies) = agencies::list(view.caller.clone()).await;
        Ok(Some(Self { key: new_key(), kinds, agencies: agencies.data, is_chat }))
    }
}

/// Whether a person can begin with this kind: others work for a goal or on the documents of a project, and the user agent
/// is there already.
fn can_begin(kind: &Kind) -> bool {
    let is_of_goal = kind.context.sections.contains(&Section::Goal);
    !is_of_goal && kind.program.as_str() != ProgramName::ACT && kind.name != USER_AGENT
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
    /// Whether the form stands in a chat.
    #[serde(default)]
    chat: bool,
}

/// The page of an agent, or of the chat with it.
fn page_of(agent: AgentId, is_chat: bool) -> String {
    format!("/console/{}/{agent}", if is_chat { "chats" } else { "agents" })
}

/// Intervenes in an agent, and in all below it if that is wanted.
pub(super) async fn intervene(
    caller: Caller,
    headers: HeaderMap,
    Id(id): Id<AgentId>,
    Fields(wanted): Fields<Wanted>,
) -> Shown {
    let Wanted { action, text, key, below, chat } = wanted;
    let text = some(lines(&text));
    // Before it: what it ends is not there afterwards.
    let concerned = match action {
        Action::Stop | Action::Delete => Some(Concerned::of(&caller, id).await?),
        _ => None,
    };
    let branch = if below { working_below(&caller, id).await? } else { Vec::new() };
    let keyed = |agent| IdempotencyKey::of_form(format!("{key}/{agent}")).map(|key| (agent, key));
    let branch =
        branch.into_iter().map(keyed).collect::<Result<Vec<(AgentId, IdempotencyKey)>, Problem>>()?;
    let own = interventions::intervene(
        caller.clone(),
        Id(id),
        IdempotencyKey::of_form(key.clone())?,
        Body(Intervene { action, text: text.clone() }),
    );
    let mut reached = 0;
    match own.await {
        Ok(_) => reached += 1,
        // It rests; those below it may not.
        Err(problem) if branch.is_empty() || problem.document.status != StatusCode::CONFLICT.as_u16() => {
            return Err(problem);
        }
        Err(_) => {}
    }
    for (agent, key) in branch {
        let body = Body(Intervene { action, text: text.clone() });
        // One that has ended meanwhile needs no more.
        reached += u64::from(interventions::intervene(caller.clone(), Id(agent), key, body).await.is_ok());
    }
    let said = match (action, concerned) {
        (Action::Stop, Some(concerned)) => concerned.said_of_stop(below),
        (Action::Delete, Some(concerned)) => concerned.said_of_deletion(),
        _ => format!("{action}: {}.", agents_of(reached)),
    };
    Ok(done(&headers, &page_of(id, chat), &said))
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
            if is_at_work(agent.status) {
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
    #[serde(default)]
    chat: bool,
}

/// Writes to an agent.
pub(super) async fn send(
    caller: Caller,
    headers: HeaderMap,
    Id(id): Id<AgentId>,
    Fields(Said { text, key, steer, chat }): Fields<Said>,
) -> Shown {
    let key = IdempotencyKey::of_form(key)?;
    if steer {
        let body = Body(Intervene { action: Action::Steer, text: some(lines(&text)) });
        let _ = interventions::intervene(caller, Id(id), key, body).await?;
    } else {
        let _ = messages::send(caller, Id(id), key, Body(SendMessage { message: lines(&text) })).await?;
    }
    Ok(done(&headers, &page_of(id, chat), "Sent."))
}

/// What the form of a new agent sends.
#[derive(Deserialize)]
pub(super) struct New {
    /// With whom: the default, a kind, or an agency.
    #[serde(default)]
    with: String,
    text: String,
    #[serde(default)]
    key: String,
    #[serde(default)]
    chat: bool,
}

/// Creates an agent, at work on what it is told, or writes to an agency in a new chat.
pub(super) async fn create(
    view: View,
    State(served): State<AppState>,
    Fields(New { with, text, key, chat }): Fields<New>,
) -> Shown {
    let agent = match with.split_once('=') {
        Some(("agency", to)) => written_to(&view.caller, served, to, text, key).await?,
        Some(("kind", kind)) => asked(&view.caller, Some(kind.to_owned()), text, key).await?,
        _ if with.is_empty() => asked(&view.caller, None, text, key).await?,
        _ => return Err(Problem::bad_body("choose with whom from the list")),
    };
    Ok(led(&view, &page_of(agent, chat)))
}

async fn asked(caller: &Caller, kind: Option<String>, text: String, key: String) -> Result<AgentId, Problem> {
    let new = CreateAgent { kind, title: None, message: Some(lines(&text)), parent: None };
    let agent: Agent = agents::created(caller, &IdempotencyKey::of_form(key)?, new).await?;
    Ok(agent.id)
}

/// Writes to an agency, or to an agent of one, and returns the agent that reads it.
async fn written_to(
    caller: &Caller,
    served: AppState,
    to: &str,
    text: String,
    key: String,
) -> Result<AgentId, Problem> {
    let (agency, agent) = to.split_once('/').map_or((to, None), |(agency, agent)| (agency, Some(agent)));
    // The same form twice is one chat.
    let chat = if key.is_empty() { new_key() } else { key.clone() };
    let said = Respond {
        message: lines(&text),
        chat_id: Some(chat.clone()),
        agent: agent.map(str::to_owned),
        sender_name: None,
        max_steps: None,
        current_depth: 0,
        max_recursion_depth: None,
        response_validator: None,
        text_only: false,
        // The answer is on the page of the chat: nobody waits for it here.
        stream: true,
        detached: Some(true),
    };
    let key = IdempotencyKey::of_form(key)?;
    let _ = agencies::respond(caller.clone(), Id(agency.to_owned()), key, State(served), Body(said)).await?;
    let Json(threads) = agencies::threads(caller.clone(), Names(agency.to_owned(), chat)).await?;
    let own = threads.data.into_iter().find(|thread: &Thread| thread.sender == USER);
    own.map(|thread| thread.id).ok_or_else(|| Problem::internal("the agency has not taken the message"))
}

/// What a form comes to. The page is refreshed by the hint of what changed; the form gets a key for what is sent next.
pub(super) fn done(headers: &HeaderMap, page: &str, said: &str) -> Response {
    if is_htmx(headers) {
        return sent(&serde_json::json!({ "key": new_key(), "said": said }));
    }
    Redirect::to(page).into_response()
}

/// The event `sent` for the script of a page: what to say, and the form's next key, if it is sent again.
fn sent(detail: &serde_json::Value) -> Response {
    let event = serde_json::json!({ "sent": detail }).to_string();
    (StatusCode::NO_CONTENT, [("hx-trigger", event)]).into_response()
}

/// The response to a form without changes.
pub(super) fn unchanged(view: &View, page: &str) -> Response {
    if view.is_part() {
        return sent(&serde_json::json!({ "said": "Nothing has changed: there is nothing to save." }));
    }
    Redirect::to(page).into_response()
}

/// What a form comes to that opens another page, which the script of a page is told to do.
pub(super) fn led(view: &View, page: &str) -> Response {
    if view.is_part() {
        (StatusCode::NO_CONTENT, [("hx-redirect", page.to_owned())]).into_response()
    } else {
        Redirect::to(page).into_response()
    }
}
