//! The inbox: all that agents ask their owner, in all trees.

use askama::Template;
use axum::{
    Json,
    response::{IntoResponse, Redirect},
};
use entourage_api::{AnswerQuestion, ListQuestions, Question, QuestionOrder};
use entourage_types::{About, Answer, QuestionId, QuestionStatus, Verdict};
use serde::Deserialize;

use super::{
    filters,
    shell::{Fields, Page, Section, Shown, View},
};
use crate::{
    Problem,
    extract::{Body, Filter, Id},
    routes::v1::questions,
};

/// How many questions are on a page.
const EACH: u32 = 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct At {
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "inbox.html")]
struct Inbox {
    tab: Tab,
    questions: Vec<Question>,
    next: Option<String>,
    /// Alone on its page.
    is_single: bool,
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
        match (self.is_single, self.tab) {
            (true, _) => "Question".to_owned(),
            (false, Tab::Open) => "Inbox".to_owned(),
            (false, Tab::Answered) => "Answered".to_owned(),
        }
    }
}

/// The open questions, those due soonest first.
pub(super) async fn open(view: View, Filter(At { cursor }): Filter<At>) -> Shown {
    let (status, order) = (Some(QuestionStatus::Open), Some(QuestionOrder::Due));
    show(view, Tab::Open, ListQuestions { status, order, cursor, ..ListQuestions::default() }).await
}

/// All questions, newest first.
pub(super) async fn closed(view: View, Filter(At { cursor }): Filter<At>) -> Shown {
    show(view, Tab::Answered, ListQuestions { cursor, ..ListQuestions::default() }).await
}

async fn show(view: View, tab: Tab, wanted: ListQuestions) -> Shown {
    let wanted = ListQuestions { limit: Some(EACH), ..wanted };
    let Json(page) = questions::list(view.caller.clone(), Filter(wanted)).await?;
    let (mut questions, next) = (page.data, page.next_cursor);
    if tab == Tab::Answered {
        questions.retain(|question| question.status != QuestionStatus::Open);
    }
    view.show(&Inbox { tab, questions, next, is_single: false })
}

/// One question.
pub(super) async fn one(view: View, Id(id): Id<QuestionId>) -> Shown {
    let Json(question) = questions::get(view.caller.clone(), Id(id)).await?;
    let tab = if question.status == QuestionStatus::Open { Tab::Open } else { Tab::Answered };
    view.show(&Inbox { tab, questions: vec![question], next: None, is_single: true })
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
    fn answer(self) -> Result<AnswerQuestion, Problem> {
        let Self { act, text, option, arguments, digest } = self;
        let some = |text: String| Some(text).filter(|text| !text.trim().is_empty());
        let verdict = |verdict| AnswerQuestion { verdict: Some(verdict), ..AnswerQuestion::default() };
        Ok(match act {
            Act::Say => {
                let answer = option.or(some(text));
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
                let edited = serde_json::from_str(&arguments)
                    .map_err(|error| Problem::bad_body(format!("the arguments are not JSON: {error}")))?;
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
    let wanted = given.answer()?;
    let answered = questions::answer(view.caller.clone(), Id(id), Body(wanted.clone())).await;
    if let Err(problem) = answered
        && !was_given(&view, id, wanted).await?
    {
        return Err(problem);
    }
    if view.is_part() {
        open(view.at(""), Filter(At { cursor: None })).await
    } else {
        Ok(Redirect::to("/console").into_response())
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
