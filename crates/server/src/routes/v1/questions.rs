//! Questions: see what waits for a person, and answer it.

use axum::Json;
use entourage_types::{AgentId, Answer as Given, QuestionId, QuestionStatus};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Conflict, Failures};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id},
    page::{Page, Paging},
    state::Served,
    views::{QuestionView, schema},
};

type QuestionPage = Page<QuestionView>;

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(get)).routes(routes!(answer))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Questions {
    /// Only questions in this status.
    #[param(value_type = Option<schema::QuestionStatus>)]
    status: Option<QuestionStatus>,
    /// Only questions of the tree with this root.
    #[param(value_type = Option<schema::AgentId>)]
    root: Option<AgentId>,
    /// How many; 50 unless given.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List questions first
#[utoipa::path(
    get, path = "/v1/questions", tag = "questions", operation_id = "listQuestions", params(Questions),
    responses((status = 200, description = "A page of questions.", body = QuestionPage), Failures)
)]
async fn list(caller: Caller, Filter(query): Filter<Questions>) -> Answer<QuestionPage> {
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    let found = caller.client.questions(query.root, query.status, paging.query()).await?;
    Ok(Json(paging.page(found, |question| question.id.to_string())))
}

/// Get a question
#[utoipa::path(
    get, path = "/v1/questions/{id}", tag = "questions", operation_id = "getQuestion",
    params(("id" = schema::QuestionId, Path, description = "The question.")),
    responses((status = 200, description = "The question.", body = QuestionView), Failures)
)]
async fn get(caller: Caller, Id(id): Id<QuestionId>) -> Answer<QuestionView> {
    Ok(Json(caller.client.question(id).await?.into()))
}

/// An answer, or that there will be none: one of the two.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct AnswerQuestion {
    /// The answer, in the person's words.
    answer: Option<String>,
    /// `true` when the person would rather not say.
    #[serde(default)]
    #[schema(required = false)]
    decline: bool,
}

/// Answer an open question, or decline to; the asking agent goes on with it
#[utoipa::path(
    post, path = "/v1/questions/{id}/answer", tag = "questions", operation_id = "answerQuestion",
    params(("id" = schema::QuestionId, Path, description = "The question.")),
    request_body = AnswerQuestion,
    responses(
        (status = 200, description = "The question, closed.", body = QuestionView),
        Failures,
        Conflict,
    )
)]
async fn answer(
    caller: Caller,
    Id(id): Id<QuestionId>,
    Body(given): Body<AnswerQuestion>,
) -> Answer<QuestionView> {
    let given = match given {
        AnswerQuestion { answer: Some(text), decline: false } => Given::Text(text),
        AnswerQuestion { answer: None, decline: true } => Given::Declined,
        _ => return Err(Problem::bad_body(r#"give either `"answer": "…"` or `"decline": true`"#)),
    };
    Ok(Json(caller.client.answer(id, given).await?.into()))
}
