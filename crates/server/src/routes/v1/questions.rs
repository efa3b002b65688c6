//! Questions that wait for a person: list and answer them.

use axum::Json;
use entourage_types::{AgentId, Answer as Given, QuestionId, QuestionStatus, Verdict};
use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Conflict, Failures};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id},
    page::{Page, Paging},
    state::AppState,
    views::{QuestionView, schema},
};

type QuestionPage = Page<QuestionView>;

pub(super) fn routes() -> OpenApiRouter<AppState> {
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
    /// How many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    cursor: Option<String>,
}

/// List questions, newest first
#[utoipa::path(
    get, path = "/v1/questions", tag = "questions", operation_id = "listQuestions", params(Questions),
    responses((status = 200, description = "A page of questions.", body = QuestionPage), Failures)
)]
async fn list(caller: Caller, Filter(query): Filter<Questions>) -> Answer<QuestionPage> {
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    let read = |rows| caller.client.questions(query.root, query.status, rows);
    Ok(Json(paging.read(read, |question| question.id.to_string()).await?))
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

/// One of: an answer, a verdict on the call in question, or a refusal to answer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct AnswerQuestion {
    /// The answer as text, which the agent reads instead of the call's result.
    #[schema(min_length = 1, pattern = r"\S")]
    answer: Option<String>,
    /// The verdict on the call in question: `approve`, `approve_always` (the rule no longer asks about this
    /// tool of this agent) or `reject` for a call that waits for approval, `retry` or `give_up` for one in
    /// doubt.
    #[schema(value_type = Option<schema::Verdict>)]
    verdict: Option<Verdict>,
    /// With an approval: the arguments to call with, instead of the agent's own.
    #[schema(value_type = Option<Object>)]
    arguments: Option<Value>,
    /// With an approval: the `digest` of the proposal that the person saw; the digest of another proposal is
    /// refused.
    digest: Option<String>,
    /// With `reject`: why, for the agent.
    #[schema(min_length = 1, pattern = r"\S")]
    reason: Option<String>,
    /// `true` if the person declines to answer.
    #[serde(default)]
    #[schema(required = false)]
    decline: bool,
}

/// The error for a field that does not go with the answer given.
const WRONG_WITH: &str = "`arguments` and `digest` go with an approval, and `reason` with `reject`";

impl AnswerQuestion {
    fn given(self) -> Result<Given, Problem> {
        let Self { answer, verdict, arguments, digest, reason, decline } = self;
        let plain = arguments.is_none() && digest.is_none();
        match (answer, verdict, decline) {
            (Some(text), None, false) if text.trim().is_empty() => {
                Err(Problem::bad_body("`answer` is empty: write the answer, or send `\"decline\": true`"))
            }
            (Some(text), None, false) if plain && reason.is_none() => Ok(Given::Text(text)),
            (None, None, true) if plain && reason.is_none() => Ok(Given::Declined),
            (None, Some(verdict), false) => match Given::from(verdict) {
                Given::Approve { always, .. } if reason.is_none() => {
                    Ok(Given::Approve { arguments, always, digest })
                }
                Given::Reject { .. } if plain => Ok(Given::Reject { reason }),
                other if plain && reason.is_none() => Ok(other),
                _ => Err(Problem::bad_body(WRONG_WITH)),
            },
            (Some(_), None, false) | (None, None, true) => Err(Problem::bad_body(WRONG_WITH)),
            _ => Err(Problem::bad_body(
                r#"give one of `"answer": "…"`, `"verdict": "…"` and `"decline": true`"#,
            )),
        }
    }
}

/// Answer an open question, or decline to; the asking agent continues with it
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
    Ok(Json(caller.client.answer(id, given.given()?).await?.into()))
}
