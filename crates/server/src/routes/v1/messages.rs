//! The conversation with an agent: write to it, read what a person sees of it.

use axum::{Json, http::StatusCode};
use entourage_types::AgentId;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Conflict, Failures};
use crate::{
    Problem,
    extract::{Body, Caller, Id, IdempotencyKey},
    page::List,
    state::Served,
    views::{EntryView, PostedView, schema},
};

type EntryList = List<EntryView>;

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(send, transcript))
}

/// What to say.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct SendMessage {
    /// The text.
    text: String,
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
        (status = 202, description = "The agent reads it before its next model call.", body = PostedView),
        Failures,
        Conflict,
    )
)]
async fn send(
    caller: Caller,
    Id(id): Id<AgentId>,
    key: IdempotencyKey,
    Body(message): Body<SendMessage>,
) -> Result<(StatusCode, Json<PostedView>), Problem> {
    let posted = caller.client.send(id, &message.text, key.as_deref()).await?;
    Ok((StatusCode::ACCEPTED, Json(posted.into())))
}

/// Read the conversation with an agent as a person sees it, oldest first
#[utoipa::path(
    get, path = "/v1/agents/{id}/messages", tag = "agents", operation_id = "listMessages",
    params(("id" = schema::AgentId, Path, description = "The agent.")),
    responses((status = 200, description = "The whole conversation.", body = EntryList), Failures)
)]
async fn transcript(caller: Caller, Id(id): Id<AgentId>) -> Answer<EntryList> {
    Ok(Json(List::of(caller.client.transcript(id).await?)))
}
