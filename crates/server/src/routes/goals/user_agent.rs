//! The one agent that belongs to the user and to no goal.

use axum::Json;

use super::{Answer, Failures};
use crate::{
    extract::{Caller, NoQuery},
    routes::api_router::{ApiRouter, routes},
    views::goals::UserAgentView,
};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(get))
}

/// Get the user agent, which is made when it is asked for first
#[utoipa::path(
    get, path = "/api/user_agent", tag = "goals", operation_id = "getUserAgentDocument",
    responses((status = 200, description = "The user agent.", body = UserAgentView), Failures)
)]
async fn get(caller: Caller, _: NoQuery) -> Answer<UserAgentView> {
    Ok(Json(caller.client.user_agent().await?.into()))
}
