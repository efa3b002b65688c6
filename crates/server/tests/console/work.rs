//! Goals, tasks, the feed, schedules, projects and documents: their pages and the forms that make them.

use entourage_types::Time;
use reqwest::StatusCode;

use super::{Browser, chats::led_to};
use crate::{
    goal_site,
    site::{Site, send},
};

/// A form that was shown before all that is made here.
const EARLIER: (&str, &str) = ("shown", "2000-01-01T00:00:00Z");

#[tokio::test]
async fn tasks_of_all_goals_are_listed_with_what_they_came_to_and_narrowed() {
    let site = goal_site::site().await;
    let browser = Browser::of(&site);
    assert!(browser.page("/console/tasks").await.contains("No agent has given another one a task"));
    let made = browser.post("/console/goals", &[("title", "See Rome"), ("key", "k")]).await;
    let goal = led_to(&made, "/console/goals/");
    let said = [("text", "a task, please"), ("key", "m")];
    browser.post(&format!("/console/agents/{goal}/messages"), &said).await;
    let is_done =
        async || browser.page("/console/tasks?status=succeeded").await.contains("Six trains a day.");
    crate::stream::within("the task is done", async { while !is_done().await {} }).await;
    let page = browser.page("/console/tasks").await;
    for part in [">Trains</a>", ">See Rome</a>", "What it came to", "/console/runs/run_"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let of_goal = browser.page(&format!("/console/tasks?root={goal}")).await;
    assert!(of_goal.contains(">Trains</a>") && of_goal.contains("All tasks"), "{of_goal}");
    assert!(browser.page("/console/tasks?status=failed").await.contains("No task fits"));
    assert!(browser.page(&format!("/console/goals/{goal}")).await.contains("<p>Six trains a day.</p>"));
    assert_eq!(browser.get("/console/tasks?status=lost").await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_feed_is_written_when_it_is_asked_for_and_shown_by_itself() {
    let site = goal_site::site().await;
    let browser = Browser::of(&site);
    assert!(browser.page("/console/feed").await.contains("No feed has been written"));
    let agents = async || site.get("/v1/agents").await.expect(200)["data"].as_array().unwrap().len();
    assert_eq!(agents().await, 0, "a page that is shown creates nobody");
    for _ in 0..2 {
        let asked = browser.post("/console/feed", &[("key", "once")]).await;
        assert_eq!(asked.headers["location"], "/console/feed");
    }
    let is_written = async || browser.page("/console/feed").await.contains("Done: Write the feed");
    crate::stream::within("it is written", async { while !is_written().await {} }).await;
    let agent = site.get("/v1/user_agent").await.expect(200)["id"].as_str().unwrap().to_owned();
    // What is said beside it is no part of the feed.
    let said = [("text", "hello"), ("key", "m")];
    browser.post(&format!("/console/agents/{agent}/messages"), &said).await;
    site.follow(&agent, 0).await.until(|frame| frame.is_status_of(&agent, "succeeded")).await;
    let page = browser.page("/console/feed").await;
    assert_eq!(page.matches("<article").count(), 1, "{page}");
    assert!(!page.contains("Done: hello") && page.contains(&format!("/console/chats/{agent}")), "{page}");
}

#[tokio::test]
async fn a_schedule_is_made_paused_resumed_fired_and_ended() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    assert!(browser.page("/console/schedules").await.contains("No agent is set to work by itself"));
    let agent = site.done("hello").await;
    let form = browser.page(&format!("/console/schedules?agent={agent}")).await;
    assert!(form.contains(&format!("<option value=\"{agent}\">hello</option>")), "{form}");
    let new = [
        ("agent", agent.as_str()),
        ("trigger", "look"),
        ("text", "What is\r\nnew?"),
        ("repeat", "cron"),
        ("expression", "30 7 * * 1-5"),
        ("zone", "Europe/Berlin"),
        ("first", "2999-06-01T09:00"),
        ("key", "k"),
    ];
    for _ in 0..2 {
        assert_eq!(browser.post("/console/schedules", &new).await.headers["location"], "/console/schedules");
    }
    let listed = async || site.get("/v1/schedules").await.expect(200)["data"].as_array().unwrap().clone();
    let made = listed().await;
    assert_eq!((made.len(), made[0]["text"].as_str()), (1, Some("What is\nnew?")), "{made:?}");
    let due: Time = made[0]["due"].as_str().unwrap().parse().unwrap();
    assert!(due >= "2999-06-01T07:00:00Z".parse().unwrap(), "{made:?}");
    let id = made[0]["id"].as_str().unwrap().to_owned();
    let page = browser.page("/console/schedules").await;
    for part in [&id, "30 7 * * 1-5", "Europe/Berlin", "fired 0 times", ">hello</a>"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    for (act, status, shown) in [
        ("pause", "paused", "no next time until it is resumed"),
        ("resume", "active", "data-due"),
        ("fire", "active", "value=\"pause\""),
        ("end", "ended", "ended</span>"),
    ] {
        let form = browser.form(&format!("/console/schedules/{id}"), &[("act", act), ("key", act)]);
        let done = send(form.header("hx-request", "true").header("sec-fetch-site", "same-origin")).await;
        assert!(done.text.starts_with("<main") && done.text.contains(shown), "{act}: {}", done.text);
        assert_eq!(listed().await[0]["status"], status, "{act}");
        assert!(done.text.contains("hx-get=\"/console/f/schedules?agent=&#38;status=\""), "{}", done.text);
    }
    for (field, value, why) in [
        ("first", "soon", "the first time"),
        ("zone", "Nowhere", "the first time"),
        ("expression", "every day", "cron"),
        ("agent", "me", "agent"),
    ] {
        let wrong: Vec<_> =
            new.iter().map(|&(name, old)| (name, if name == field { value } else { old })).collect();
        let refused = browser.post("/console/schedules", &wrong).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{field}: {}", refused.text);
        assert!(refused.text.contains(why), "{field}: {}", refused.text);
    }
    for (field, value, why) in [
        ("minutes", "0.5", "after how many minutes"),
        ("minutes", "0", "1 to 527040"),
        ("minutes", "527041", "1 to 527040"),
        ("minutes", "18446744073709551615", "1 to 527040"),
        ("trigger", " ", "name of the trigger"),
        ("trigger", "lo\u{200b}ok", "name of the trigger"),
        ("key", &"k".repeat(256), "the key of the form"),
    ] {
        let every = [("agent", agent.as_str()), ("trigger", "look"), ("repeat", "every"), ("text", "x")];
        let mut wrong: Vec<_> = every.into_iter().filter(|(name, _)| *name != field).collect();
        wrong.extend((field != "minutes").then_some(("minutes", "60")));
        wrong.push((field, value));
        let refused = browser.post("/console/schedules", &wrong).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{field}: {}", refused.text);
        assert!(refused.text.contains(why), "{field} {value}: {}", refused.text);
    }
    assert_eq!(listed().await.len(), 1);
}

#[tokio::test]
async fn goals_projects_and_documents_are_made_once_by_their_forms() {
    let site = Site::open().await;
    let browser = Browser::of(&site);
    let twice = async |path: &str, fields: &[(&str, &str)], page: &str| {
        let [one, other] = [browser.post(path, fields).await, browser.post(path, fields).await];
        let id = led_to(&one, page);
        assert_eq!(id, led_to(&other, page), "{path}");
        id
    };
    let goal =
        [("title", "See Rome"), ("description", "In\r\nMay."), ("instructions", "By train."), ("key", "k")];
    let goal = twice("/console/goals", &goal, "/console/goals/").await;
    let made = site.get(&format!("/v1/goals/{goal}")).await.expect(200);
    assert_eq!(
        (made["description"].as_str(), made["instructions"].as_str()),
        (Some("In\nMay."), Some("By train."))
    );
    let project = twice(
        "/console/projects",
        &[("name", "Rome"), ("description", "A week"), EARLIER],
        "/console/projects/",
    )
    .await;
    let path = format!("/console/projects/{project}/documents");
    let text = [("name", "Plan"), ("content", "# Plan\r\n\r\nEat."), EARLIER];
    let document = twice(&path, &text, "/console/documents/").await;
    assert_eq!(site.get(&format!("/v1/documents/{document}")).await.expect(200)["content"], "# Plan\n\nEat.");
    for (path, fields, status, why) in [
        ("/console/goals", &[("title", " ")][..], StatusCode::UNPROCESSABLE_ENTITY, "the name is empty"),
        ("/console/projects", &[("name", "Rome"), ("description", "Another")], StatusCode::CONFLICT, "Rome"),
        (&path, &[("name", "plan"), ("content", "Other")], StatusCode::CONFLICT, "Plan"),
    ] {
        let form = browser.form(path, fields).header("hx-request", "true");
        let refused = send(form.header("sec-fetch-site", "same-origin")).await;
        assert_eq!(refused.status, status, "{path}: {}", refused.text);
        assert!(refused.text.to_lowercase().contains(&why.to_lowercase()), "{path}: {}", refused.text);
        assert_eq!(refused.headers["hx-retarget"], "#failed", "its form takes it from there");
    }
    for page in ["/console/goals", "/console/documents", &format!("/console/projects/{project}")] {
        assert!(browser.page(page).await.contains("data-failed"), "{page}");
    }
}
