//! The list of runs.

use std::sync::Arc;

use entourage_engine::Kinds;
use entourage_server::Settings;
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::quiet;
use reqwest::StatusCode;
use tokio::sync::Semaphore;

use super::Browser;
use crate::{
    site::{Site, asking},
    start::Endless,
    stream::within,
};

#[tokio::test]
async fn runs_are_listed_with_their_agents_and_narrowed() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    assert!(browser.page("/console/runs").await.contains("No agent has worked yet"));
    let done = site.done("hello").await;
    let (waits, _) = site.asked("ask").await;
    let run = async |agent: &str| {
        let runs = site.get(&format!("/v1/agents/{agent}/runs")).await.expect(200);
        runs["data"][0].clone()
    };
    let (done_run, waiting_run) = (run(&done).await, run(&waits).await);
    let id = |run: &serde_json::Value| run["id"].as_str().unwrap().to_owned();
    let all = browser.page("/console/runs").await;
    for part in
        [&id(&done_run), &id(&waiting_run), ">hello</a>", "for a person", "completed", "1 model call "]
    {
        assert!(all.contains(part), "{part}: {all}");
    }
    let version = done_run["kind_version"].as_str().unwrap();
    for (query, has_done, has_waiting) in [
        (format!("agent={done}"), true, false),
        (format!("root={waits}"), false, true),
        ("status=waiting&kind=&stop_reason=".to_owned(), false, true),
        ("stop_reason=completed".to_owned(), true, false),
        (format!("kind=assistant&version={version}"), true, true),
        ("kind=nobody".to_owned(), false, false),
    ] {
        let page = browser.page(&format!("/console/runs?{query}")).await;
        let has = |run| page.contains(&format!("data-open=\"/console/runs/{}\"", id(run)));
        assert_eq!([has(&done_run), has(&waiting_run)], [has_done, has_waiting], "{query}: {page}");
        assert!(has_done || has_waiting || page.contains("No run fits"), "{query}: {page}");
    }
    for query in ["status=lost", "stop_reason=boredom", "agent=me"] {
        let wrong = browser.get(&format!("/console/runs?{query}")).await;
        assert_eq!(wrong.status, StatusCode::BAD_REQUEST, "{}", wrong.text);
        assert!(wrong.text.contains(query.split('=').next().unwrap()), "{}", wrong.text);
    }
    for (page, link) in [
        (format!("/console/agents/{done}"), format!("/console/runs?agent={done}")),
        ("/console/kinds/assistant".to_owned(), "/console/runs?kind=assistant".to_owned()),
        ("/console/trees".to_owned(), "/console/runs".to_owned()),
    ] {
        let text = browser.page(&page).await;
        assert!(text.contains(&format!("href=\"{link}\"")), "{page}: {text}");
    }
}

#[tokio::test]
async fn a_run_says_that_it_is_calling_the_model_before_any_step_is_on_record() {
    let begun = Arc::new(Semaphore::new(0));
    let endless = Arc::new(Endless(Arc::clone(&begun)));
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let site = Site::serving(asking(endless, store, quiet(Kinds::builtin())), Settings::default()).await;
    site.work();
    let agent = site.make("hello").await;
    within("a model is asked", begun.acquire()).await.unwrap().forget();
    let runs = site.get(&format!("/v1/agents/{agent}/runs")).await.expect(200);
    let run = runs["data"][0].clone();
    let page = Browser::of(&site).page(&format!("/console/runs/{}", run["id"].as_str().unwrap())).await;
    let since =
        format!("It is calling the model, since <time datetime=\"{}\"", run["started"].as_str().unwrap());
    assert!(page.contains(&since) && !page.contains("no step yet"), "{page}");
    let done = Site::open().await;
    let agent = done.done("hello").await;
    let runs = done.get(&format!("/v1/agents/{agent}/runs")).await.expect(200);
    let path = format!("/console/runs/{}", runs["data"][0]["id"].as_str().unwrap());
    assert!(!Browser::of(&done).page(&path).await.contains("calling the model"));
}

#[tokio::test]
async fn further_runs_are_on_the_next_page_under_the_same_conditions() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    for _ in 0..51 {
        site.make("hello").await;
    }
    let all_done = async || {
        let runs = site.get("/v1/runs?status=succeeded&limit=200").await.expect(200);
        runs["data"].as_array().unwrap().len() == 51
    };
    within("all have worked", async { while !all_done().await {} }).await;
    let first = browser.page("/console/runs?kind=assistant&status=succeeded").await;
    assert_eq!(first.matches("<article").count(), 50);
    let next = first.split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    let next = next.replace("&#38;", "&");
    assert!(next.contains("&kind=assistant&status=succeeded"), "{next}");
    let second = browser.page(&format!("/console/runs{next}")).await;
    assert_eq!(second.matches("<article").count(), 1, "{second}");
}
