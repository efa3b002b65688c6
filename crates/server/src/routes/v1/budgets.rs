//! Budgets: what an agent may still spend, and more of it.

use axum::Json;
use entourage_api::{Budget, GrantBudget, List, schema};
use entourage_engine::BudgetState;
use entourage_types::AgentId;

use super::{Answer, Conflict, Failures};
use crate::{
    extract::{Body, Caller, Id, IdempotencyKey},
    routes::api_router::{ApiRouter, routes},
    views,
};

type BudgetList = List<Budget>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(list, grant))
}

/// List the budgets that limit an agent: that of its tree, and yours for today
///
/// Without any budget the list is empty.
#[utoipa::path(
    get, path = "/v1/agents/{id}/budget", tag = "agents", operation_id = "listBudgets",
    params(("id" = schema::AgentId, Path, description = "The agent.")),
    responses((status = 200, description = "The budgets.", body = BudgetList), Failures)
)]
pub(crate) async fn list(caller: Caller, Id(id): Id<AgentId>) -> Answer<BudgetList> {
    Ok(Json(listed(caller.client.budgets(id).await?)))
}

/// Grant the tree of an agent more than its budget, or take back what was granted
///
/// All agents of the tree that wait for more go on at once. At most $1,000,000 and 1,000,000,000,000 tokens are granted
/// at once. With `take_back`, what was granted is taken back, as far as it is neither spent nor reserved. Either is an
/// event of the tree, `budget`.
#[utoipa::path(
    post, path = "/v1/agents/{id}/budget", tag = "agents", operation_id = "grantBudget",
    params(("id" = schema::AgentId, Path, description = "The agent."), IdempotencyKey),
    request_body = GrantBudget,
    responses((status = 200, description = "The budgets afterwards.", body = BudgetList), Failures, Conflict)
)]
pub(crate) async fn grant(
    caller: Caller,
    Id(id): Id<AgentId>,
    key: IdempotencyKey,
    Body(grant): Body<GrantBudget>,
) -> Answer<BudgetList> {
    let (client, key) = (&caller.client, key.as_deref());
    Ok(Json(listed(match grant.take_back {
        false => client.grant_budget(id, grant.into(), key).await?,
        true => client.take_back_budget(id, grant.into(), key).await?,
    })))
}

fn listed(states: Vec<BudgetState>) -> BudgetList {
    List { data: states.into_iter().map(views::budget).collect() }
}
