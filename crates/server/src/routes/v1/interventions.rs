//! Interventions: steer an agent at any time, and list what was done to it.

use axum::{Json, http::StatusCode};
use entourage_api::{Intervene, Intervention, Page, PageQuery, schema};
use entourage_types::AgentId;

use super::{Answer, Conflict, Failures};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IdempotencyKey},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
};

type InterventionPage = Page<Intervention>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(intervene, list))
}

/// Intervene in an agent, at work or not
#[utoipa::path(
    post, path = "/v1/agents/{id}/interventions", tag = "agents", operation_id = "intervene",
    params(("id" = schema::AgentId, Path, description = "The agent."), IdempotencyKey),
    request_body = Intervene,
    responses(
        (status = 202, description = "It is recorded, and the agent applies it before its next step. \
            A deletion is done: neither the agent nor any agent below it begins anything more.", body = Intervention),
        Failures,
        Conflict,
    )
)]
pub(crate) async fn intervene(
    caller: Caller,
    Id(id): Id<AgentId>,
    key: IdempotencyKey,
    Body(wanted): Body<Intervene>,
) -> Result<(StatusCode, Json<Intervention>), Problem> {
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
pub(crate) async fn list(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(query): Filter<PageQuery>,
) -> Answer<InterventionPage> {
    let paging = Paging::of(&query)?;
    let read = |rows| caller.client.interventions(id, rows);
    Ok(Json(paging.read(read, |done| done.id.to_string()).await?))
}
