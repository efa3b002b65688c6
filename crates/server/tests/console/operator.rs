//! What receivers of webhooks were told, and what the doctor finds.

use std::sync::Arc;

use entourage_engine::{Engine, Outbox, Receiver};
use entourage_llm::{Script, ScriptedModel};
use entourage_store_sqlite::SqliteStore;
use entourage_types::{Occasion, Owner};
use reqwest::StatusCode;
use serde_json::json;

use super::Browser;
use crate::{
    auth::token_of,
    installed::installed,
    site::{Site, send},
};

/// A site that tells two receivers of questions, whose agents ask.
async fn site_with_receivers() -> Site {
    let receiver = |name: &str, owner: &str| Receiver {
        name: name.into(),
        owner: Owner::new(owner),
        events: vec![Occasion::QuestionOpened],
    };
    let outbox = Outbox::new([receiver("crm", "local"), receiver("other", "eve")]);
    let speak =
        |_: &entourage_llm::Request| Some(Ok(Script::call("ask_user", json!({"question": "Which?"}))));
    let tools = entourage_tools::builtin(entourage_tools::Settings::default());
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let engine = Engine::builder(store, Arc::new(ScriptedModel::deciding(speak))).tools(tools);
    let site = Site::serving(engine.outbox(outbox).build(), entourage_server::Settings::default()).await;
    site.work();
    site
}

#[tokio::test]
async fn deliveries_are_listed_one_by_one_narrowed_and_sent_again() {
    let site = site_with_receivers().await;
    let browser = Browser::of(&site);
    let page = browser.page("/console/webhooks/crm").await;
    assert!(page.contains("It has been told of nothing yet"), "{page}");
    let (_, question) = site.asked("hello").await;
    let list = browser.page("/console/webhooks").await;
    assert!(list.contains("/console/webhooks/crm") && !list.contains("other"), "{list}");
    assert!(list.contains("1 pending") && list.contains("Send all again"), "{list}");
    let page = browser.page("/console/webhooks/crm").await;
    let delivery = site.get("/v1/webhooks/crm/deliveries").await.expect(200)["data"][0]["id"].clone();
    let delivery = delivery.as_str().unwrap();
    for part in ["question.opened", &format!("/console/q/{question}"), delivery, "0 attempts", "Send again"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(
        browser
            .page("/console/webhooks/crm?status=delivered")
            .await
            .contains("No delivery is in this status")
    );
    let again = format!("/console/webhooks/crm/deliveries/{delivery}/retry");
    let sent = browser.post(&again, &[("status", "pending")]).await;
    assert_eq!(sent.headers["location"], "/console/webhooks/crm?status=pending", "{}", sent.text);
    let by_script = browser.form(&again, &[("status", "")]).header("hx-request", "true");
    let sent = send(by_script.header("sec-fetch-site", "same-origin")).await;
    assert!(sent.text.starts_with("<main") && sent.text.contains(delivery), "{}", sent.text);
    let all = browser.post("/console/webhooks/crm/retry", &[]).await;
    assert_eq!(all.headers["location"], "/console/webhooks");
    assert_eq!(browser.get("/console/webhooks/other").await.status, StatusCode::NOT_FOUND);
    assert_eq!(browser.get("/console/webhooks/crm?status=lost").await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn the_operator_sees_what_the_doctor_finds_and_has_providers_asked() {
    let site = installed().await;
    let operator = Browser::logged_in(&site, &token_of("local")).await;
    let page = operator.page("/console/server/doctor").await;
    for part in ["model", "not asked", "✓ good", "data-live=\"nothing\""] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(operator.post("/console/server/doctor", &[]).await.text.contains("answers"));
    assert!(operator.page("/console/server").await.contains("/console/server/doctor"));
    let other = Browser::logged_in(&site, &token_of("eve")).await;
    assert_eq!(other.get("/console/server/doctor").await.status, StatusCode::FORBIDDEN);
    let pages = other.page("/console").await;
    assert!(
        pages.contains("href=\"/console/webhooks\"") && !pages.contains("href=\"/console/server\""),
        "{pages}"
    );
}
