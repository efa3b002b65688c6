//! The receivers of webhooks about the caller's tasks and questions.

use axum::Json;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures};
use crate::{
    extract::{Caller, Id},
    page::List,
    state::AppState,
    views::ReceiverView,
};

type ReceiverList = List<ReceiverView>;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(retry))
}

/// List the receivers of webhooks about your tasks and questions, with the state of each
#[utoipa::path(
    get, path = "/v1/webhooks", tag = "webhooks", operation_id = "listReceivers",
    responses((status = 200, description = "All receivers, by name.", body = ReceiverList), Failures)
)]
async fn list(caller: Caller) -> Answer<ReceiverList> {
    Ok(Json(List::of(caller.client.receivers().await?)))
}

/// Retry all deliveries that did not arrive at a receiver, including those given up
#[utoipa::path(
    post, path = "/v1/webhooks/{name}/retry", tag = "webhooks", operation_id = "retryReceiver",
    params(("name" = String, Path, description = "The receiver's name.", max_length = 255)),
    responses((status = 200, description = "The receiver's state after that.", body = ReceiverView), Failures)
)]
async fn retry(caller: Caller, Id(name): Id<String>) -> Answer<ReceiverView> {
    Ok(Json(caller.client.retry_receiver(&name).await?.into()))
}
