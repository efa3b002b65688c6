//! An agent: every item of its transcript, why it does not go on, and the forms that change that.

use askama::Template;
use axum::Json;
use entourage_api::{
    Agent, Author, Entry as Said, Item, ItemBody, Level, ListItems, ListMessages, ListQuestions, ModelUse,
    OutputEffect, PageQuery, Question, Role, Run, ToolCall,
};
use entourage_types::{About, AgentId, CallId, QuestionId, QuestionStatus, ShownStatus};
use serde::Deserialize;

use super::{
    act::Acts,
    arguments::Sort,
    budget::Beside,
    filters,
    hold::Hold,
    named::tree_of,
    place::Place,
    reason::{Reads, reads},
    shell::{Page, Section, Shown, Shows, View, new_key},
};
use crate::{
    extract::{Filter, Id},
    page::checked_number,
    routes::v1::{agents, messages, questions, runs},
};

/// How many items are on a page.
const EACH: u64 = 50;
/// How many runs are named.
const RUNS: u32 = 5;

#[derive(Deserialize, Default)]
pub(super) struct At {
    /// The first item; the newest ones without it.
    from: Option<u64>,
}

#[derive(Template)]
#[template(path = "agent.html")]
struct Transcript {
    place: Place,
    agent: Agent,
    /// What its tree is called, if it is not its root.
    root: Option<String>,
    hold: Hold,
    reads: Reads,
    entries: Vec<Entry>,
    questions: Vec<Question>,
    /// The newest ones.
    runs: Vec<Run>,
    /// The messages that it has not read.
    unread: Vec<Said>,
    /// The first item on the page before this one.
    earlier: Option<u64>,
    later: Option<u64>,
}

/// An item as it is shown, with the outputs of its calls.
struct Entry {
    seq: u64,
    at: entourage_types::Time,
    /// Whether a session ends before it.
    begins_session: Option<u32>,
    body: Shape,
}

impl Entry {
    /// Whether code made its calls, and not the model.
    fn is_of_code(&self) -> bool {
        matches!(&self.body, Shape::Turn { calls, .. } if calls.first().is_some_and(|call| call.by_code))
    }
}

enum Shape {
    Message {
        from: String,
        /// The agent that wrote it.
        path: Option<String>,
        text: String,
    },
    Turn {
        text: String,
        calls: Vec<Call>,
        used: Option<ModelUse>,
    },
    /// The output of a call that is not on the page.
    Output {
        tool: String,
        text: String,
        error: bool,
    },
    Decision {
        name: String,
        text: String,
    },
    Digest {
        text: String,
    },
    Context {
        sections: Vec<(String, String)>,
    },
    Notice {
        level: &'static str,
        text: String,
        cause: Option<String>,
    },
}

struct Call {
    id: CallId,
    tool: String,
    arguments: String,
    /// Made by code, not by the model.
    by_code: bool,
    output: Option<Returned>,
    /// The agent that it started.
    path: Option<String>,
}

/// What a call returned.
struct Returned {
    text: String,
    error: bool,
}

impl Page for Transcript {
    const SECTION: Section = Section::Trees;

    fn title(&self) -> String {
        filters::title_of(&self.agent.title, &self.agent.kind).to_owned()
    }

    fn shows(&self) -> Shows {
        Shows::Tree(self.agent.root)
    }

    fn below(&self, _: &View) -> askama::Result<String> {
        spoken_to(&self.agent, false)
    }
}

/// The form with which a person writes to the agent, and what its model says meanwhile.
#[derive(Template)]
#[template(path = "composer.html")]
struct Composer {
    agent: AgentId,
    key: String,
    is_chat: bool,
}

/// The forms below an agent: a message, and all interventions. One that has ended for good takes neither.
pub(super) fn spoken_to(agent: &Agent, is_chat: bool) -> askama::Result<String> {
    if agent.status == ShownStatus::Cancelled {
        return Ok(String::new());
    }
    let agent = agent.id;
    let composer = Composer { agent, key: new_key(), is_chat }.render()?;
    Ok(composer + &Acts::of(agent).render()?)
}

pub(super) async fn show(view: View, Id(id): Id<AgentId>, Filter(At { from }): Filter<At>) -> Shown {
    let caller = &view.caller;
    let Json(agent) = agents::get(caller.clone(), Id(id)).await?;
    let first = match from {
        Some(from) => checked_number("from", from)?,
        None => agent.items.saturating_sub(EACH),
    };
    let limit = u32::try_from(EACH).ok();
    let Json(page) = agents::items(caller.clone(), Id(id), Filter(ListItems { from: first, limit })).await?;
    let entries = entries(page.data);
    let wanted =
        ListQuestions { status: Some(QuestionStatus::Open), agent: Some(id), ..ListQuestions::default() };
    let Json(asked) = questions::list(caller.clone(), Filter(wanted)).await?;
    let stands = |id: &QuestionId| asked.data.iter().any(|question| question.id == *id);
    let hold = Hold::of(caller, &agent, Beside::Agents, stands).await?;
    let wanted = ListMessages { limit: Some(1), ..ListMessages::default() };
    let Json(said) = messages::transcript(caller.clone(), Id(id), Filter(wanted)).await?;
    let unread =
        said.data.into_iter().filter(|said| said.role == Role::User && said.item_seq.is_none()).collect();
    let wanted = PageQuery { limit: Some(RUNS), cursor: None };
    let Json(runs) = runs::list(caller.clone(), Id(id), Filter(wanted)).await?;
    let root = tree_of(caller, &agent).await;
    let earlier = (first > 0).then(|| first.saturating_sub(EACH));
    let later = (page.next_from < agent.items).then_some(page.next_from);
    view.show(Transcript {
        reads: reads(agent.status, hold.reason.as_ref()),
        hold,
        entries,
        questions: asked.data,
        place: Place::Agent(id),
        root,
        unread,
        runs: runs.data,
        earlier,
        later,
        agent,
    })
    .await
}

/// The items as they are shown: each call with its output, in its turn.
fn entries(items: Vec<Item>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut session = None;
    for Item { seq, at, session: of, body, .. } in items {
        let begins_session = (session.is_some_and(|session| session != of)).then_some(of);
        session = Some(of);
        let body = match body {
            ItemBody::Message { from, text, .. } => {
                let path = match &from {
                    Author::Agent { id, .. } => Some(format!("/console/agents/{id}")),
                    _ => None,
                };
                Shape::Message { from: author(from), path, text: filters::cut(text) }
            }
            ItemBody::Turn { text, calls, used, .. } => Shape::Turn {
                text: filters::cut(text),
                calls: calls.into_iter().map(|made| call(made, false)).collect(),
                used,
            },
            ItemBody::SubCalls { calls, .. } => {
                let text = String::new();
                Shape::Turn {
                    text,
                    calls: calls.into_iter().map(|made| call(made, true)).collect(),
                    used: None,
                }
            }
            ItemBody::Output { call, tool, text, error, effect, .. }
            | ItemBody::SubOutput { call, tool, text, error, effect, .. } => {
                let text = filters::cut(text);
                match made(&mut entries, call) {
                    Some(made) => {
                        made.output = Some(Returned { text, error });
                        if let Some(OutputEffect::Delegated(task)) = effect {
                            made.path = Some(format!("/console/id/{task}"));
                        }
                        continue;
                    }
                    None => Shape::Output { tool, text, error },
                }
            }
            ItemBody::Decision { name, value, refused, why, .. } => {
                let text = value.map(|value| filters::pretty_json(&value)).or(refused).unwrap_or_default();
                let text = [text, why.unwrap_or_default()].join("\n");
                Shape::Decision { name, text: text.trim().to_owned() }
            }
            ItemBody::Digest { text, .. } => Shape::Digest { text: filters::cut(text) },
            ItemBody::Context { entries } => {
                let section = |entry: entourage_api::ContextEntry| {
                    (entry.section.to_string(), filters::cut(entry.text))
                };
                Shape::Context { sections: entries.into_iter().map(section).collect() }
            }
            ItemBody::Notice { level, text, cause, .. } => {
                let level = match level {
                    Level::Info => "info",
                    Level::Warning => "warning",
                    Level::Error => "error",
                };
                Shape::Notice { level, text, cause }
            }
        };
        entries.push(Entry { seq, at, begins_session, body });
    }
    entries
}

fn author(from: Author) -> String {
    match from {
        Author::User => "You".to_owned(),
        Author::Agent { kind, .. } => kind,
        Author::Trigger { name, .. } => format!("trigger {name}"),
    }
}

fn call(ToolCall { id, tool, arguments, .. }: ToolCall, by_code: bool) -> Call {
    Call {
        id,
        tool,
        arguments: filters::cut(filters::pretty_json(&arguments)),
        by_code,
        output: None,
        path: None,
    }
}

/// The call of this id, if it is on the page.
fn made(entries: &mut [Entry], id: CallId) -> Option<&mut Call> {
    entries.iter_mut().rev().find_map(|entry| match &mut entry.body {
        Shape::Turn { calls, .. } => calls.iter_mut().find(|call| call.id == id),
        _ => None,
    })
}
