//! The caller: who it is, what its model calls have cost in all, and each of them.

use axum::Json;
use entourage_api::{Page, PageQuery, schema};
use entourage_engine::{ModelCall, UsageQuery};
use entourage_types::{AgentId, Cost, Owner, RunId, Tally, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Answer, Failures};
use crate::{
    extract::{Caller, Filter, NoQuery},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
};

type LlmCallPage = Page<LlmCallView>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(get)).routes(routes!(llm_calls))
}

/// The caller.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Me)]
struct MeView {
    /// Its id, which owns its goals and agents.
    #[schema(value_type = String)]
    id: Owner,
    /// What all its model calls have cost, in US dollars, as far as prices are known.
    #[schema(value_type = f64)]
    total_llm_cost: serde_json::Number,
    /// The same in billionths of a US dollar, exact.
    #[schema(value_type = u64)]
    total_llm_nanodollars: u64,
    /// How many model calls there were.
    llm_calls: u64,
    /// How many of them were made to a model without a known price; the total leaves them out.
    unpriced_llm_calls: u64,
}

/// A model call.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LlmCall)]
struct LlmCallView {
    /// The agent that made it.
    #[schema(value_type = schema::AgentId)]
    agent: AgentId,
    /// The run that it belongs to.
    #[schema(value_type = schema::RunId)]
    run: RunId,
    /// The provider.
    provider: String,
    /// The model.
    model: String,
    /// The tokens that it read.
    input_tokens: u64,
    /// The tokens that it wrote.
    output_tokens: u64,
    /// What it cost, in US dollars; null if the price of the model is not known.
    #[schema(value_type = Option<f64>)]
    total_cost: Option<serde_json::Number>,
    /// When it was answered.
    #[schema(value_type = schema::Time)]
    created_at: Time,
}

impl From<ModelCall> for LlmCallView {
    fn from(call: ModelCall) -> Self {
        let (provider, model) = call.used.model.split_once("::").unwrap_or(("", &call.used.model));
        Self {
            agent: call.agent,
            run: call.run,
            provider: provider.to_owned(),
            model: model.to_owned(),
            input_tokens: call.used.usage.input,
            output_tokens: call.used.usage.output,
            total_cost: call.used.cost.and_then(dollars),
            created_at: call.at,
        }
    }
}

/// An amount in US dollars.
fn dollars(cost: Cost) -> Option<serde_json::Number> {
    #[expect(clippy::cast_precision_loss, reason = "a number of JSON; the exact one stands beside it")]
    serde_json::Number::from_f64(cost.nanos() as f64 / 1e9)
}

/// Get the caller, with what its model calls have cost in all
#[utoipa::path(
    get, path = "/api/me", tag = "goals", operation_id = "getMe",
    responses((status = 200, description = "The caller.", body = MeView), Failures)
)]
async fn get(caller: Caller, _: NoQuery) -> Answer<MeView> {
    let total: Tally =
        caller.client.usage(UsageQuery::default()).await?.into_iter().map(|row| row.tally).sum();
    Ok(Json(MeView {
        id: caller.client.owner().clone(),
        total_llm_cost: dollars(total.cost).unwrap_or_else(|| 0.into()),
        total_llm_nanodollars: total.cost.nanos(),
        llm_calls: total.calls,
        unpriced_llm_calls: total.unpriced,
    }))
}

/// List the model calls of the caller, those of the newest runs first
///
/// A page has the calls of at most `limit` runs.
#[utoipa::path(
    get, path = "/api/me/llm_calls", tag = "goals", operation_id = "listLlmCalls", params(PageQuery),
    responses((status = 200, description = "A page of model calls.", body = LlmCallPage), Failures)
)]
async fn llm_calls(caller: Caller, Filter(query): Filter<PageQuery>) -> Answer<LlmCallPage> {
    Ok(Json(Paging::of(&query)?.narrowed(|rows| caller.client.model_calls(rows)).await?))
}
