//! The conversation with an agent: write to the agent, read what a person sees.

use axum::{Json, http::StatusCode};
use entourage_api::{Entry, ListMessages, Page, Posted, SendMessage, schema};
use entourage_engine::PageEnd;
use entourage_types::{AgentId, QuestionId};

use super::{Answer, Conflict, Failures};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IdempotencyKey},
    page::{BYTES, Paging, checked_number, page_of},
    routes::api_router::{ApiRouter, routes},
    views,
};

type EntryPage = Page<Entry>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(send, transcript))
}

/// Write to an agent, at work or not
#[utoipa::path(
    post, path = "/v1/agents/{id}/messages", tag = "agents", operation_id = "sendMessage",
    params(
        ("id" = schema::AgentId, Path, description = "The agent."),
        IdempotencyKey,
    ),
    request_body = SendMessage,
    responses(
        (status = 202, description = "The agent reads it before its next model call.", body = Posted),
        Failures,
        Conflict,
    )
)]
pub(crate) async fn send(
    caller: Caller,
    Id(id): Id<AgentId>,
    key: IdempotencyKey,
    Body(said): Body<SendMessage>,
) -> Result<(StatusCode, Json<Posted>), Problem> {
    let posted = caller.client.send(id, &said.message, key.as_deref()).await?;
    Ok((StatusCode::ACCEPTED, Json(views::posted(posted))))
}

/// List the conversation with an agent as a person sees it: the latest entries, oldest first
///
/// A page has at most `limit` messages and questions, and fewer, or none, where they are long or many other
/// items are between them; earlier ones are on the next page. The first page also has the messages that the
/// agent has not read yet, beyond `limit`.
#[utoipa::path(
    get, path = "/v1/agents/{id}/messages", tag = "agents", operation_id = "listMessages",
    params(("id" = schema::AgentId, Path, description = "The agent."), ListMessages),
    responses((status = 200, description = "A page of the conversation.", body = EntryPage), Failures)
)]
pub(crate) async fn transcript(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(query): Filter<ListMessages>,
) -> Answer<EntryPage> {
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    let (cursor, limit) = paging.items::<PageEnd<QuestionId>>()?;
    let before = query.before.map(|before| checked_number("before", before)).transpose()?;
    let before = match (cursor, before) {
        (Some(_), Some(_)) => return Err(Problem::bad_query("give `before` or `cursor`, not both")),
        (cursor, before) => cursor.or(before.map(|item| PageEnd { item, last: None })),
    };
    let (entries, next) = caller.client.transcript_before(id, before, limit, BYTES).await?;
    Ok(Json(page_of(entries.into_iter().map(views::entry), next)))
}
