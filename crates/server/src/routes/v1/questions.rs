//! Questions that wait for a person: list and answer them.

use axum::Json;
use entourage_api::{AnswerQuestion, ListQuestions, Page, Question, QuestionOrder, schema};
use entourage_engine::QuestionFilter;
use entourage_types::{Answer as Given, QuestionId, QuestionStatus};

use super::{Answer, Conflict, Failures};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
    views,
};

type QuestionPage = Page<Question>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(list)).routes(routes!(get)).routes(routes!(answer))
}

/// List questions, newest first
#[utoipa::path(
    get, path = "/v1/questions", tag = "questions", operation_id = "listQuestions", params(ListQuestions),
    responses((status = 200, description = "A page of questions.", body = QuestionPage), Failures)
)]
pub(crate) async fn list(caller: Caller, Filter(query): Filter<ListQuestions>) -> Answer<QuestionPage> {
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    let ListQuestions { status, root, agent, about, order, .. } = query;
    let soonest_first = order == Some(QuestionOrder::Due);
    if soonest_first && status != Some(QuestionStatus::Open) {
        return Err(Problem::bad_query("order: only open questions are due; add `status=open`"));
    }
    let of = |page| QuestionFilter { root, agent, status, about, soonest_first, page };
    let found = paging.narrowed(|page| caller.client.find_questions(of(page))).await?;
    let data = found.data.into_iter().map(views::asked).collect();
    Ok(Json(Page { data, next_cursor: found.next_cursor }))
}

/// Get a question
#[utoipa::path(
    get, path = "/v1/questions/{id}", tag = "questions", operation_id = "getQuestion",
    params(("id" = schema::QuestionId, Path, description = "The question.")),
    responses((status = 200, description = "The question.", body = Question), Failures)
)]
pub(crate) async fn get(caller: Caller, Id(id): Id<QuestionId>) -> Answer<Question> {
    Ok(Json(views::asked(caller.client.asked_question(id).await?)))
}

/// The error for a field that does not go with the answer given.
const WRONG_WITH: &str = "`arguments` and `digest` go with an approval, and `reason` with `reject`";

/// The answer that a request gives.
pub(crate) fn given(request: AnswerQuestion) -> Result<Given, Problem> {
    let AnswerQuestion { answer, verdict, arguments, digest, reason, decline } = request;
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
        _ => Err(Problem::bad_body(r#"give one of `"answer": "…"`, `"verdict": "…"` and `"decline": true`"#)),
    }
}

/// Answer an open question, or decline to; the asking agent continues with it
#[utoipa::path(
    post, path = "/v1/questions/{id}/answer", tag = "questions", operation_id = "answerQuestion",
    params(("id" = schema::QuestionId, Path, description = "The question.")),
    request_body = AnswerQuestion,
    responses(
        (status = 200, description = "The question, closed.", body = Question),
        Failures,
        Conflict,
    )
)]
pub(crate) async fn answer(
    caller: Caller,
    Id(id): Id<QuestionId>,
    Body(request): Body<AnswerQuestion>,
) -> Answer<Question> {
    Ok(Json(caller.client.answer(id, given(request)?).await?.into()))
}
