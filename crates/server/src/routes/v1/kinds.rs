//! Kinds: what sorts of agents there are. They belong to the house, not to an owner.

use axum::{Json, extract::State};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures};
use crate::{
    Problem,
    extract::{Caller, Id},
    page::List,
    state::Served,
    views::KindView,
};

type KindList = List<KindView>;

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(get))
}

/// List kinds, by name
#[utoipa::path(
    get, path = "/v1/kinds", tag = "kinds", operation_id = "listKinds",
    responses((status = 200, description = "All kinds.", body = KindList), Failures)
)]
async fn list(_: Caller, State(served): State<Served>) -> Json<KindList> {
    Json(List::of(served.house.kinds().iter().map(|kind| &**kind)))
}

/// Get a kind
#[utoipa::path(
    get, path = "/v1/kinds/{name}", tag = "kinds", operation_id = "getKind",
    params(("name" = String, Path, description = "Its name.")),
    responses((status = 200, description = "The kind.", body = KindView), Failures)
)]
async fn get(_: Caller, State(served): State<Served>, Id(name): Id<String>) -> Answer<KindView> {
    let kind = served.house.kinds().get(&name);
    let kind = kind
        .ok_or_else(|| Problem::not_found(format!("there is no kind `{name}`; GET /v1/kinds lists them")))?;
    Ok(Json((&*kind).into()))
}
