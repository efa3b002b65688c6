//! Grants, the standing approvals of agents: list and revoke them.

use axum::Json;
use entourage_api::{Grant, Page, schema};
use entourage_types::{AgentId, GrantId, GrantStatus};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures};
use crate::{
    extract::{Caller, Filter, Id},
    page::Paging,
    state::AppState,
};

type GrantPage = Page<Grant>;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(revoke))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Grants {
    /// Only grants in the tree with this root.
    #[param(value_type = Option<schema::AgentId>)]
    root: Option<AgentId>,
    /// Only grants for this agent.
    #[param(value_type = Option<schema::AgentId>)]
    agent: Option<AgentId>,
    /// Only grants in this status.
    #[param(value_type = Option<schema::GrantStatus>)]
    status: Option<GrantStatus>,
    /// How many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    cursor: Option<String>,
}

/// List grants, newest first. Answering a question with `approve_always` creates one
#[utoipa::path(
    get, path = "/v1/grants", tag = "questions", operation_id = "listGrants", params(Grants),
    responses((status = 200, description = "A page of grants.", body = GrantPage), Failures)
)]
async fn list(caller: Caller, Filter(query): Filter<Grants>) -> Answer<GrantPage> {
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    let read = |rows| caller.client.grants(query.root, query.agent, query.status, rows);
    Ok(Json(paging.read(read, |grant| grant.id.to_string()).await?))
}

/// Revoke a grant: the next call that its rule holds back needs approval again
#[utoipa::path(
    delete, path = "/v1/grants/{id}", tag = "questions", operation_id = "revokeGrant",
    params(("id" = schema::GrantId, Path, description = "The grant.")),
    responses((status = 200, description = "The grant, revoked.", body = Grant), Failures)
)]
async fn revoke(caller: Caller, Id(id): Id<GrantId>) -> Answer<Grant> {
    Ok(Json(caller.client.revoke(id).await?.into()))
}
