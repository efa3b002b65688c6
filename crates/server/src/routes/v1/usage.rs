//! Usage, summed as requested.

use axum::Json;
use entourage_api::{ReportUsage, UsageReport};
use entourage_engine::UsageQuery;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures};
use crate::{
    extract::{Caller, Filter},
    state::AppState,
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(usage))
}

/// Sum up the usage of your agents: exact, through crashes, retries and the removal of old data
#[utoipa::path(
    get, path = "/v1/usage", tag = "runs", operation_id = "reportUsage", params(ReportUsage),
    responses((status = 200, description = "The sums.", body = UsageReport), Failures)
)]
async fn usage(caller: Caller, Filter(asked): Filter<ReportUsage>) -> Answer<UsageReport> {
    let ReportUsage { group_by: by, from, to, tree: root, agent, under, run, kind, model } = asked;
    let query = UsageQuery { from, to, root, agent, under, run, kind, model, by };
    let sums = caller.client.usage(query).await?;
    Ok(Json(sums.into()))
}
