//! Triggers and schedules over HTTP: created, refused with the reason, paused, resumed, ended and fired.

use std::sync::Arc;

use entourage_api::{Posted, Recurrence, Schedule};
use entourage_server::Settings;
use entourage_store_sqlite::SqliteStore;
use entourage_types::{ScheduleStatus, Time};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    auth::{settings, token_of},
    site::{Answer, Site, send},
};

/// A site whose agents do not work by themselves, and an agent.
async fn at_rest() -> (Site, String) {
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let site = Site::at_rest(store, Settings::default()).await;
    let agent = idle(&site).await;
    (site, agent)
}

/// An agent that was given nothing to do.
async fn idle(site: &Site) -> String {
    site.post("/v1/agents", &json!({})).await.expect(201)["id"].as_str().unwrap().to_owned()
}

fn every_hour(agent: &str) -> Value {
    let hourly = json!({ "repeat": "every", "seconds": 3600 });
    json!({ "agent": agent, "trigger": "look", "text": "What is new?", "recurrence": hourly })
}

/// Creates a schedule, and returns it with its path.
async fn made(site: &Site, new: &Value) -> (Schedule, String) {
    let made = site.post("/v1/schedules", new).await;
    let path = made.headers["location"].to_str().unwrap().to_owned();
    (serde_json::from_value(made.expect(201)).unwrap(), path)
}

async fn keyed(site: &Site, path: &str, key: &str, body: &Value) -> Answer {
    send(site.request(Method::POST, path).header("idempotency-key", key).json(body)).await
}

fn ids(page: &Value) -> Vec<String> {
    page["data"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_schedule_by_the_clocks_of_a_place_reads_what_its_kind_says() {
    let (site, _) = at_rest().await;
    let (goal, _) = site.goal("See Rome").await;
    let cron = json!({ "repeat": "cron", "expression": " 30 7 * * 1-5", "zone": "Europe/Berlin" });
    let new = json!({
        "agent": goal.agent, "trigger": "agent_check_in", "payload": { "day": 3 },
        "first": "2999-06-01T00:00:00Z", "recurrence": cron,
    });
    let (schedule, path) = made(&site, &new).await;
    let wanted = Recurrence::Cron { expression: "30 7 * * 1-5".into(), zone: "Europe/Berlin".into() };
    assert_eq!((&schedule.recurrence, schedule.status), (&wanted, ScheduleStatus::Active));
    assert!(schedule.text.starts_with("Check in on this goal"), "{}", schedule.text);
    assert_eq!((&*schedule.trigger, &schedule.payload), ("agent_check_in", &json!({ "day": 3 })));
    assert!(schedule.due.unwrap().to_string().ends_with("T05:30:00Z"), "it is summer there: {schedule:?}");
    assert_eq!(site.get(&path).await.read::<Schedule>(), schedule);
}

#[tokio::test]
async fn schedules_are_listed_by_agent_and_status() {
    let (site, agent) = at_rest().await;
    let other = idle(&site).await;
    let (first, _) = made(&site, &every_hour(&agent)).await;
    let (second, path) = made(&site, &every_hour(&agent)).await;
    let (third, _) = made(&site, &every_hour(&other)).await;
    site.post(&format!("{path}/pause"), &json!({})).await.expect(200);
    let [first, second, third] = [first, second, third].map(|schedule| schedule.id.to_string());
    for (query, wanted) in [
        (String::new(), vec![&third, &second, &first]),
        (format!("?agent={agent}"), vec![&second, &first]),
        (format!("?agent={agent}&status=active"), vec![&first]),
        ("?status=paused".to_owned(), vec![&second]),
        ("?status=ended".to_owned(), vec![]),
    ] {
        let page = site.get(&format!("/v1/schedules{query}")).await.expect(200);
        assert_eq!(ids(&page), wanted.into_iter().cloned().collect::<Vec<_>>(), "{query}");
    }
    let page = site.get("/v1/schedules?limit=2").await.expect(200);
    let cursor = page["next_cursor"].as_str().unwrap();
    let next = site.get(&format!("/v1/schedules?limit=2&cursor={cursor}")).await.expect(200);
    assert_eq!((ids(&next), &next["next_cursor"]), (vec![first], &Value::Null));
    site.get("/v1/schedules?status=asleep").await.problem(400, "invalid-query");
}

#[tokio::test]
async fn a_schedule_that_cannot_be_is_refused_with_the_reason() {
    let (site, agent) = at_rest().await;
    let with = |changed: Value| {
        let mut new = every_hour(&agent);
        new.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        new
    };
    let cron = |expression: &str, zone: &str| {
        with(json!({ "recurrence": { "repeat": "cron", "expression": expression, "zone": zone } }))
    };
    for (new, why) in [
        (cron("61 * * * *", "UTC"), "minute, hour, day of month, month and day of week"),
        (cron("@daily", "UTC"), "such as `30 7 * * 1-5`"),
        (cron("0 0 L * *", "UTC"), "the day of month `L` is no number from 1 to 31"),
        (cron("0 0 30 2 *", "UTC"), "`0 0 30 2 *` never comes"),
        (cron("0 7 * * *", "Mars/North"), "`Mars/North` is no time zone"),
        (
            with(json!({ "recurrence": { "repeat": "every", "seconds": 59 } })),
            "every 60 seconds or less often",
        ),
        (with(json!({ "trigger": "" })), "the name is empty"),
        (with(json!({ "trigger": "\u{200b} " })), "the name is empty or shows nothing"),
        (with(json!({ "trigger": "a\u{1b}b" })), "the control character"),
        (with(json!({ "text": "a\0b" })), "the text has a NUL character"),
        (
            with(json!({ "first": "2020-01-01T00:00:00Z" })),
            "the first time, 2020-01-01T00:00:00Z, has passed",
        ),
        (with(json!({ "text": "" })), "says nothing about a trigger `look`, so it needs a text"),
        (with(json!({ "text": " \n" })), "empty"),
    ] {
        let refused = site.post("/v1/schedules", &new).await.problem(422, "invalid-request");
        assert!(refused.detail.contains(why), "{}", refused.detail);
    }
    for (new, why) in [
        (with(json!({ "recurrence": { "repeat": "weekly" } })), "weekly"),
        (with(json!({ "recurrence": { "repeat": "once", "seconds": 60 } })), "seconds"),
        (with(json!({ "recurrence": { "repeat": "cron", "expression": "0 7 * * *" } })), "zone"),
        (
            with(json!({ "first": "tomorrow" })),
            "first: `tomorrow` is not a moment in time, such as `2027-03-01T09:00:00Z`",
        ),
        (with(json!({ "when": "now" })), "when"),
    ] {
        let refused = site.post("/v1/schedules", &new).await.problem(422, "invalid-body");
        assert!(refused.detail.contains(why), "{}", refused.detail);
    }
    let nobody = format!("agt_{}", "0".repeat(32));
    site.post("/v1/schedules", &every_hour(&nobody)).await.problem(404, "not-found");
    assert_eq!(site.get("/v1/schedules").await.expect(200)["data"], json!([]));
}

#[tokio::test]
async fn a_schedule_is_paused_resumed_fired_and_ended() {
    let (site, agent) = at_rest().await;
    let (schedule, path) = made(&site, &every_hour(&agent)).await;
    let set = async |action: &str| {
        let set: Schedule = site.post(&format!("{path}/{action}"), &json!({})).await.read();
        (set.status, set.due)
    };
    assert_eq!(
        set("pause").await,
        (ScheduleStatus::Paused, None),
        "its next time is found when it is resumed"
    );
    assert_eq!(set("pause").await, (ScheduleStatus::Paused, None));

    let fire = format!("{path}/fire");
    let first: Posted =
        serde_json::from_value(keyed(&site, &fire, "k", &json!({})).await.expect(202)).unwrap();
    assert_eq!(first.agent.to_string(), agent);
    let again = keyed(&site, &fire, "k", &json!({})).await.expect(202);
    assert_eq!(serde_json::from_value::<Posted>(again).unwrap(), first);
    let unread = site.post(&fire, &json!({})).await.problem(409, "not-now");
    assert!(unread.detail.contains("has not read what the schedule gave it last"), "{}", unread.detail);
    let fired: Schedule = site.get(&path).await.read();
    assert_eq!((fired.fired, fired.status, fired.due), (1, ScheduleStatus::Paused, None));

    assert_eq!(set("resume").await, (ScheduleStatus::Active, schedule.due));
    assert_eq!(set("end").await.0, ScheduleStatus::Ended);
    assert_eq!(set("end").await.0, ScheduleStatus::Ended, "as it was");
    for action in ["pause", "resume", "fire"] {
        let ended = site.post(&format!("{path}/{action}"), &json!({})).await.problem(409, "not-now");
        assert!(ended.detail.contains("the schedule has ended"), "{}", ended.detail);
    }
    assert_eq!(site.get(&path).await.read::<Schedule>().status, ScheduleStatus::Ended);
}

#[tokio::test]
async fn a_schedule_and_a_trigger_happen_once_per_idempotency_key() {
    let (site, agent) = at_rest().await;
    let new = every_hour(&agent);
    let first = keyed(&site, "/v1/schedules", "k", &new).await.expect(201);
    assert_eq!(keyed(&site, "/v1/schedules", "k", &new).await.expect(201), first);
    let other = json!({ "agent": agent, "trigger": "other", "text": "What is new?" });
    keyed(&site, "/v1/schedules", "k", &other).await.problem(422, "key-reused");
    assert_eq!(site.get("/v1/schedules").await.expect(200)["data"], json!([first]));

    let (path, fired) = (format!("/v1/agents/{agent}/triggers"), json!({ "name": "look", "text": "Look." }));
    let first = keyed(&site, &path, "t", &fired).await.expect(202);
    assert_eq!(keyed(&site, &path, "t", &fired).await.expect(202), first);
    let other = json!({ "name": "look", "text": "Look again." });
    keyed(&site, &path, "t", &other).await.problem(422, "key-reused");
    let unknown = site.post(&path, &json!({ "name": "look" })).await.problem(422, "invalid-request");
    assert!(unknown.detail.contains("it needs a text"), "{}", unknown.detail);
}

/// Both are read by the agent as triggers, each in a run of its own.
#[tokio::test]
async fn what_is_due_and_what_is_fired_sets_its_agent_to_work() {
    let site = Site::open().await;
    let agent = idle(&site).await;
    let mut stream = site.follow(&agent, 0).await;
    let once = json!({ "agent": agent, "trigger": "remind", "text": "Book the train.", "payload": [1] });
    let (schedule, path) = made(&site, &once).await;
    assert!(schedule.due.unwrap() <= Time::now());
    stream.read_until(|frame| frame.is_status_of(&agent, "succeeded")).await;
    let ended: Schedule = site.get(&path).await.read();
    assert_eq!((ended.status, ended.fired), (ScheduleStatus::Ended, 1));
    let fired = json!({ "name": "look", "text": "What is new?" });
    site.post(&format!("/v1/agents/{agent}/triggers"), &fired).await.expect(202);
    stream.read_until(|frame| frame.is_status_of(&agent, "succeeded")).await;

    let items = site.get(&format!("/v1/agents/{agent}/items")).await.expect(200);
    let items = items["data"].as_array().unwrap();
    let read: Vec<_> = items.iter().filter(|item| item["type"] == "message").collect();
    let from = |at: usize| (&read[at]["from"], &read[at]["text"]);
    let remind = json!({ "by": "trigger", "name": "remind", "payload": [1], "schedule": schedule.id });
    assert_eq!(from(0), (&remind, &json!("Book the train.")));
    assert_eq!(
        from(1),
        (&json!({ "by": "trigger", "name": "look", "payload": null }), &json!("What is new?"))
    );
    assert_ne!(read[0]["run"], read[1]["run"]);
}

#[tokio::test]
async fn another_owner_sees_no_schedule_and_sets_no_agent_to_work() {
    let ada = Site::with(settings()).await.bearing(&token_of("ada"));
    let eve = ada.bearing(&token_of("eve"));
    let agent = idle(&ada).await;
    let (_, path) = made(&ada, &every_hour(&agent)).await;
    eve.get(&path).await.problem(404, "not-found");
    for action in ["pause", "resume", "end", "fire"] {
        eve.post(&format!("{path}/{action}"), &json!({})).await.problem(404, "not-found");
    }
    eve.post("/v1/schedules", &every_hour(&agent)).await.problem(404, "not-found");
    let fired = json!({ "name": "look", "text": "Look." });
    eve.post(&format!("/v1/agents/{agent}/triggers"), &fired).await.problem(404, "not-found");
    assert_eq!(eve.get("/v1/schedules").await.expect(200)["data"], json!([]));
    assert_eq!(ada.get(&path).await.expect(200)["status"], "active");
}

#[tokio::test]
async fn the_size_and_the_number_of_an_owners_schedules_are_bounded() {
    let (site, agent) = at_rest().await;
    let mut new = every_hour(&agent);
    new["text"] = json!("x".repeat(9_000));
    let long = site.post("/v1/schedules", &new).await.problem(422, "invalid-request");
    assert!(long.detail.contains("a schedule takes at most 8192"), "{}", long.detail);
    for _ in 0..1_000 {
        made(&site, &every_hour(&agent)).await;
    }
    let more = site.post("/v1/schedules", &every_hour(&agent)).await.problem(409, "limit-reached");
    let told = "1000 schedules that have not ended are the most that one can have; end some first";
    assert_eq!(more.detail, told);
}
