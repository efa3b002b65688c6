//! The receivers of webhooks about the caller's tasks and questions.

use axum::Json;
use entourage_api::{Delivery, List, ListDeliveries, Page, Receiver, schema};
use entourage_types::{DeliveryId, ParseIdError};

use super::{Answer, Failures};
use crate::{
    Problem,
    extract::{Caller, Filter, Id, Names},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
    views,
};

type ReceiverList = List<Receiver>;
type DeliveryPage = Page<Delivery>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(retry))
        .routes(routes!(deliveries))
        .routes(routes!(retry_delivery))
}

/// List the receivers of webhooks about your tasks and questions, with the state of each
#[utoipa::path(
    get, path = "/v1/webhooks", tag = "webhooks", operation_id = "listReceivers",
    responses((status = 200, description = "All receivers, by name.", body = ReceiverList), Failures)
)]
pub(crate) async fn list(caller: Caller) -> Answer<ReceiverList> {
    Ok(Json(caller.client.receivers().await?.into_iter().map(views::receiver).collect()))
}

/// Retry all deliveries that did not arrive at a receiver, including those given up
#[utoipa::path(
    post, path = "/v1/webhooks/{name}/retry", tag = "webhooks", operation_id = "retryReceiver",
    params(("name" = String, Path, description = "The receiver's name.", max_length = 255)),
    responses((status = 200, description = "The receiver's state after that.", body = Receiver), Failures)
)]
pub(crate) async fn retry(caller: Caller, Id(name): Id<String>) -> Answer<Receiver> {
    Ok(Json(views::receiver(caller.client.retry_receiver(&name).await?)))
}

/// List the deliveries to a receiver, newest first
///
/// Where few of many deliveries are to this receiver, a page has fewer entries, or none; the next page goes on from
/// there.
#[utoipa::path(
    get, path = "/v1/webhooks/{name}/deliveries", tag = "webhooks", operation_id = "listDeliveries",
    params(("name" = String, Path, description = "The receiver's name.", max_length = 255), ListDeliveries),
    responses((status = 200, description = "A page of deliveries.", body = DeliveryPage), Failures)
)]
pub(crate) async fn deliveries(
    caller: Caller,
    Id(name): Id<String>,
    Filter(query): Filter<ListDeliveries>,
) -> Answer<DeliveryPage> {
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    Ok(Json(paging.narrowed(|page| caller.client.deliveries(&name, query.status, page)).await?))
}

/// Retry a delivery now, also one that was given up; one that has arrived stays as it is
#[utoipa::path(
    post, path = "/v1/webhooks/{name}/deliveries/{delivery}/retry", tag = "webhooks",
    operation_id = "retryDelivery",
    params(
        ("name" = String, Path, description = "The receiver's name.", max_length = 255),
        ("delivery" = schema::DeliveryId, Path, description = "The delivery."),
    ),
    responses((status = 200, description = "The delivery, to be attempted now.", body = Delivery), Failures)
)]
pub(crate) async fn retry_delivery(caller: Caller, Names(name, delivery): Names) -> Answer<Delivery> {
    let id: DeliveryId =
        delivery.parse().map_err(|error: ParseIdError| Problem::bad_path(error.to_string()))?;
    Ok(Json(caller.client.retry_delivery(&name, id).await?.into()))
}
