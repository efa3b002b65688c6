//! Grants, the standing approvals of agents: list and revoke them.

use axum::Json;
use entourage_api::{Grant, ListGrants, Page, schema};
use entourage_types::GrantId;

use super::{Answer, Failures};
use crate::{
    extract::{Caller, Filter, Id},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
};

type GrantPage = Page<Grant>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(list)).routes(routes!(revoke))
}

/// List grants, newest first. Answering a question with `approve_always` creates one
#[utoipa::path(
    get, path = "/v1/grants", tag = "questions", operation_id = "listGrants", params(ListGrants),
    responses((status = 200, description = "A page of grants.", body = GrantPage), Failures)
)]
pub(crate) async fn list(caller: Caller, Filter(query): Filter<ListGrants>) -> Answer<GrantPage> {
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
pub(crate) async fn revoke(caller: Caller, Id(id): Id<GrantId>) -> Answer<Grant> {
    Ok(Json(caller.client.revoke(id).await?.into()))
}
