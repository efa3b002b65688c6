//! Webhooks: what receivers were told, one delivery after the other.

use askama::Template;
use axum::{
    Json,
    response::{IntoResponse, Redirect},
};
use entourage_api::{Delivery, ListDeliveries, Receiver};
use entourage_types::DeliveryStatus;
use serde::Deserialize;

use super::{
    filters,
    given::condition,
    shell::{Fields, Page, Section, Shown, View},
};
use crate::{
    Problem,
    extract::{Filter, Id, Names},
    routes::v1::webhooks,
};

#[derive(Template)]
#[template(path = "webhooks.html")]
struct Receivers {
    receivers: Vec<Receiver>,
    is_operator: bool,
}

impl Page for Receivers {
    const SECTION: Section = Section::Server;

    fn title(&self) -> String {
        "Webhooks".to_owned()
    }
}

/// All receivers.
pub(super) async fn all(view: View) -> Shown {
    let Json(receivers) = webhooks::list(view.caller.clone()).await?;
    let is_operator = view.caller.client.is_operator();
    view.show(Receivers { receivers: receivers.data, is_operator }).await
}

/// Sends all that did not arrive at a receiver again.
pub(super) async fn retry_all(view: View, Id(name): Id<String>) -> Shown {
    let _ = webhooks::retry(view.caller.clone(), Id(name)).await?;
    if view.is_part() {
        return all(view.at("/webhooks")).await;
    }
    Ok(Redirect::to("/console/webhooks").into_response())
}

#[derive(Deserialize)]
pub(super) struct Wanted {
    status: Option<String>,
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "receiver.html")]
struct OneReceiver {
    receiver: Receiver,
    deliveries: Vec<Delivery>,
    status: Option<DeliveryStatus>,
    next: Option<String>,
}

impl OneReceiver {
    /// Whether this is the status that is asked for.
    fn is_status(&self, word: &str) -> bool {
        self.status.is_some_and(|status| status.as_str() == word)
    }

    /// The query that leads to the next page.
    fn next_query(&self) -> Option<String> {
        let more = [("status", self.status.map(|status| status.to_string()))];
        self.next.as_ref().map(|cursor| filters::query("cursor", cursor, more))
    }
}

impl Page for OneReceiver {
    const SECTION: Section = Section::Server;

    fn title(&self) -> String {
        format!("Deliveries to {}", self.receiver.name)
    }
}

/// The deliveries to a receiver.
pub(super) async fn one(
    view: View,
    Id(name): Id<String>,
    Filter(Wanted { status, cursor }): Filter<Wanted>,
) -> Shown {
    let caller = &view.caller;
    let status = condition("status", status)?;
    let Json(receivers) = webhooks::list(caller.clone()).await?;
    let receiver = receivers.data.into_iter().find(|receiver| receiver.name == name);
    let receiver = receiver.ok_or_else(|| Problem::not_found(format!("there is no receiver `{name}`")))?;
    let wanted = ListDeliveries { status, limit: None, cursor };
    let Json(page) = webhooks::deliveries(caller.clone(), Id(name), Filter(wanted)).await?;
    view.show(OneReceiver { receiver, deliveries: page.data, status, next: page.next_cursor }).await
}

#[derive(Deserialize)]
pub(super) struct Again {
    /// The status to which the list is narrowed.
    #[serde(default)]
    status: String,
}

/// Attempts one delivery now.
pub(super) async fn retry(
    view: View,
    Names(name, id): Names,
    Fields(Again { status }): Fields<Again>,
) -> Shown {
    let _ = webhooks::retry_delivery(view.caller.clone(), Names(name.clone(), id)).await?;
    let path = format!("/webhooks/{}?{}", filters::encoded(&name), filters::query("status", &status, []));
    if view.is_part() {
        let wanted = Wanted { status: Some(status), cursor: None };
        return one(view.at(path), Id(name), Filter(wanted)).await;
    }
    Ok(Redirect::to(&format!("/console{path}")).into_response())
}
