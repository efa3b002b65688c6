//! Trees and agents on pages.

use std::sync::Arc;

use entourage_store_sqlite::{Settings, SqliteStore};
use reqwest::StatusCode;

use super::Browser;
use crate::{site::Site, stream::within};

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
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST, "{}", wrong.text);
    assert!(wrong.text.contains("status"), "{}", wrong.text);
}

#[tokio::test]
async fn a_new_agent_is_of_a_kind_that_works_by_itself() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    for page in ["/console/trees", "/console/chats"] {
        let page = browser.page(page).await;
        for kind in ["assistant", "explorer", "general", "orchestrator", "researcher"] {
            assert!(page.contains(&format!("value=\"kind={kind}\"")), "{kind}: {page}");
        }
        for kind in ["documents", "goal", "task", "user_agent"] {
            assert!(!page.contains(&format!("value=\"kind={kind}\"")), "{kind}: {page}");
        }
    }
}

#[tokio::test]
async fn an_agent_at_work_is_paused_and_resumed_by_a_button() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let (agent, _) = site.asked("ask").await;
    let (page, chat) = (format!("/console/agents/{agent}"), format!("/console/chats/{agent}"));
    let path = format!("{page}/interventions");
    for (offered, other, waits_on) in [("pause", "resume", "resume"), ("resume", "pause", "user")] {
        let text = browser.page(&page).await;
        let named = |act: &str| if act == "pause" { "Pause" } else { "Resume" };
        for text in [&text, &browser.page(&chat).await] {
            // Each has its place, so that neither comes under a pointer that was meant for the other.
            for button in
                [format!("<button>{}<", named(offered)), format!("<button disabled>{}<", named(other))]
            {
                assert!(text.contains(&button), "{button}: {text}");
            }
            assert!(text.contains("data-act=\"stop\" aria-haspopup=\"dialog\">"), "{text}");
        }
        let key = text.split(&format!("value=\"{offered}/")).nth(1).unwrap().split('"').next().unwrap();
        let key = format!("{offered}/{key}");
        browser.post(&path, &[("action", offered), ("key", &key)]).await;
        let waits =
            async || site.get(&format!("/v1/agents/{agent}")).await.expect(200)["waiting_on"] == waits_on;
        within("it is so", async { while !waits().await {} }).await;
    }
    let done = site.done("hello").await;
    for page in [format!("/console/agents/{done}"), format!("/console/chats/{done}")] {
        let text = browser.page(&page).await;
        assert!(!text.contains(">Pause<") && !text.contains("data-act=\"stop\""), "{text}");
    }
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
        ["ask aloud", "A colour is missing.", "ask_user", "no output yet", ">Which colour?<", &question]
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
    assert!(first.contains("1 agent ·") && !first.contains("researcher"), "{first}");
    let whole = browser.page(&format!("/console/trees/{root}?at={last}")).await;
    let told = site.get(&format!("/v1/agents/{root}/tree?at={last}")).await.expect(200);
    for agent in told["agents"].as_array().unwrap() {
        let (id, status) = (agent["id"].as_str().unwrap(), agent["status"].as_str().unwrap());
        let row = whole.split(&format!("id=\"{id}\"")).nth(1).and_then(|rest| rest.split("</tr>").next());
        assert!(row.is_some_and(|row| row.contains(status)), "{id} is {status}: {whole}");
    }
    let beyond = browser.get(&format!("/console/trees/{root}?at={}", last + 1)).await;
    assert_eq!(beyond.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", beyond.text);
}

#[tokio::test]
async fn events_that_are_missing_are_said_to_be_within_a_page_and_between_two() {
    // The site has one tree, whose events have its number above their own.
    const DELETE: &str = "DELETE FROM events WHERE n & 0xffffffff = ?1";
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("entourage.db");
    let store = Arc::new(SqliteStore::open(&path, Settings::default()).unwrap());
    let site = Site::over(store, entourage_server::Settings::default()).await;
    let browser = Browser::of(&site);
    let root = site.done("hello").await;
    site.children_of(&root, 250).await;
    let last = site.get(&format!("/v1/agents/{root}/tree?at=1")).await.expect(200)["last"].as_u64().unwrap();
    let events = format!("/console/trees/{root}/events");
    let missing = |before: u64| format!("Events before number {before} are missing.");
    // The last page begins with `edge`, and the one before it ends right before that.
    let edge = last - 99;
    let database = rusqlite::Connection::open(&path).unwrap();
    for gone in [edge + 50, edge, edge - 1] {
        assert_eq!(database.execute(DELETE, [i64::try_from(gone).unwrap()]).unwrap(), 1);
    }
    let page = browser.page(&events).await;
    assert!(page.contains(&missing(edge + 51)) && page.contains(&missing(edge + 1)), "{page}");
    assert_eq!(page.matches("are missing").count(), 2, "{page}");
    let earlier = browser.page(&format!("{events}?before={edge}")).await;
    assert!(earlier.contains(&missing(edge)), "{earlier}");
    assert_eq!(earlier.matches("are missing").count(), 1, "{earlier}");
    for (query, gaps) in [(format!("after={}", edge - 1), 2), ("after=0".to_owned(), 0)] {
        let page = browser.page(&format!("{events}?{query}")).await;
        assert_eq!(page.matches("are missing").count(), gaps, "{query}: {page}");
    }
}

#[tokio::test]
async fn a_large_tree_is_shown_a_level_at_a_time_with_sums_of_what_is_below() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let root = site.done("hello").await;
    let children = site.children_of(&root, 250).await;
    let grandchild = &site.children_of(&children[0], 1).await[0];

    let first = browser.page(&format!("/console/trees/{root}")).await;
    assert_eq!(first.matches("aria-level=\"2\"").count(), 30, "{first}");
    assert!(first.contains("252 agents") && first.contains(&children[249]) && !first.contains(&children[0]));
    let mut pages = vec![first];
    while let Some(next) = pages.last().and_then(|page| page.split("rel=\"next\" href=\"").nth(1)) {
        let query = next.split('"').next().unwrap().replace("&amp;", "&").replace("&#38;", "&");
        pages.push(browser.page(&format!("/console/trees/{root}{query}")).await);
    }
    let on_a_page = |child: &&String| pages.iter().any(|page| page.contains(&format!("id=\"{child}\"")));
    assert_eq!((pages.len(), children.iter().filter(on_a_page).count()), (9, 250));
    assert!(pages[8].contains("1 below") && !pages[8].contains(grandchild), "{}", pages[8]);

    let of = browser.page(&format!("/console/trees/{root}?of={}", children[0])).await;
    assert!(of.contains(grandchild) && of.contains(&format!("of={root}")), "it leads back up: {of}");
    let none = browser.page(&format!("/console/trees/{root}?status=failed")).await;
    assert!(none.contains("No agent of this tree fits") && none.contains("Show all"), "{none}");
    let other = site.done("another").await;
    let wrong = browser.get(&format!("/console/trees/{root}?of={other}")).await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST, "{}", wrong.text);
    assert!(wrong.text.contains("another tree"), "{}", wrong.text);
}

#[tokio::test]
async fn a_large_tree_as_it_was_shows_first_what_had_failed_or_worked_and_counts_the_rest() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let root = site.done("hello").await;
    site.children_of(&root, 250).await;
    let last = site.get(&format!("/v1/agents/{root}/tree?at=1")).await.expect(200)["last"].as_u64().unwrap();
    let page = browser.page(&format!("/console/trees/{root}?at={last}")).await;
    assert_eq!(page.matches("aria-level=").count(), 200, "{page}");
    assert!(page.contains("251 agents") && page.contains("51 more agents are not shown"), "{page}");
}
