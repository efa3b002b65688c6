//! Usage, summed as requested.

use axum::Json;
use entourage_api::{ReportUsage, UsageReport};
use entourage_engine::UsageQuery;

use super::{Answer, Failures};
use crate::{
    extract::{Caller, Filter},
    routes::api_router::{ApiRouter, routes},
    views,
};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(usage))
}

/// Sum up the usage of your agents: exact, through crashes, retries and the removal of old data
///
/// With the budgets that limit what comes.
#[utoipa::path(
    get, path = "/v1/usage", tag = "runs", operation_id = "reportUsage", params(ReportUsage),
    responses((status = 200, description = "The sums.", body = UsageReport), Failures)
)]
pub(crate) async fn usage(caller: Caller, Filter(asked): Filter<ReportUsage>) -> Answer<UsageReport> {
    let ReportUsage { group_by: by, from, to, tree: root, agent, under, run, kind, model } = asked;
    let (client, limited) = (&caller.client, root.or(agent).or(under));
    let query = UsageQuery { from, to, root, agent, under, run, kind, model, by };
    let sums = client.usage(query).await?;
    let budgets = match limited {
        Some(agent) => client.budgets(agent).await?,
        None => client.budget_today().await?.into_iter().collect(),
    };
    Ok(Json(UsageReport::new(sums, budgets.into_iter().map(views::budget).collect())))
}
