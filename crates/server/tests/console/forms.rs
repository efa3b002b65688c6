//! What forms do, and whose forms are taken.

use reqwest::StatusCode;
use serde_json::{Value, json};

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

/// What a page says of an intervention that its script has sent.
async fn said(browser: &Browser<'_>, agent: &str, action: &str) -> String {
    let key = format!("{action} {agent}");
    let form =
        browser.form(&format!("/console/agents/{agent}/interventions"), &[("action", action), ("key", &key)]);
    let sent = send(form.header("hx-request", "true").header("sec-fetch-site", "same-origin")).await;
    assert_eq!(sent.status, StatusCode::NO_CONTENT, "{}", sent.text);
    let told: Value = serde_json::from_str(sent.headers["hx-trigger"].to_str().unwrap()).unwrap();
    told["sent"]["said"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_stop_and_a_deletion_say_whom_they_end_and_who_goes_on() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let (root, _) = site.asked("tell ask").await;
    // A person has put this one there.
    let own = json!({"kind": "researcher", "parent": root, "message": "ask"});
    let own = site.post("/v1/agents", &own).await.expect(201)["id"].as_str().unwrap().to_owned();
    site.follow(&root, 0).await.until(|frame| frame.is_status_of(&own, "waiting")).await;
    let concerned = |agent: &str| format!("/console/agents/{agent}/concerned");
    let counted: Value = serde_json::from_str(&browser.page(&concerned(&root)).await).unwrap();
    assert_eq!(counted, json!({"stopped": 1, "going_on": 1, "deleted": 2}));
    let stopped = said(&browser, &root, "stop").await;
    assert_eq!(stopped, "Stopped, with 1 agent that it has set to work. Below it 1 agent goes on.");
    site.follow(&root, 0).await.until(|frame| frame.is_status_of(&root, "stopped")).await;
    assert_eq!(site.get(&format!("/v1/agents/{own}")).await.expect(200)["status"], "waiting");
    assert_eq!(said(&browser, &own, "stop").await, "Stopped.");

    let other = site.done("hello").await;
    site.children_of(&other, 2).await;
    assert_eq!(said(&browser, &other, "delete").await, "Deleted, with 2 agents below it.");
    let page = browser.page(&format!("/console/agents/{other}")).await;
    assert!(page.contains("It has ended for good") && !page.contains("id=\"composer\""), "{page}");
}

#[tokio::test]
async fn a_key_that_is_too_long_is_refused_and_nothing_is_made() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let agent = site.make("later").await;
    let long = "k".repeat(256);
    let messages = format!("/console/agents/{agent}/messages");
    let acts = format!("/console/agents/{agent}/interventions");
    for (path, fields) in [
        ("/console/goals", &[("title", "See Rome"), ("key", &long)][..]),
        ("/console/agents", &[("text", "hello"), ("key", &long)]),
        ("/console/agents", &[("text", "hello"), ("chat", "true"), ("key", &long)]),
        (&messages, &[("text", "hello"), ("key", &long)]),
        (&messages, &[("text", "hello"), ("steer", "true"), ("key", &long)]),
        (&acts, &[("action", "pause"), ("key", &long)]),
    ] {
        let refused = browser.post(path, fields).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{path}: {}", refused.text);
        assert!(refused.text.contains("the key of the form has 256 bytes"), "{path}: {}", refused.text);
    }
    assert_eq!(site.get("/v1/agents").await.expect(200)["data"].as_array().unwrap().len(), 1);
    assert_eq!(interventions(&site, &agent).await.len(), 0);
    let once = [("title", "See Rome"), ("key", &"k".repeat(255))];
    for _ in 0..2 {
        assert_eq!(browser.post("/console/goals", &once).await.status, StatusCode::SEE_OTHER);
    }
    assert_eq!(site.get("/v1/goals").await.expect(200)["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn each_intervention_has_its_form() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    for (message, status, actions) in [
        ("later", "waiting", &["pause", "comment", "resume"][..]),
        ("later", "waiting", &["steer"]),
        ("later", "waiting", &["modify"]),
        ("later", "waiting", &["stop"]),
        ("later", "waiting", &["close_session"]),
        ("later", "waiting", &["delete"]),
        ("break", "failed", &["retry"]),
    ] {
        let agent = site.make(message).await;
        site.follow(&agent, 0).await.until(|frame| frame.is_status_of(&agent, status)).await;
        let page = browser.page(&format!("/console/agents/{agent}")).await;
        let path = format!("/console/agents/{agent}/interventions");
        for &action in actions {
            assert!(page.contains(&format!("<option value=\"{action}\"")), "{action}: {page}");
            if ["comment", "steer", "modify"].contains(&action) {
                let silent = browser.post(&path, &[("action", action), ("text", ""), ("key", "none")]).await;
                assert_eq!(silent.status, StatusCode::UNPROCESSABLE_ENTITY, "{action}: {}", silent.text);
                assert!(silent.text.contains("needs a text"), "{action}: {}", silent.text);
            }
            let done = browser.post(&path, &[("action", action), ("text", "why"), ("key", action)]).await;
            assert_eq!(done.status, StatusCode::SEE_OTHER, "{action}: {}", done.text);
        }
        let on_record = interventions(&site, &agent).await;
        let on_record: Vec<_> =
            on_record.iter().rev().map(|done| (done["action"].as_str(), done["text"].as_str())).collect();
        let sent: Vec<_> = actions.iter().map(|action| (Some(*action), Some("why"))).collect();
        assert_eq!(on_record, sent);
    }
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
    assert!(
        told.headers["hx-trigger"].to_str().unwrap().contains("Stopped, with 1 agent below it."),
        "{:?}",
        told.headers
    );
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
