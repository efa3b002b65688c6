//! Chats on pages.

use reqwest::StatusCode;

use super::Browser;
use crate::{
    agencies::desk,
    site::{Answer, Site, send},
};

/// The id at the end of where a response leads.
pub(super) fn led_to(answer: &Answer, page: &str) -> String {
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    let location = answer.headers["location"].to_str().unwrap();
    location.strip_prefix(page).unwrap_or_else(|| panic!("{location} is not on {page}")).to_owned()
}

#[tokio::test]
async fn chats_are_listed_with_what_was_said_last_but_for_those_that_nobody_can_write_to() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    assert!(browser.page("/console/chats").await.contains("You have talked to nobody"));
    let done = site.done("hello").await;
    let (waits, _) = site.asked("ask").await;
    let gone = site.done("farewell").await;
    let ended = [("action", "delete"), ("key", "k")];
    browser.post(&format!("/console/agents/{gone}/interventions"), &ended).await;
    let page = browser.page("/console/chats").await;
    for part in [&done, &waits, "You said: hello", "asks: Which colour?"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains(&gone), "{page}");
    let some = browser.page("/console/chats?text=hello").await;
    assert!(some.contains(&done) && !some.contains(&waits), "{some}");
    assert!(browser.page("/console/chats?text=nowhere").await.contains("No chat fits"));
}

#[tokio::test]
async fn a_chat_has_what_was_said_questions_with_their_forms_and_who_works_for_it() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let (root, question) = site.asked("tell ask").await;
    let chat = format!("/console/chats/{root}");
    let page = browser.page(&chat).await;
    let tree = site.get(&format!("/v1/agents/{root}/tree")).await.expect(200);
    let below = tree["root"]["children"][0]["id"].as_str().unwrap().to_owned();
    for part in [
        "<p>tell ask</p>",
        "Which colour?",
        &format!("/console/q/{question}/answer"),
        &below,
        "1 open question",
        "name=\"steer\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("send_message"), "calls are on the page of the agent: {page}");
    let answered = [("act", "say"), ("option", "red"), ("chat", root.as_str())];
    let by_script = browser.form(&format!("/console/q/{question}/answer"), &answered);
    let shown = send(by_script.header("hx-request", "true").header("sec-fetch-site", "same-origin")).await;
    assert!(shown.text.contains(&format!("hx-get=\"/console/f/chats/{root}\"")), "{}", shown.text);
    site.follow(&root, 0).await.until(|frame| frame.is_status_of(&root, "succeeded")).await;
    let page = browser.page(&chat).await;
    assert!(page.contains("what was answered") && page.contains("It came back:"), "{page}");
    assert!(page.contains("<strong>answered</strong>: red"), "{page}");
    let (agent, question) = site.asked("ask").await;
    let answered = [("act", "decline"), ("chat", agent.as_str())];
    let done = browser.post(&format!("/console/q/{question}/answer"), &answered).await;
    assert_eq!(led_to(&done, "/console/chats/"), agent);
    let said = [("text", "more"), ("chat", "true"), ("key", "k")];
    let sent = browser.post(&format!("/console/agents/{agent}/messages"), &said).await;
    assert_eq!(led_to(&sent, "/console/chats/"), agent);
}

#[tokio::test]
async fn what_has_failed_is_said_and_tried_again_where_that_may_help() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let failed = site.make("break").await;
    site.follow(&failed, 0).await.until(|frame| frame.is_status_of(&failed, "failed")).await;
    for page in [format!("/console/agents/{failed}"), format!("/console/chats/{failed}")] {
        let page = browser.page(&page).await;
        for part in
            ["item notice error", "the service behind the model refused the request", "<button>Try again"]
        {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
    let page = browser.page(&format!("/console/chats/{failed}")).await;
    let key = page.split("name=\"key\" value=\"retry/").nth(1).unwrap().split('"').next().unwrap();
    let again = [("action", "retry"), ("chat", "true"), ("key", &format!("retry/{key}"))];
    let path = format!("/console/agents/{failed}/interventions");
    assert_eq!(led_to(&browser.post(&path, &again).await, "/console/chats/"), failed);
    let done = site.done("hello").await;
    assert!(!browser.page(&format!("/console/chats/{done}")).await.contains("<button>Try again"));
}

#[tokio::test]
async fn a_question_of_work_that_was_stopped_has_not_expired() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let (agent, question) = site.asked("ask").await;
    let stop = [("action", "stop"), ("key", "k")];
    browser.post(&format!("/console/agents/{agent}/interventions"), &stop).await;
    site.follow(&agent, 0).await.until(|frame| frame.is_status_of(&agent, "stopped")).await;
    for page in [format!("/console/q/{question}"), format!("/console/chats/{agent}")] {
        let page = browser.page(&page).await;
        assert!(page.contains("<strong>not answered: the work that asked has ended</strong>"), "{page}");
    }
}

#[tokio::test]
async fn a_chat_begins_with_a_kind_or_with_an_agency_and_once() {
    let site = desk().await;
    let browser = Browser::of(&site);
    let page = browser.page("/console/chats").await;
    for part in ["<option value=\"kind=researcher\">", "<option value=\"agency=desk\">"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    for (with, kind) in [
        ("", "assistant"),
        ("kind=researcher", "researcher"),
        ("agency=desk", "assistant"),
        ("agency=desk/assistant", "assistant"),
    ] {
        let asked = [("text", "hello"), ("with", with), ("key", with), ("chat", "true")];
        let [one, other] =
            [browser.post("/console/agents", &asked).await, browser.post("/console/agents", &asked).await];
        let agent = led_to(&one, "/console/chats/");
        // Without a key nothing says that it is the same.
        assert_eq!(agent == led_to(&other, "/console/chats/"), !with.is_empty(), "{with}");
        let made = site.get(&format!("/v1/agents/{agent}")).await.expect(200);
        assert_eq!(made["kind"], kind, "{with}");
        site.follow(&agent, 0).await.until(|frame| frame.is_status_of(&agent, "succeeded")).await;
        let page = browser.page(&format!("/console/chats/{agent}")).await;
        assert!(page.contains("<p>hello</p>") && page.contains("You said: "), "{with}: {page}");
    }
    for (with, status) in [
        ("someone", StatusCode::UNPROCESSABLE_ENTITY),
        ("kind=nobody", StatusCode::UNPROCESSABLE_ENTITY),
        ("agency=none", StatusCode::NOT_FOUND),
    ] {
        let refused =
            browser.post("/console/agents", &[("text", "hello"), ("with", with), ("key", "k")]).await;
        assert_eq!(refused.status, status, "{with}: {}", refused.text);
    }
}

#[tokio::test]
async fn an_answer_on_the_page_of_an_agent_leads_back_to_it() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let (agent, question) = site.asked("ask").await;
    let page = browser.page(&format!("/console/agents/{agent}")).await;
    assert!(page.contains(&format!("<input type=\"hidden\" name=\"agent\" value=\"{agent}\">")), "{page}");
    let answered = [("act", "say"), ("option", "red"), ("agent", agent.as_str())];
    let by_script = browser.form(&format!("/console/q/{question}/answer"), &answered);
    let shown = send(by_script.header("hx-request", "true").header("sec-fetch-site", "same-origin")).await;
    assert!(shown.text.contains(&format!("hx-get=\"/console/f/agents/{agent}\"")), "{}", shown.text);
}
