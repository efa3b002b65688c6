//! An agent that waits for more budget, and the form that grants it.

use std::sync::Arc;

use entourage_engine::{Budgets, Engine, Kinds};
use entourage_llm::{Price, Script, ScriptedModel};
use entourage_server::Settings;
use entourage_store_sqlite::SqliteStore;
use entourage_types::{Kind, Limits};
use reqwest::StatusCode;

use super::Browser;
use crate::{
    site::{Site, send},
    stream::within,
};

/// A site of which each tree may use as many tokens.
async fn limited_to(tokens: u64) -> Site {
    let limits = Limits { max_tree_tokens: Some(tokens), max_answer_tokens: Some(50), ..Limits::default() };
    Site::of_kinds(Kinds::none().with(Kind { limits, ..Kind::bare("assistant") })).await
}

/// Waits until the agent is in this state.
async fn until(site: &Site, id: &str, name: &str, value: &str) {
    let is_there = async || site.get(&format!("/v1/agents/{id}")).await.expect(200)[name] == value;
    within("the agent is so far", async {
        while !is_there().await {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// The value of the key in the form that grants.
fn key(page: &str) -> String {
    let form = page.split("/budget\" hx-swap").nth(1).expect("a form that grants");
    form.split("name=\"key\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn an_agent_that_waits_for_budget_says_so_and_a_form_grants_more_once() {
    let site = limited_to(10).await;
    let browser = Browser::of(&site);
    let id = site.make("hello").await;
    until(&site, &id, "waiting_on", "retry").await;
    for page in ["agents", "chats", "trees"] {
        let path = format!("/console/{page}/{id}");
        let text = browser.page(&path).await;
        for part in ["for more budget", "name=\"tokens\"", &format!("name=\"from\" value=\"{page}\"")] {
            assert!(text.contains(part), "{page}, {part}: {text}");
        }
        assert!(!text.contains("for a retry") && !text.contains("<button>Try again"), "{page}: {text}");
        assert!(!text.contains("name=\"cost\""), "money is not limited: {text}");
        assert_eq!(key(&text), key(&browser.page(&path).await), "{page}");
    }
    for list in ["/console/trees", "/console/runs"] {
        let text = browser.page(list).await;
        assert!(text.contains("for more budget") && !text.contains("for a retry"), "{list}: {text}");
    }
    let (path, key) =
        (format!("/console/agents/{id}/budget"), key(&browser.page(&format!("/console/chats/{id}")).await));
    for (tokens, why) in [("many", "`many` is no number of tokens"), ("", "nothing is granted")] {
        let refused = browser.post(&path, &[("tokens", tokens), ("key", &key), ("from", "chats")]).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.text);
        assert!(refused.text.contains(why), "{}", refused.text);
    }
    let wrong = browser.post(&path, &[("cost", "a lot"), ("key", &key), ("from", "chats")]).await;
    assert!(wrong.text.contains("`a lot` is no amount of money"), "{}", wrong.text);
    for _ in 0..2 {
        let form = [("tokens", "100000"), ("cost", ""), ("key", &key), ("from", "chats")];
        let granted = browser.post(&path, &form).await;
        assert_eq!(granted.headers["location"], format!("/console/chats/{id}"), "{}", granted.text);
    }
    let budget = site.get(&format!("/v1/agents/{id}/budget")).await.expect(200);
    assert_eq!(budget["data"][0]["granted"]["tokens"], 100_000, "{budget}");
    until(&site, &id, "status", "succeeded").await;
    assert!(!browser.page(&format!("/console/agents/{id}")).await.contains("/budget\""));
}

#[tokio::test]
async fn a_grant_by_a_script_stays_on_the_page() {
    let site = limited_to(10).await;
    let browser = Browser::of(&site);
    let id = site.make("hello").await;
    until(&site, &id, "waiting_on", "retry").await;
    let form = browser.form(&format!("/console/agents/{id}/budget"), &[("tokens", "5"), ("from", "agents")]);
    let granted = send(form.header("hx-request", "true").header("sec-fetch-site", "same-origin")).await;
    assert_eq!(granted.status, StatusCode::NO_CONTENT, "{}", granted.text);
    assert!(granted.headers["hx-trigger"].to_str().unwrap().contains("Granted"), "{:?}", granted.headers);
}

#[tokio::test]
async fn the_budget_of_a_day_is_said_to_be_a_setting() {
    let price = Price { input: 1000.0, output: 1000.0, cached: None, cache_written: None };
    let model = ScriptedModel::new([Script::text("Hello.")]).priced(price);
    let per_day = Some("$0.00001".parse().unwrap());
    let budgets = Budgets { per_owner_per_day: per_day, ..Budgets::default() };
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let engine = Engine::builder(store, Arc::new(model)).kinds(Kinds::none().with(Kind::bare("assistant")));
    let site = Site::serving(engine.budgets(budgets).build(), Settings::default()).await;
    site.work();
    let id = site.make("hello").await;
    until(&site, &id, "waiting_on", "retry").await;
    let page = Browser::of(&site).page(&format!("/console/chats/{id}")).await;
    for part in ["for more budget", "budget.per_owner_per_day", "goes on tomorrow"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("/budget\"") && !page.contains("<button>Try again"), "{page}");
}
