//! Kinds of agents. They belong to the server, not to an owner.

use axum::Json;
use entourage_api::{Kind, List, Reloaded};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures, Reserved};
use crate::{
    Problem,
    extract::{Caller, Id},
    state::AppState,
    views,
};

type KindList = List<Kind>;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        // A fixed path shadows the path with a name for all methods, but a kind may be called `reload`, too.
        .routes(routes!(get_reload, reload))
}

/// List kinds, by name, with the number of your open runs of each version
#[utoipa::path(
    get, path = "/v1/kinds", tag = "kinds", operation_id = "listKinds",
    responses((status = 200, description = "All kinds, including those without a file that still have open runs.",
        body = KindList), Failures)
)]
async fn list(caller: Caller) -> Answer<KindList> {
    Ok(Json(caller.client.kinds_in_use().await?.into_iter().map(views::kind).collect()))
}

/// Get a kind
#[utoipa::path(
    get, path = "/v1/kinds/{name}", tag = "kinds", operation_id = "getKind",
    params(("name" = String, Path, description = "Its name.", max_length = 255)),
    responses((status = 200, description = "The kind.", body = Kind), Failures)
)]
async fn get(caller: Caller, Id(name): Id<String>) -> Answer<Kind> {
    named(&caller, &name).await
}

/// Get the kind that is called `reload`, if there is one
#[utoipa::path(
    get, path = "/v1/kinds/reload", tag = "kinds", operation_id = "getKindReload",
    responses((status = 200, description = "The kind.", body = Kind), Failures)
)]
async fn get_reload(caller: Caller) -> Answer<Kind> {
    named(&caller, "reload").await
}

async fn named(caller: &Caller, name: &str) -> Answer<Kind> {
    let found = caller.client.kinds_in_use().await?.into_iter().find(|used| used.kind.name == name);
    let used = found
        .ok_or_else(|| Problem::not_found(format!("there is no kind `{name}`; GET /v1/kinds lists them")))?;
    Ok(Json(views::kind(used)))
}

/// Reload the kinds, without a restart
///
/// New runs use the reloaded kinds; runs under way stay with the version that they began with. If a file has
/// a mistake, nothing changes, and the problem names the file and the line.
#[utoipa::path(
    post, path = "/v1/kinds/reload", tag = "kinds", operation_id = "reloadKinds",
    responses((status = 200, description = "What has changed.", body = Reloaded), Failures, Reserved)
)]
async fn reload(caller: Caller) -> Answer<Reloaded> {
    Ok(Json(views::reloaded(caller.client.reload_kinds().await?)))
}
