//! Interventions: steer an agent at any time, and see what was done to it.

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
    state::Served,
    views::{InterventionView, schema},
};

type InterventionPage = Page<InterventionView>;

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(intervene, list))
}

/// What to do, and the words that go with it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct Intervene {
    /// `pause` (nothing new begins), `resume`, `comment` (a remark for people), `steer` (a message
    /// read before the next model call), `modify` (a new instruction; what is under way is dropped),
    /// `stop` (the run under way, with all it gave to others; it can be written to again),
    /// `retry` (a failed run, or an attempt that waits), `close_session` (it is summed up and a
    /// clean one begun, once the agent rests), `delete` (for good, with all below).
    #[schema(value_type = schema::Action)]
    action: Action,
    /// The remark, message or instruction that `comment`, `steer` and `modify` need; a reason for
    /// the others.
    #[schema(min_length = 1, pattern = r"\S")]
    text: Option<String>,
}

/// Do something to an agent, at work or not
#[utoipa::path(
    post, path = "/v1/agents/{id}/interventions", tag = "agents", operation_id = "intervene",
    params(("id" = schema::AgentId, Path, description = "The agent."), IdempotencyKey),
    request_body = Intervene,
    responses(
        (status = 202, description = "It stands in the log, and the agent comes to it before its next step. \
            A deletion is done: nothing of the agent or below it begins any more.", body = InterventionView),
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

/// List what was done to an agent, newest first
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
