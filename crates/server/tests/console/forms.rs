//! What forms do, and whose forms are taken.

use reqwest::StatusCode;
use serde_json::Value;

use super::Browser;
use crate::site::{Site, send};

async fn interventions(site: &Site, agent: &str) -> Vec<Value> {
    let list = site.get(&format!("/v1/agents/{agent}/interventions")).await.expect(200);
    list["data"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_form_that_is_sent_twice_has_its_effect_once() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    for _ in 0..2 {
        let asked = [("text", "hello"), ("kind", ""), ("key", "first")];
        let made = browser.post("/console/agents", &asked).await;
        assert_eq!(made.status, StatusCode::SEE_OTHER, "{}", made.text);
    }
    let all = site.get("/v1/agents").await.expect(200)["data"].as_array().unwrap().clone();
    assert_eq!(all.len(), 1, "{all:?}");
    let agent = all[0]["id"].as_str().unwrap();
    let path = format!("/console/agents/{agent}/messages");
    for _ in 0..2 {
        let steered = browser.post(&path, &[("text", "look"), ("steer", "true"), ("key", "second")]).await;
        assert_eq!(steered.headers["location"].to_str().unwrap(), format!("/console/agents/{agent}"));
    }
    assert_eq!(interventions(&site, agent).await.len(), 1);
    let by_script = browser.form(&path, &[("text", "more"), ("key", "third")]);
    let sent = send(by_script.header("hx-request", "true").header("sec-fetch-site", "same-origin")).await;
    assert_eq!(sent.status, StatusCode::NO_CONTENT);
    assert!(sent.headers["hx-trigger"].to_str().unwrap().contains("sent"), "the form gets another key");
}

#[tokio::test]
async fn each_intervention_has_its_form() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let agent = site.make("later").await;
    let page = browser.page(&format!("/console/agents/{agent}")).await;
    let path = format!("/console/agents/{agent}/interventions");
    for action in ["pause", "comment", "resume", "steer", "stop", "delete"] {
        assert!(page.contains(&format!("<option value=\"{action}\"")), "{action}: {page}");
        let done = browser.post(&path, &[("action", action), ("text", "why"), ("key", action)]).await;
        let needs_none = ["pause", "resume", "stop", "delete"].contains(&action);
        if done.status != StatusCode::SEE_OTHER && needs_none {
            let done = browser.post(&path, &[("action", action), ("text", ""), ("key", action)]).await;
            assert_eq!(done.status, StatusCode::SEE_OTHER, "{action}: {}", done.text);
        } else {
            assert_eq!(done.status, StatusCode::SEE_OTHER, "{action}: {}", done.text);
        }
    }
    assert_eq!(interventions(&site, &agent).await.len(), 6);
    assert_eq!(site.get(&format!("/v1/agents/{agent}")).await.expect(200)["status"], "cancelled");
}

#[tokio::test]
async fn a_form_of_another_page_is_refused_and_changes_nothing() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let agent = site.make("later").await;
    let path = format!("/console/agents/{agent}/interventions");
    let form = || browser.form(&path, &[("action", "delete"), ("key", "k")]);
    let host = site.address.to_string();
    for (site_word, origin) in [
        (None, None),
        (Some("same-site"), Some("http://127.0.0.1:1".to_owned())),
        (Some("cross-site"), Some("https://evil.example".to_owned())),
        (Some("none"), None),
        (None, Some("http://127.0.0.1:1".to_owned())),
        (None, Some("null".to_owned())),
    ] {
        let mut request = form();
        if let Some(word) = site_word {
            request = request.header("sec-fetch-site", word);
        }
        if let Some(origin) = &origin {
            request = request.header("origin", origin);
        }
        let refused = send(request).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{site_word:?} {origin:?}: {}", refused.text);
    }
    assert_eq!(interventions(&site, &agent).await.len(), 0);
    let own = send(form().header("origin", format!("http://{host}"))).await;
    assert_eq!(own.status, StatusCode::SEE_OTHER, "an old browser sends no more than this: {}", own.text);
}

#[tokio::test]
async fn all_below_an_agent_at_rest_are_stopped_with_it() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let (root, _) = site.asked("tell ask").await;
    let path = format!("/console/agents/{root}/interventions");
    let form = |key: &'static str| {
        let form = browser.form(&path, &[("action", "stop"), ("below", "true"), ("key", key)]);
        send(form.header("sec-fetch-site", "same-origin").header("hx-request", "true"))
    };
    let told = form("once").await;
    assert_eq!(told.status, StatusCode::NO_CONTENT, "{}", told.text);
    assert!(told.headers["hx-trigger"].to_str().unwrap().contains("stop: 2 agents."), "{:?}", told.headers);
    let stopped = async || {
        let tree = site.get(&format!("/v1/agents/{root}/tree")).await.expect(200);
        tree["root"]["status"] == "stopped" && tree["root"]["children"][0]["status"] == "stopped"
    };
    crate::stream::within("both have stopped", async { while !stopped().await {} }).await;
    let again = form("twice").await;
    assert_eq!(again.status, StatusCode::CONFLICT, "nothing is at work any more: {}", again.text);
}

#[tokio::test]
async fn a_file_of_a_kind_is_checked_and_not_saved() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let wrong = "---\nname: helper\nno front matter";
    let checked = browser.post("/console/kinds/check", &[("text", wrong)]).await;
    for part in ["<strong>Mistake</strong>", "no front matter", "data-live=\"nothing\""] {
        assert!(checked.text.contains(part), "{part}: {}", checked.text);
    }
    let right = "---\nname: helper\ndescription: Helps.\n---\nYou help.\n";
    let checked = browser.post("/console/kinds/check", &[("text", right)]).await;
    assert!(checked.text.contains("Nothing is wrong with it"), "{}", checked.text);
    assert_eq!(browser.get("/console/kinds/helper").await.status, StatusCode::NOT_FOUND);
}
