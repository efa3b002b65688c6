//! Budgets: what an agent may still spend, and more of it.

use axum::Json;
use entourage_api::{Budget, GrantBudget, List, schema};
use entourage_engine::BudgetState;
use entourage_types::AgentId;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Conflict, Failures};
use crate::{
    extract::{Body, Caller, Id, IdempotencyKey},
    state::AppState,
    views,
};

type BudgetList = List<Budget>;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list, grant))
}

/// List the budgets that limit an agent: that of its tree, and yours for today
///
/// Without any budget the list is empty.
#[utoipa::path(
    get, path = "/v1/agents/{id}/budget", tag = "agents", operation_id = "listBudgets",
    params(("id" = schema::AgentId, Path, description = "The agent.")),
    responses((status = 200, description = "The budgets.", body = BudgetList), Failures)
)]
async fn list(caller: Caller, Id(id): Id<AgentId>) -> Answer<BudgetList> {
    Ok(Json(listed(caller.client.budgets(id).await?)))
}

/// Grant the tree of an agent more than its budget
///
/// All agents of the tree that wait for that go on at once.
#[utoipa::path(
    post, path = "/v1/agents/{id}/budget", tag = "agents", operation_id = "grantBudget",
    params(("id" = schema::AgentId, Path, description = "The agent."), IdempotencyKey),
    request_body = GrantBudget,
    responses((status = 200, description = "The budgets afterwards.", body = BudgetList), Failures, Conflict)
)]
async fn grant(
    caller: Caller,
    Id(id): Id<AgentId>,
    key: IdempotencyKey,
    Body(more): Body<GrantBudget>,
) -> Answer<BudgetList> {
    Ok(Json(listed(caller.client.grant_budget(id, more.into(), key.as_deref()).await?)))
}

fn listed(states: Vec<BudgetState>) -> BudgetList {
    List { data: states.into_iter().map(views::budget).collect() }
}
