//! Usage, summed as requested.

use axum::Json;
use entourage_api::{UsageReport, schema};
use entourage_engine::UsageQuery;
use entourage_types::{AgentId, Day, RunId, UsageBy};
use serde::{Deserialize, Deserializer, de::Error};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures};
use crate::{
    extract::{Caller, Filter},
    state::AppState,
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(usage))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Asked {
    /// What to group by, separated by commas: `day`, `model`, `kind`, `tree`, `agent`, `run`, `owner`. One
    /// sum by default.
    #[serde(default, deserialize_with = "words")]
    #[param(
        value_type = Option<String>,
        example = "day,model",
        pattern = "^(day|model|kind|tree|agent|run|owner)(,(day|model|kind|tree|agent|run|owner))*$",
    )]
    group_by: Vec<UsageBy>,
    /// From this day, in UTC.
    #[serde(default, deserialize_with = "day")]
    #[param(value_type = Option<schema::Day>)]
    from: Option<Day>,
    /// Up to and including this day, in UTC.
    #[serde(default, deserialize_with = "day")]
    #[param(value_type = Option<schema::Day>)]
    to: Option<Day>,
    /// Only of the tree with this root.
    #[param(value_type = Option<schema::AgentId>)]
    tree: Option<AgentId>,
    /// Only of this agent.
    #[param(value_type = Option<schema::AgentId>)]
    agent: Option<AgentId>,
    /// Only of this run.
    #[param(value_type = Option<schema::RunId>)]
    run: Option<RunId>,
}

fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<UsageBy>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.split(',').map(|word| word.parse().map_err(D::Error::custom)).collect()
}

fn day<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Day>, D::Error> {
    String::deserialize(deserializer)?.parse().map(Some).map_err(D::Error::custom)
}

/// Sum up the usage of your agents: exact, through crashes, retries and the removal of old data
#[utoipa::path(
    get, path = "/v1/usage", tag = "runs", operation_id = "reportUsage", params(Asked),
    responses((status = 200, description = "The sums.", body = UsageReport), Failures)
)]
async fn usage(caller: Caller, Filter(asked): Filter<Asked>) -> Answer<UsageReport> {
    let Asked { group_by: by, from, to, tree: root, agent, run } = asked;
    let sums = caller.client.usage(UsageQuery { from, to, root, agent, run, by }).await?;
    Ok(Json(sums.into()))
}
