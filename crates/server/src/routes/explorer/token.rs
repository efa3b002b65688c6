//! Tokens for clients that cannot send headers.

use axum::{Json, extract::State, http::StatusCode};
use entourage_api::schema;
use entourage_types::Time;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    Problem,
    extract::{Body, Caller},
    routes::api_router::{ApiRouter, routes},
    routes::failures::Failures,
    state::AppState,
};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(make))
}

/// What a token is for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
struct MakeStreamToken {
    /// The id of the agent that is started or followed with it; any that the server gives if none is named.
    agent_id: Option<String>,
}

/// A token for one stream.
#[derive(Debug, Serialize, ToSchema)]
struct MadeStreamToken {
    /// The token, for `?token=`.
    token: String,
    /// Until when it starts an agent. It follows the agent for as long as the caller's own token lasts.
    #[schema(value_type = schema::Time)]
    expires_at: Time,
}

/// Make a token for a stream of a browser
///
/// `EventSource` and `WebSocket` cannot send headers: give this token as `?token=` in the address of `GET /agent/stream`
/// or `GET /agent/ws`. It starts at most one agent, within one minute; from then on the same address goes on with that
/// agent, whenever the server has restarted.
#[utoipa::path(
    post, path = "/agent/stream-token", tag = "explorations", operation_id = "makeStreamToken",
    request_body = MakeStreamToken,
    responses((status = 201, description = "The token.", body = MadeStreamToken), Failures)
)]
async fn make(
    caller: Caller,
    State(served): State<AppState>,
    Body(MakeStreamToken { agent_id }): Body<MakeStreamToken>,
) -> Result<(StatusCode, Json<MadeStreamToken>), Problem> {
    let (token, made) = caller.client.stream_token(agent_id.as_deref(), caller.until).await?;
    let (token, expires_at) = (served.seal.sealed(&token), made.starts_until);
    Ok((StatusCode::CREATED, Json(MadeStreamToken { token, expires_at })))
}
