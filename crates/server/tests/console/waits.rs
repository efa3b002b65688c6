//! What pages say of agents that wait: since when, until when, and when they read what is written to them.

use std::{sync::Arc, time::Duration};

use entourage_engine::Kinds;
use entourage_llm::{Error, Message, Request, Script, ScriptedModel};
use entourage_server::Settings;
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::{FakeClock, quiet};
use reqwest::StatusCode;
use serde_json::json;

use super::Browser;
use crate::{
    goal_site,
    site::{Site, asking},
    stream::within,
};

/// The part of a page between two texts.
fn between<'p>(page: &'p str, from: &str, to: &str) -> &'p str {
    let rest = page.split_once(from).unwrap_or_else(|| panic!("{from} is not on {page}")).1;
    rest.split(to).next().unwrap()
}

#[tokio::test]
async fn a_message_that_waits_for_an_answer_says_so_and_what_reaches_the_agent_now() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let (agent, _) = site.asked("ask").await;
    let since = |page: &str| between(page, "assistant · ", "</time>").to_owned();
    let before = since(&browser.page(&format!("/console/agents/{agent}")).await);
    assert!(before.starts_with("<time") && !before.contains("changed"), "{before}");
    let said = [("text", "by the way"), ("key", "k")];
    browser.post(&format!("/console/agents/{agent}/messages"), &said).await;
    for page in ["agents", "chats"] {
        let text = browser.page(&format!("/console/{page}/{agent}")).await;
        let unread = between(&text, "message unread", "</article>");
        for part in ["by the way", "is read once the question is answered", "<em>modify</em> reaches"] {
            assert!(unread.contains(part), "{page}, {part}: {unread}");
        }
        assert_eq!(since(&text), before, "a message does not change since when it waits");
        // Shown while it waits for a person.
        assert!(
            text.contains("What you write here is read after that.") && text.contains("data-on=\"user\"")
        );
    }
    for tree in ["/console/trees".to_owned(), format!("/console/trees/{agent}")] {
        let text = browser.page(&tree).await;
        assert!(text.contains(&before) && !text.contains("changed <time"), "{tree}: {text}");
    }
    let done = site.done("hello").await;
    let rests = browser.page(&format!("/console/agents/{done}")).await;
    assert!(rests.contains("changed <time"), "nothing tells since when it rests: {rests}");
}

#[tokio::test]
async fn a_wait_says_until_when_as_a_time_and_that_a_message_is_read_then() {
    let model = ScriptedModel::deciding(|request: &Request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(_)) => Script::call("wait", json!({ "seconds": 3600 })),
            _ => Script::text("Done."),
        }))
    });
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let site =
        Site::serving(asking(Arc::new(model), store, quiet(Kinds::builtin())), Settings::default()).await;
    site.work();
    let browser = Browser::of(&site);
    let agent = site.make("later").await;
    let sleeps = async || site.get(&format!("/v1/agents/{agent}")).await.expect(200)["waiting_on"] == "timer";
    within("it sleeps", async { while !sleeps().await {} }).await;
    browser.post(&format!("/console/agents/{agent}/messages"), &[("text", "news"), ("key", "k")]).await;
    let why = site.get(&format!("/v1/agents/{agent}/why")).await.expect(200);
    let time = format!("<time datetime=\"{}\" data-clock>", why["due"].as_str().unwrap());
    for page in ["agents", "chats", "trees"] {
        let text = browser.page(&format!("/console/{page}/{agent}")).await;
        assert!(text.contains(&format!("sleeps until {time}")), "{page}: {text}");
        assert!(text.contains("not read yet: message"), "{page}: {text}");
    }
    let text = browser.page(&format!("/console/chats/{agent}")).await;
    let unread = between(&text, "message unread", "</article>");
    assert!(unread.contains(&format!("is read at the end of its wait, at {time}")), "{unread}");
}

#[tokio::test]
async fn a_failure_leads_to_its_cause_instead_of_to_the_log() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let failed = site.make("break").await;
    site.follow(&failed, 0).await.until(|frame| frame.is_status_of(&failed, "failed")).await;
    for page in ["chats", "agents"] {
        let text = browser.page(&format!("/console/{page}/{failed}")).await;
        assert!(text.contains("refused the request") && !text.contains("in the log"), "{page}: {text}");
    }
    let chat = browser.page(&format!("/console/chats/{failed}")).await;
    let cause = between(&chat, &format!("href=\"/console/agents/{failed}#i"), "</a>");
    assert!(cause.ends_with(">the cause"), "{cause}");
}

#[tokio::test]
async fn filters_offer_what_can_occur_and_a_task_says_that_its_agent_waits() {
    let site = goal_site::site().await;
    let browser = Browser::of(&site);
    let offered = |page: &str| -> Vec<String> {
        let select = between(page, "id=\"filter-status\"", "</select>");
        select.split("<option").skip(2).map(|option| between(option, ">", "<").to_owned()).collect()
    };
    let tasks = offered(&browser.page("/console/tasks").await);
    assert_eq!(tasks, ["queued", "succeeded", "failed", "cancelled"]);
    let runs = offered(&browser.page("/console/runs").await);
    assert_eq!(runs, ["running", "waiting", "succeeded", "failed", "stopped", "cancelled"]);
    let trees = offered(&browser.page("/console/trees").await);
    assert!(trees.contains(&"idle".to_owned()) && !trees.contains(&"queued".to_owned()), "{trees:?}");

    let site = Site::open().await;
    let browser = Browser::of(&site);
    site.asked("tell ask").await;
    let page = browser.page("/console/tasks?status=queued").await;
    assert!(page.contains("its agent waits for a person"), "{page}");
}

#[tokio::test]
async fn parameters_that_a_page_does_not_know_are_passed_over() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let agent = site.done("hello").await;
    for page in [
        "",
        "/answered",
        "/chats",
        "/trees",
        "/runs",
        "/goals",
        "/tasks",
        "/schedules",
        "/documents",
        "/memory",
        "/usage",
        "/grants",
        "/feed",
    ] {
        browser.page(&format!("/console{page}?x=1&utm=2")).await;
    }
    for page in ["agents", "chats", "trees"] {
        browser.page(&format!("/console/{page}/{agent}?x=1")).await;
    }
    let wrong = browser.get("/console/runs?status=lost&x=1").await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST, "{}", wrong.text);
}

#[tokio::test]
async fn nothing_of_a_run_goes_on_after_its_end() {
    let clock = FakeClock::default();
    let hour = Some(Duration::from_secs(3600));
    let model = ScriptedModel::new([]);
    model.push(Err(Error::RateLimited { model: "m".into(), retry_after: hour }));
    let engine = goal_site::engine(model, &clock, Kinds::builtin()).build();
    let site = Site::serving(engine, Settings::default()).await;
    site.work();
    let browser = Browser::of(&site);
    let agent = site.make("hello").await;
    let is = async |what: &str, value: &str| {
        site.get(&format!("/v1/agents/{agent}")).await.expect(200)[what] == value
    };
    within("it waits", async { while !is("waiting_on", "retry").await {} }).await;
    clock.advance(Duration::from_secs(60));
    let stop = [("action", "stop"), ("key", "k")];
    browser.post(&format!("/console/agents/{agent}/interventions"), &stop).await;
    within("it has ended", async { while !is("status", "stopped").await {} }).await;
    clock.advance(Duration::from_secs(600));
    let runs = site.get(&format!("/v1/agents/{agent}/runs")).await.expect(200);
    let page = browser.page(&format!("/console/runs/{}", runs["data"][0]["id"].as_str().unwrap())).await;
    let row = between(&page, "model call 1", "</tr>");
    assert!(row.contains(">1 min 0 s<") && row.contains("class=\"waits\""), "{row}");
}
