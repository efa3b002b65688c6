//! The state of the server, what the doctor finds there, and its settings. For the operator only.

use std::sync::Arc;

use axum::{Json, extract::State};
use entourage_api::{Examine, Finding, HeldSettings, List, Server};

use super::{Answer, Failures, Reserved};
use crate::{
    Installation, Problem,
    extract::{Caller, Filter},
    routes::api_router::{ApiRouter, routes},
    state::AppState,
    views,
};

type FindingList = List<Finding>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(server)).routes(routes!(doctor)).routes(routes!(settings))
}

/// Get the state of the server: its version, its places for agents, the gates before its models
#[utoipa::path(
    get, path = "/v1/server", tag = "operations", operation_id = "getServer",
    responses((status = 200, description = "Its state.", body = Server), Failures, Reserved)
)]
pub(crate) async fn server(caller: Caller) -> Answer<Server> {
    Ok(Json(views::server(caller.client.engine_state()?)))
}

/// Check everything that agents need, as `entourage doctor` does, and say what is missing
///
/// Changes nothing. Unless `offline`, it asks providers for their lists of models, which costs nothing, and a model
/// that is on no list for one word. One examination runs at a time.
#[utoipa::path(
    get, path = "/v1/doctor", tag = "operations", operation_id = "examineServer", params(Examine),
    responses((status = 200, description = "What was found.", body = FindingList), Failures, Reserved)
)]
pub(crate) async fn doctor(
    caller: Caller,
    Filter(Examine { offline }): Filter<Examine>,
    State(served): State<AppState>,
) -> Answer<FindingList> {
    let installation = installed(&caller, served)?;
    Ok(Json(installation.examine(offline).await.into_iter().collect()))
}

/// Get the settings that hold, and what set each; no value that may be a secret is among them
#[utoipa::path(
    get, path = "/v1/settings", tag = "operations", operation_id = "getSettings",
    responses((status = 200, description = "The settings.", body = HeldSettings), Failures, Reserved)
)]
pub(crate) async fn settings(caller: Caller, State(served): State<AppState>) -> Answer<HeldSettings> {
    Ok(Json(installed(&caller, served)?.settings()))
}

/// The program that the server is part of, for its operator.
fn installed(caller: &Caller, served: AppState) -> Result<Arc<dyn Installation>, Problem> {
    caller.client.check_operator("see how the server is set up")?;
    let none = || Problem::not_found("the program that serves this does not tell how it is set up");
    served.installation.ok_or_else(none)
}
