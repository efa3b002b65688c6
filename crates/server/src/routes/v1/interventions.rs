//! Interventions: steer an agent at any time, and list what was done to it.

use axum::{Json, http::StatusCode};
use entourage_types::{Action, AgentId};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Conflict, Failures};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IdempotencyKey},
    page::{Page, PageQuery},
    state::AppState,
    views::{InterventionView, schema},
};

type InterventionPage = Page<InterventionView>;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(intervene, list))
}

/// An action, and the text that goes with it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct Intervene {
    /// `pause` (the agent begins nothing new), `resume`, `comment` (a remark for people), `steer` (a message
    /// that the agent reads before its next model call), `modify` (a new instruction; work under way is
    /// dropped), `stop` (ends the run under way and all that it delegated; you can write to the agent again),
    /// `retry` (a failed run, or an attempt that waits), `close_session` (the session is summed up and a
    /// clean one begins, once the agent is at rest), `delete` (ends the agent and all agents below it for
    /// good).
    #[schema(value_type = schema::Action)]
    action: Action,
    /// The remark, message or instruction that `comment`, `steer` and `modify` need; a reason for the other
    /// actions.
    #[schema(min_length = 1, pattern = r"\S")]
    text: Option<String>,
}

/// Intervene in an agent, at work or not
#[utoipa::path(
    post, path = "/v1/agents/{id}/interventions", tag = "agents", operation_id = "intervene",
    params(("id" = schema::AgentId, Path, description = "The agent."), IdempotencyKey),
    request_body = Intervene,
    responses(
        (status = 202, description = "It is recorded, and the agent applies it before its next step. \
            A deletion is done: neither the agent nor any agent below it begins anything more.", body = InterventionView),
        Failures,
        Conflict,
    )
)]
async fn intervene(
    caller: Caller,
    Id(id): Id<AgentId>,
    key: IdempotencyKey,
    Body(wanted): Body<Intervene>,
) -> Result<(StatusCode, Json<InterventionView>), Problem> {
    let done =
        caller.client.intervene_once(id, wanted.action, wanted.text.as_deref(), key.as_deref()).await?;
    Ok((StatusCode::ACCEPTED, Json(done.into())))
}

/// List the interventions in an agent, newest first
#[utoipa::path(
    get, path = "/v1/agents/{id}/interventions", tag = "agents", operation_id = "listInterventions",
    params(("id" = schema::AgentId, Path, description = "The agent."), PageQuery),
    responses((status = 200, description = "A page of interventions.", body = InterventionPage), Failures)
)]
async fn list(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(query): Filter<PageQuery>,
) -> Answer<InterventionPage> {
    let paging = query.paging()?;
    let read = |rows| caller.client.interventions(id, rows);
    Ok(Json(paging.read(read, |done| done.id.to_string()).await?))
}
