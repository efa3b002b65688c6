//! The feed: what the user agent wrote about all goals, each time that it was set to work on it.

use askama::Template;
use axum::{
    Json,
    response::{IntoResponse, Redirect},
};
use entourage_api::{
    Agent, Author, FindSessions, FireTrigger, Item, ItemBody, ListAgents, ListItems, ListMessages, Role,
    Session,
};
use entourage_types::{AgentId, ShownStatus, Time};
use serde::Deserialize;

use super::{
    filters,
    shell::{Fields, Page, Section, Shown, View, new_key},
};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IdempotencyKey, NoParameters},
    routes::v1::{agents, goals, memory, messages, schedules},
};

/// The trigger that has the user agent write a feed.
const TRIGGER: &str = "feed_generation";
/// The kind of the user agent.
const KIND: &str = "user_agent";
/// How many sessions of the user agent are looked at for a page.
const EACH: u32 = 20;
/// Among how many items of a session its last trigger is looked for.
const ITEMS: u32 = 200;
/// How many messages one feed has at most.
const MESSAGES: u32 = 10;

#[derive(Deserialize)]
pub(super) struct At {
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "feed.html")]
struct Feed {
    /// The user agent, once there is one.
    agent: Option<Agent>,
    entries: Vec<Written>,
    next: Option<String>,
}

/// What was written at one time.
struct Written {
    session: Session,
    texts: Vec<String>,
    at: Time,
}

/// The form that has one written now.
#[derive(Template)]
#[template(path = "write_feed.html")]
struct Write {
    key: String,
}

impl Page for Feed {
    const SECTION: Section = Section::Goals;

    fn title(&self) -> String {
        "Feed".to_owned()
    }

    fn below(&self, _: &View) -> askama::Result<String> {
        Write { key: new_key() }.render()
    }
}

pub(super) async fn show(view: View, Filter(At { cursor }): Filter<At>) -> Shown {
    let caller = &view.caller;
    let agent = user_agent(caller).await?;
    let (mut entries, mut next) = (Vec::new(), None);
    if let Some(agent) = &agent {
        let wanted =
            FindSessions { agent: Some(agent.id), limit: Some(EACH), cursor, ..FindSessions::default() };
        let Json(page) = memory::all_sessions(caller.clone(), Filter(wanted)).await?;
        for session in page.data.into_iter().filter(|session| session.trigger.as_deref() == Some(TRIGGER)) {
            entries.push(written(caller, session).await?);
        }
        next = page.next_cursor;
    }
    view.show(Feed { agent, entries, next }).await
}

/// The user agent, if there is one: a page that is shown creates none.
async fn user_agent(caller: &Caller) -> Result<Option<Agent>, Problem> {
    let wanted = ListAgents { roots: true, kind: Some(KIND.to_owned()), ..ListAgents::default() };
    let Json(page) = agents::list(caller.clone(), Filter(wanted)).await?;
    Ok(page.data.into_iter().find(|agent| agent.status != ShownStatus::Cancelled))
}

/// What the agent sent after the trigger that closed the session.
async fn written(caller: &Caller, session: Session) -> Result<Written, Problem> {
    let (id, (first, last)) = (session.agent, session.items);
    let from = first.max(last.saturating_sub(u64::from(ITEMS) - 1));
    let Json(items) =
        agents::items(caller.clone(), Id(id), Filter(ListItems { from, limit: Some(ITEMS) })).await?;
    let is_trigger = |item: &Item| match &item.body {
        ItemBody::Message { from: Author::Trigger { name, .. }, .. } => name == TRIGGER,
        _ => false,
    };
    let within = items.data.iter().filter(|item| item.seq <= last);
    let since = within.filter(|item| is_trigger(item)).map(|item| item.seq).max().unwrap_or(first);
    let wanted = ListMessages { before: Some(last + 1), limit: Some(MESSAGES), ..ListMessages::default() };
    let Json(said) = messages::transcript(caller.clone(), Id(id), Filter(wanted)).await?;
    let sent = said.data.into_iter().filter(|entry| {
        entry.role == Role::Assistant && entry.item_seq.is_some_and(|seq| (since..=last).contains(&seq))
    });
    let at = session.completed;
    Ok(Written { session, texts: sent.map(|entry| filters::cut(entry.text)).collect(), at })
}

#[derive(Deserialize)]
pub(super) struct Wanted {
    #[serde(default)]
    key: String,
}

/// Sets the user agent, which is created if there is none, to work on a feed.
pub(super) async fn write(view: View, Fields(Wanted { key }): Fields<Wanted>) -> Shown {
    let caller = &view.caller;
    let Json(agent) = goals::user_agent(caller.clone(), Filter(NoParameters {})).await?;
    let id: AgentId = agent.id;
    let trigger = FireTrigger { name: TRIGGER.to_owned(), payload: serde_json::Value::Null, text: None };
    let key = IdempotencyKey::of_form(key)?;
    let _ = schedules::trigger(caller.clone(), Id(id), key, Body(trigger)).await?;
    Ok(Redirect::to("/console/feed").into_response())
}
