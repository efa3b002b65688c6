//! Chats: what a person and an agent say to each other, and who works for the agent meanwhile.

use std::collections::HashMap;

use askama::Template;
use axum::Json;
use entourage_api::{
    Agent, Child, Entry, ListAgents, ListChildren, ListMessages, ListQuestions, Question, Role,
};
use entourage_types::{About, AgentId, QuestionId, QuestionStatus, ShownStatus};
use serde::Deserialize;

use super::{
    act::NewAgent,
    agent::spoken_to,
    arguments::Sort,
    budget::Beside,
    filters,
    given::some,
    hold::Hold,
    place::Place,
    reason::{Reads, reads},
    shell::{Page, Section, Shown, Shows, View},
    trees::latest,
};
use crate::{
    Problem,
    extract::{Filter, Id},
    routes::v1::{agents, messages, questions},
};

/// How many chats are on a page.
const EACH: u32 = 30;
/// How many agents that work for another one are listed beside it.
const BESIDE: u32 = 30;
/// How many open questions of a tree can be answered where they were asked, and of how many others the answer is shown.
const QUESTIONS: u32 = 200;

#[derive(Deserialize)]
pub(super) struct Wanted {
    text: Option<String>,
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "chats.html")]
struct Chats {
    rows: Vec<Row>,
    text: String,
    next: Option<String>,
    new: Option<NewAgent>,
}

/// An agent that a person has talked to, and the last that was said.
struct Row {
    agent: Agent,
    last: Option<Entry>,
}

impl Page for Chats {
    const SECTION: Section = Section::Chats;

    fn title(&self) -> String {
        "Chats".to_owned()
    }

    fn below(&self, _: &View) -> askama::Result<String> {
        self.new.as_ref().map_or_else(|| Ok(String::new()), Template::render)
    }
}

pub(super) async fn all(view: View, Filter(Wanted { text, cursor }): Filter<Wanted>) -> Shown {
    let caller = &view.caller;
    let text = text.and_then(some);
    let list = ListAgents { text: text.clone(), limit: Some(EACH), cursor, ..ListAgents::default() };
    let page = latest(caller, list).await?;
    let mut rows = Vec::with_capacity(page.data.len());
    // Nobody can write to an agent that has ended for good.
    for agent in page.data.into_iter().filter(|agent| agent.status != ShownStatus::Cancelled) {
        let wanted = ListMessages { limit: Some(1), ..ListMessages::default() };
        let Json(said) = messages::transcript(caller.clone(), Id(agent.id), Filter(wanted)).await?;
        rows.push(Row { agent, last: said.data.into_iter().last() });
    }
    let new = NewAgent::of(&view, true).await?;
    view.show(Chats { rows, text: text.unwrap_or_default(), next: page.next_cursor, new }).await
}

#[derive(Deserialize, Default)]
pub(super) struct At {
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "chat.html")]
struct Chat {
    agent: Agent,
    entries: Vec<Entry>,
    /// Those of its tree that are open, and the last ones that are not.
    questions: HashMap<QuestionId, Question>,
    place: Place,
    hold: Hold,
    reads: Reads,
    /// Those that work for it, newest first.
    below: Vec<Child>,
    has_more_below: bool,
    earlier: Option<String>,
    is_latest: bool,
}

impl Chat {
    /// The question, if it is open.
    fn open(&self, id: &QuestionId) -> Option<&Question> {
        self.questions.get(id).filter(|question| question.status == QuestionStatus::Open)
    }

    /// How the question ended, and with which words, if any.
    fn answer(&self, id: &QuestionId) -> Option<(String, &str)> {
        let question = self.questions.get(id)?;
        Some((filters::how_it_ended(question), question.answer.as_deref().unwrap_or_default()))
    }
}

impl Page for Chat {
    const SECTION: Section = Section::Chats;

    fn title(&self) -> String {
        filters::title_of(&self.agent.title, &self.agent.kind).to_owned()
    }

    fn shows(&self) -> Shows {
        Shows::Tree(self.agent.root)
    }

    fn below(&self, _: &View) -> askama::Result<String> {
        spoken_to(&self.agent, true)
    }
}

/// Questions of a tree, the newest first.
async fn asked(
    view: &View,
    root: AgentId,
    status: Option<QuestionStatus>,
) -> Result<HashMap<QuestionId, Question>, Problem> {
    let wanted =
        ListQuestions { status, root: Some(root), limit: Some(QUESTIONS), ..ListQuestions::default() };
    let Json(found) = questions::list(view.caller.clone(), Filter(wanted)).await?;
    Ok(found.data.into_iter().map(|question| (question.id, question)).collect())
}

/// The chat with an agent.
pub(super) async fn one(view: View, Id(id): Id<AgentId>, Filter(At { cursor }): Filter<At>) -> Shown {
    let caller = &view.caller;
    let Json(agent) = agents::get(caller.clone(), Id(id)).await?;
    let is_latest = cursor.is_none();
    let wanted = ListMessages { cursor, ..ListMessages::default() };
    let Json(said) = messages::transcript(caller.clone(), Id(id), Filter(wanted)).await?;
    let mut questions = asked(&view, agent.root, Some(QuestionStatus::Open)).await?;
    let is_missing =
        |entry: &Entry| entry.question.is_some_and(|question| !questions.contains_key(&question));
    if said.data.iter().any(is_missing) {
        questions.extend(asked(&view, agent.root, None).await?);
    }
    let wanted = ListChildren { limit: Some(BESIDE), ..ListChildren::default() };
    let Json(below) = agents::children(caller.clone(), Id(id), Filter(wanted)).await?;
    // A question that stands there says it better.
    let stands = |id: &QuestionId| said.data.iter().any(|entry| entry.question.as_ref() == Some(id));
    let hold = Hold::of(caller, &agent, Beside::Chats, stands).await?;
    view.show(Chat {
        entries: said.data,
        earlier: said.next_cursor,
        questions,
        place: Place::Chat(id),
        reads: reads(agent.status, hold.reason.as_ref()),
        hold,
        has_more_below: below.next_cursor.is_some(),
        below: below.data,
        is_latest,
        agent,
    })
    .await
}
