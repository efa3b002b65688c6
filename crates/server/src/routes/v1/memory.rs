//! What agents remember.

use axum::Json;
use entourage_types::AgentId;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures};
use crate::{
    extract::{Caller, Id},
    page::List,
    state::Served,
    views::{LearningView, schema},
};

type LearningList = List<LearningView>;

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(learnings))
}

/// List what an agent has learned and still holds, oldest first
#[utoipa::path(
    get, path = "/v1/agents/{id}/learnings", tag = "memory", operation_id = "listLearnings",
    params(("id" = schema::AgentId, Path, description = "The agent.")),
    responses((status = 200, description = "All learnings.", body = LearningList), Failures)
)]
async fn learnings(caller: Caller, Id(id): Id<AgentId>) -> Answer<LearningList> {
    Ok(Json(List::of(caller.client.learnings(id).await?)))
}
