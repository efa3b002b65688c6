//! The receivers of webhooks about the caller's tasks and questions.

use axum::Json;
use entourage_api::{List, Receiver};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures};
use crate::{
    extract::{Caller, Id},
    state::AppState,
    views,
};

type ReceiverList = List<Receiver>;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(retry))
}

/// List the receivers of webhooks about your tasks and questions, with the state of each
#[utoipa::path(
    get, path = "/v1/webhooks", tag = "webhooks", operation_id = "listReceivers",
    responses((status = 200, description = "All receivers, by name.", body = ReceiverList), Failures)
)]
async fn list(caller: Caller) -> Answer<ReceiverList> {
    Ok(Json(caller.client.receivers().await?.into_iter().map(views::receiver).collect()))
}

/// Retry all deliveries that did not arrive at a receiver, including those given up
#[utoipa::path(
    post, path = "/v1/webhooks/{name}/retry", tag = "webhooks", operation_id = "retryReceiver",
    params(("name" = String, Path, description = "The receiver's name.", max_length = 255)),
    responses((status = 200, description = "The receiver's state after that.", body = Receiver), Failures)
)]
async fn retry(caller: Caller, Id(name): Id<String>) -> Answer<Receiver> {
    Ok(Json(views::receiver(caller.client.retry_receiver(&name).await?)))
}
