//! What pages say to people: amounts, problems, and what one request has in common with another.

use std::{fs, sync::Arc};

use entourage_engine::{Engine, Kinds};
use entourage_llm::{Price, Request, Script, ScriptedModel};
use entourage_server::Settings;
use entourage_store_sqlite::SqliteStore;
use reqwest::StatusCode;
use tempfile::TempDir;

use super::Browser;
use crate::site::{Site, asking};

#[tokio::test]
async fn the_cost_of_a_run_is_as_exact_as_that_of_its_parts() {
    // A scripted answer has 15 tokens.
    let price = Price { input: 1_234.5, output: 1_234.5, cached: None, cache_written: None };
    let model = ScriptedModel::deciding(|_: &Request| Some(Ok(Script::text("Hello.")))).priced(price);
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let site = Site::serving(asking(Arc::new(model), store, Kinds::builtin()), Settings::default()).await;
    site.work();
    let browser = Browser::of(&site);
    let agent = site.done("hello").await;
    let run = site.get(&format!("/v1/agents/{agent}/runs")).await.expect(200)["data"][0]["id"].clone();
    let page = browser.page(&format!("/console/runs/{}", run.as_str().unwrap())).await;
    let shown = "<span title=\"$0.0185175\">$0.0185</span>";
    assert_eq!(page.matches(shown).count(), 2, "of the run, and of its one step: {page}");
}

#[tokio::test]
async fn problems_speak_to_people() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let nowhere = browser.get("/console/nope").await;
    assert_eq!(nowhere.status, StatusCode::NOT_FOUND);
    assert!(nowhere.text.contains("there is no page at `/console/nope`"), "{}", nowhere.text);
    let kind = browser.get("/console/kinds/nobody").await;
    assert!(kind.text.contains("there is no kind `nobody`"), "{}", kind.text);
    assert!(!nowhere.text.contains("GET /") && !kind.text.contains("GET /"), "{}", kind.text);
    let agent = site.done("tell hello").await;
    let run = site.get(&format!("/v1/agents/{agent}/runs")).await.expect(200)["data"][0]["id"].clone();
    let wrong = browser.get(&format!("/console/runs/{}/requests/2?with=abc", run.as_str().unwrap())).await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    assert!(wrong.text.contains("with: `abc` is not a number"), "{}", wrong.text);
    let (_, _) = site.asked("ask").await;
    let kinds = browser.page("/console/kinds").await;
    assert!(kinds.contains("1 open run<"), "{kinds}");
    let long = "x".repeat(9_000);
    let goal = [("title", "Rome"), ("instructions", long.as_str()), ("key", "k")];
    let refused = browser.post("/console/goals", &goal).await;
    assert!(refused.text.contains("the instructions have 9000 bytes"), "{}", refused.text);
}

#[tokio::test]
async fn a_request_that_is_the_beginning_of_another_one_or_compared_with_itself_says_so() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let agent = site.done("tell hello").await;
    let run = site.get(&format!("/v1/agents/{agent}/runs")).await.expect(200)["data"][0]["id"].clone();
    let request = |rest: &str| format!("/console/runs/{}/requests/{rest}", run.as_str().unwrap());
    let first = browser.page(&request("1?with=2")).await;
    assert!(first.contains("All of this is the beginning of call 2"), "{first}");
    let itself = browser.page(&request("2?with=2")).await;
    assert!(itself.contains("It is compared with itself"), "{itself}");
    assert!(itself.contains("/requests/1?with=2\" rel=\"prev\""), "the other one is kept: {itself}");
    assert!(first.contains("/requests/2\" rel=\"next\""), "but not as the page itself: {first}");
}

#[tokio::test]
async fn a_file_that_was_left_out_is_named_among_the_kinds() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("broken.md"), "---\nname: broken\nmodel: [\n---\nX.\n").unwrap();
    let mut kinds = Kinds::builtin();
    kinds.load(directory.path()).unwrap();
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let model = ScriptedModel::new([Script::text("Hello.")]);
    let engine = Engine::builder(store, Arc::new(model)).kinds(kinds).build();
    let site = Site::serving(engine, Settings::default()).await;
    let page = Browser::of(&site).page("/console/kinds").await;
    for part in ["Left out, for their mistakes", "broken.md</code>, line "] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let whole = Browser::of(&Site::open().await).page("/console/kinds").await;
    assert!(!whole.contains("Left out"), "{whole}");
}
