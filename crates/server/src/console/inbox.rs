//! The inbox: all that agents ask their owner, in all trees.

use std::collections::HashMap;

use askama::Template;
use axum::{
    Json,
    response::{IntoResponse, Redirect},
};
use entourage_api::{AnswerQuestion, ListQuestions, Proposal, Question, QuestionOrder};
use entourage_types::{About, AgentId, Answer, QuestionId, QuestionStatus, Verdict};
use serde::Deserialize;

use super::{
    agent,
    arguments::{self, Sort},
    chats, exact, filters,
    given::{condition, some},
    named::Names,
    place::Place,
    shell::{Fields, Page, Section, Shown, View},
};
use crate::{
    Problem,
    extract::{Body, Filter, Id},
    routes::v1::questions,
};

/// How many questions are on a page.
const EACH: u32 = 30;

#[derive(Deserialize, Default)]
pub(super) struct At {
    cursor: Option<String>,
    /// The tree to which the questions belong.
    root: Option<String>,
}

#[derive(Template)]
#[template(path = "inbox.html")]
struct Inbox {
    tab: Tab,
    questions: Vec<Question>,
    next: Option<String>,
    place: Place,
    /// The tree to which they belong, and what it is called, if that is a condition.
    root: Option<(AgentId, String)>,
}

impl Inbox {
    /// The query of the other tab.
    fn narrowed(&self) -> String {
        self.root.as_ref().map_or_else(String::new, |(root, _)| format!("?root={root}"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tab {
    Open,
    Answered,
}

impl Tab {
    fn is_open(self) -> bool {
        self == Self::Open
    }
}

impl Page for Inbox {
    const SECTION: Section = Section::Inbox;

    fn title(&self) -> String {
        match (self.place.is_single(), self.tab) {
            (true, _) => "Question".to_owned(),
            (false, Tab::Open) => "Inbox".to_owned(),
            (false, Tab::Answered) => "Answered".to_owned(),
        }
    }
}

/// The open questions, those due soonest first.
pub(super) async fn open(view: View, Filter(At { cursor, root }): Filter<At>) -> Shown {
    let (status, order) = (Some(QuestionStatus::Open), Some(QuestionOrder::Due));
    let root = condition("root", root)?;
    show(view, Tab::Open, ListQuestions { status, order, cursor, root, ..ListQuestions::default() }).await
}

/// All questions, newest first.
pub(super) async fn closed(view: View, Filter(At { cursor, root }): Filter<At>) -> Shown {
    let root = condition("root", root)?;
    show(view, Tab::Answered, ListQuestions { cursor, root, ..ListQuestions::default() }).await
}

async fn show(view: View, tab: Tab, wanted: ListQuestions) -> Shown {
    let (root, wanted) = (wanted.root, ListQuestions { limit: Some(EACH), ..wanted });
    let Json(page) = questions::list(view.caller.clone(), Filter(wanted)).await?;
    let (mut questions, next) = (page.data, page.next_cursor);
    if tab == Tab::Answered {
        questions.retain(|question| question.status != QuestionStatus::Open);
    }
    let root = match root {
        Some(root) => Some((root, Names::of(&view.caller, &[root]).await.title(&root))),
        None => None,
    };
    let place = Place::Inbox(root.as_ref().map(|(root, _)| *root));
    view.show(Inbox { tab, questions, next, place, root }).await
}

/// One question.
pub(super) async fn one(view: View, Id(id): Id<QuestionId>) -> Shown {
    let Json(question) = questions::get(view.caller.clone(), Id(id)).await?;
    let tab = if question.status == QuestionStatus::Open { Tab::Open } else { Tab::Answered };
    view.show(Inbox { tab, questions: vec![question], next: None, place: Place::Alone, root: None }).await
}

/// What a form says of a question.
#[derive(Deserialize)]
pub(super) struct Given {
    /// Which button was pressed.
    act: Act,
    #[serde(default)]
    text: String,
    /// The chosen option.
    option: Option<String>,
    /// The arguments in JSON, as they were edited.
    #[serde(default)]
    arguments: String,
    /// The digest of the arguments that were shown.
    digest: Option<String>,
    /// The agent or the chat on whose page the question stands; the inbox without one.
    agent: Option<AgentId>,
    chat: Option<AgentId>,
    /// The tree to which the inbox is narrowed.
    root: Option<AgentId>,
    /// Whether the arguments were edited as JSON, or in a form.
    #[serde(default)]
    edit_as: EditAs,
    /// The fields of that form.
    #[serde(flatten)]
    more: HashMap<String, String>,
}

/// How arguments are edited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EditAs {
    Form,
    #[default]
    Json,
}

/// The buttons of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Act {
    Say,
    Decline,
    Approve,
    ApproveAlways,
    Edit,
    Reject,
    Retry,
    GiveUp,
}

impl Given {
    fn answer(self, of: Option<&Proposal>) -> Result<AnswerQuestion, Problem> {
        let Self { act, text, option, arguments: json, digest, edit_as, more, .. } = self;
        let verdict = |verdict| AnswerQuestion { verdict: Some(verdict), ..AnswerQuestion::default() };
        Ok(match act {
            Act::Say => {
                let answer = match (option, some(text)) {
                    (Some(_), Some(_)) => {
                        let why = "an option is chosen and words are written, and only one of them can be the answer: clear the \
                                   words, or write them without an option";
                        return Err(Problem::bad_body(why));
                    }
                    (option, words) => option.or(words),
                };
                let answer =
                    answer.ok_or_else(|| Problem::bad_body("the answer is empty: write one, or decline"))?;
                AnswerQuestion { answer: Some(answer), ..AnswerQuestion::default() }
            }
            Act::Decline => AnswerQuestion { decline: true, ..AnswerQuestion::default() },
            Act::Approve | Act::ApproveAlways | Act::Edit if digest.is_none() => {
                return Err(Problem::bad_body("the form does not say which call was shown: reload the page"));
            }
            Act::Approve => AnswerQuestion { digest, ..verdict(Verdict::Approve) },
            Act::ApproveAlways => AnswerQuestion { digest, ..verdict(Verdict::ApproveAlways) },
            Act::Edit => {
                let edited = match (edit_as, of) {
                    (EditAs::Form, Some(proposal)) => arguments::read(proposal, &more)?,
                    _ => exact::json(&json)?,
                };
                AnswerQuestion { arguments: Some(edited), digest, ..verdict(Verdict::Approve) }
            }
            Act::Reject => AnswerQuestion { reason: some(text), ..verdict(Verdict::Reject) },
            Act::Retry => verdict(Verdict::Retry),
            Act::GiveUp => verdict(Verdict::GiveUp),
        })
    }
}

/// Answers a question, and shows what is left.
pub(super) async fn answer(view: View, Id(id): Id<QuestionId>, Fields(given): Fields<Given>) -> Shown {
    let place = Place::of_form(given.agent, given.chat, given.root);
    // A form is read as what the tool takes.
    let proposal = match given.edit_as {
        EditAs::Form if given.act == Act::Edit => {
            let Json(question) = questions::get(view.caller.clone(), Id(id)).await?;
            question.proposal
        }
        _ => None,
    };
    let wanted = given.answer(proposal.as_ref())?;
    let answered = questions::answer(view.caller.clone(), Id(id), Body(wanted.clone())).await;
    if let Err(problem) = answered
        && !was_given(&view, id, wanted).await?
    {
        return Err(problem);
    }
    if !view.is_part() {
        return Ok(Redirect::to(&format!("/console{}", place.path())).into_response());
    }
    let view = view.at(place.path());
    match place {
        Place::Inbox(root) => {
            let root = root.map(|root| root.to_string());
            open(view, Filter(At { root, ..At::default() })).await
        }
        Place::Alone => open(view, Filter(At::default())).await,
        Place::Agent(id) => agent::show(view, Id(id), Filter(agent::At::default())).await,
        Place::Chat(id) => chats::one(view, Id(id), Filter(chats::At::default())).await,
    }
}

/// Whether the same person has given this answer already: a form may be sent twice.
async fn was_given(view: &View, id: QuestionId, wanted: AnswerQuestion) -> Result<bool, Problem> {
    let question = view.caller.client.question(id).await?;
    let is_own = question.answered_by.is_none();
    let of = |answer| match answer {
        Answer::Approve { arguments, always, digest: _ } => {
            Answer::Approve { arguments, always, digest: None }
        }
        other => other,
    };
    Ok(is_own && question.answer.map(of) == Some(of(questions::given(wanted)?)))
}
