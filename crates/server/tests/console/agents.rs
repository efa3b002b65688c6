//! Trees and agents on pages.

use super::Browser;
use crate::site::Site;

#[tokio::test]
async fn trees_are_listed_with_what_each_waits_for_and_narrowed() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    assert!(browser.page("/console/trees").await.contains("No agent has been asked anything"));
    let (waits, _) = site.asked("ask").await;
    let done = site.done("hello").await;
    let page = browser.page("/console/trees").await;
    for part in [&waits, &done, "for a person", "asks: Which colour?", "succeeded"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let waiting = browser.page("/console/trees?status=waiting").await;
    assert!(waiting.contains(&waits) && !waiting.contains(&done), "{waiting}");
    assert!(browser.page("/console/trees?text=nowhere").await.contains("No tree fits"));
    let wrong = browser.get("/console/trees?status=lost").await;
    assert!(wrong.status.is_client_error() && wrong.text.contains("status"), "{}", wrong.text);
}

#[tokio::test]
async fn a_tree_shows_each_agent_below_the_one_it_works_for() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let (root, _) = site.asked("tell ask").await;
    let page = browser.page(&format!("/console/trees/{root}")).await;
    let levels: Vec<&str> = page.split("aria-level=\"").skip(1).map(|rest| &rest[..1]).collect();
    assert_eq!(levels, ["1", "2"], "{page}");
    for part in ["researcher", "for another agent", "1 question", "data-below=\"1\"", "2 agents"] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[tokio::test]
async fn a_transcript_has_every_item_with_outputs_at_their_calls_and_why_it_waits() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let (agent, question) = site.asked("ask aloud").await;
    let page = browser.page(&format!("/console/agents/{agent}")).await;
    for part in
        ["ask aloud", "A colour is missing.", "ask_user", "no output yet", "asks: Which colour?", &question]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let answered = [("act", "say"), ("text", "Blue, of course.")];
    browser.post(&format!("/console/q/{question}/answer"), &answered).await;
    site.follow(&agent, 0).await.until(|frame| frame.is_status_of(&agent, "succeeded")).await;
    let page = browser.page(&format!("/console/agents/{agent}")).await;
    assert!(page.contains("Blue, of course.") && !page.contains("no output yet"), "{page}");
    assert!(!page.contains(">Earlier<") && !page.contains(">Later<"), "{page}");
    let later = browser.page(&format!("/console/agents/{agent}?from=2")).await;
    assert!(later.contains(">Earlier<") && !later.contains(">ask aloud</p>"), "{later}");
}

#[tokio::test]
async fn events_have_every_number_and_lead_to_the_tree_as_it_was() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let root = site.done("tell hello").await;
    let last = site.get(&format!("/v1/agents/{root}/tree?at=1")).await.expect(200)["last"].as_u64().unwrap();
    let page = browser.page(&format!("/console/trees/{root}/events")).await;
    for number in 1..=last {
        assert!(page.contains(&format!("id=\"e{number}\"")), "{number} of {last}: {page}");
    }
    assert!(!page.contains("are missing"), "{page}");
    let first = browser.page(&format!("/console/trees/{root}?at=1")).await;
    assert!(first.contains("1 agents") && !first.contains("researcher"), "{first}");
    let whole = browser.page(&format!("/console/trees/{root}?at={last}")).await;
    let told = site.get(&format!("/v1/agents/{root}/tree?at={last}")).await.expect(200);
    for agent in told["agents"].as_array().unwrap() {
        let (id, status) = (agent["id"].as_str().unwrap(), agent["status"].as_str().unwrap());
        let row = whole.split(&format!("id=\"{id}\"")).nth(1).and_then(|rest| rest.split("</tr>").next());
        assert!(row.is_some_and(|row| row.contains(status)), "{id} is {status}: {whole}");
    }
    let beyond = browser.get(&format!("/console/trees/{root}?at={}", last + 1)).await;
    assert!(beyond.status.is_client_error(), "{}", beyond.text);
}
