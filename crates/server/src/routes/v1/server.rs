//! The state of the server. For the operator only.

use axum::Json;
use entourage_api::Server;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures, Reserved};
use crate::{extract::Caller, state::AppState, views};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(server))
}

/// Get the state of the server: its version, its places for agents, the gates before its models
#[utoipa::path(
    get, path = "/v1/server", tag = "operations", operation_id = "getServer",
    responses((status = 200, description = "Its state.", body = Server), Failures, Reserved)
)]
async fn server(caller: Caller) -> Answer<Server> {
    Ok(Json(views::server(caller.client.engine_state()?)))
}
