//! Agents, their conversation, their transcript and their runs, read over HTTP as the engine has them.

use std::sync::Arc;

use entourage_api::{Agent, Item, Run, Step};
use entourage_engine::Kinds;
use entourage_llm::{Message, Price, Script, ScriptedModel};
use entourage_server::Settings;
use entourage_store_sqlite::SqliteStore;
use entourage_types::{AgentId, Kind, Limits, ShownStatus};
use serde_json::json;

use crate::site::{Site, asking};

#[tokio::test]
async fn a_created_agent_can_be_read_and_answers_its_message() {
    let site = Site::open().await;
    let made = site.post("/v1/agents", &json!({"kind": "researcher", "message": "hello"})).await;
    let agent = made.expect(201);
    let id = agent["id"].as_str().unwrap();
    assert_eq!(made.headers["location"], format!("/v1/agents/{id}").as_str());
    assert_eq!((&agent["kind"], &agent["title"]), (&json!("researcher"), &json!("hello")));

    site.follow(id, 0).await.until(|frame| frame.is_status_of(id, "succeeded")).await;
    let found: Agent = site.get(&format!("/v1/agents/{id}")).await.read();
    let kept = site.client().agent(id.parse().unwrap()).await.unwrap();
    // A second delivery finds nothing to do, but raises the epoch between the two reads.
    assert_eq!(found, Agent { epoch: found.epoch, ..kept.into() });

    let entries = site.get(&format!("/v1/agents/{id}/messages")).await.expect(200);
    let said: Vec<_> = entries["data"].as_array().unwrap().iter().map(|e| (&e["role"], &e["text"])).collect();
    let expected = [(&json!("user"), &json!("hello")), (&json!("assistant"), &json!("You said: hello"))];
    assert_eq!(said, expected);
}

#[tokio::test]
async fn an_agent_created_without_a_message_is_idle_until_one_arrives() {
    let site = Site::open().await;
    let agent = site.post("/v1/agents", &json!({"title": "A chat"})).await.expect(201);
    let id = agent["id"].as_str().unwrap();
    assert_eq!((&agent["status"], &agent["title"]), (&json!("idle"), &json!("A chat")));

    let posted = site.post(&format!("/v1/agents/{id}/messages"), &json!({"text": "hello"})).await.expect(202);
    assert_eq!(posted["agent"], id);
    assert!(posted["post"].as_str().unwrap().starts_with("pst_"));
    site.follow(id, 0).await.until(|frame| frame.is_status_of(id, "succeeded")).await;
}

/// An agent below another works for the person who put it there, and is deleted with the one above.
#[tokio::test]
async fn an_agent_may_be_put_below_another_one() {
    let site = Site::open().await;
    let above = site.done("one").await;
    let child = site.post("/v1/agents", &json!({"parent": above, "message": "two"})).await.expect(201);
    let id = child["id"].as_str().unwrap();
    let place = (&child["parent"], &child["root"], &child["depth"], &child["works_for"]);
    assert_eq!(place, (&json!(above), &json!(above), &json!(1), &json!("person")));
    site.follow(&above, 0).await.until(|frame| frame.is_status_of(id, "succeeded")).await;
    let tree = site.get(&format!("/v1/agents/{above}/tree")).await.expect(200);
    assert_eq!(tree["root"]["children"][0]["id"], id);
    let unknown = AgentId::new();
    site.post("/v1/agents", &json!({"parent": unknown, "message": "x"})).await.problem(404, "not-found");
    site.post(&format!("/v1/agents/{above}/interventions"), &json!({"action": "delete"})).await.expect(202);
    let gone = site.get(&format!("/v1/agents/{id}")).await.expect(200);
    assert_eq!(gone["status"], "cancelled");
    site.post("/v1/agents", &json!({"parent": above, "message": "x"})).await.problem(409, "agent-cancelled");
}

/// The response is described as a conflict of this operation, as every response of these tests is.
#[tokio::test]
async fn an_agent_below_one_whose_limits_leave_no_room_is_a_described_conflict() {
    let limits = Limits { max_depth: 0, ..Limits::default() };
    let site = Site::of_kinds(Kinds::none().with(Kind { limits, ..Kind::bare("assistant") })).await;
    let above = site.make("one").await;
    let refused = site.post("/v1/agents", &json!({"parent": above, "message": "two"})).await;
    let detail = refused.problem(409, "not-now").detail;
    assert!(detail.contains("as deep in its tree as its kind's limits allow"), "{detail}");
}

/// An agent that has ended is removed from a tree that lives on, and what it came to stays.
#[tokio::test]
async fn an_agent_that_has_ended_can_be_forgotten() {
    let site = Site::open().await;
    let root = site.done("tell note it").await;
    let tree = site.get(&format!("/v1/agents/{root}/tree")).await.expect(200);
    let child = tree["root"]["children"][0]["id"].as_str().unwrap();
    let forget = format!("/v1/agents/{child}/forget");
    for _ in 0..2 {
        assert_eq!(site.post(&forget, &json!({})).await.status, 204);
    }
    site.get(&format!("/v1/agents/{child}")).await.problem(404, "not-found");
    let tree = site.get(&format!("/v1/agents/{root}/tree")).await.expect(200);
    assert_eq!(tree["root"]["children"], json!([]));
    let tasks = site.get(&format!("/v1/tasks?root={root}")).await.expect(200);
    assert_eq!((&tasks["data"][0]["to"], &tasks["data"][0]["status"]), (&json!(child), &json!("succeeded")));
    let problem = site.post(&format!("/v1/agents/{root}/forget"), &json!({})).await.problem(409, "not-now");
    assert!(problem.detail.contains("at the top of its tree"), "{}", problem.detail);
}

/// `text`, the former name of the field, is still accepted.
#[tokio::test]
async fn a_message_may_be_sent_as_message_or_text_but_not_both() {
    let site = Site::open().await;
    let id = site.done("one").await;
    let messages = format!("/v1/agents/{id}/messages");
    site.post(&messages, &json!({"message": "two"})).await.expect(202);
    site.post(&messages, &json!({"text": "three"})).await.expect(202);
    let both = site.post(&messages, &json!({"message": "four", "text": "five"})).await;
    let problem = both.problem(422, "invalid-body");
    assert!(problem.detail.contains("`message`"), "{}", problem.detail);
    site.post(&messages, &json!({})).await.problem(422, "invalid-body");
    let entries = site.get(&messages).await.expect(200);
    let people = entries["data"].as_array().unwrap().iter().filter(|entry| entry["role"] == "user");
    assert_eq!(people.map(|entry| &entry["text"]).collect::<Vec<_>>(), ["one", "two", "three"]);
}

#[tokio::test]
async fn a_transcript_is_read_in_parts() {
    let site = Site::open().await;
    let id = site.done("hello").await;
    let all = site.client().items(id.parse().unwrap(), 0, 100).await.unwrap();
    assert_eq!(all.len(), 2);
    let mut seen: Vec<Item> = Vec::new();
    for _ in 0..all.len() {
        let from = seen.len();
        let part = site.get(&format!("/v1/agents/{id}/items?from={from}&limit=1")).await.expect(200);
        seen.extend(serde_json::from_value::<Vec<Item>>(part["data"].clone()).unwrap());
        assert_eq!(part["next_from"], seen.len());
    }
    assert_eq!(seen, all.into_iter().map(Item::from).collect::<Vec<_>>());
    let rest = site.get(&format!("/v1/agents/{id}/items?from=2")).await.expect(200);
    assert_eq!(rest, json!({"data": [], "next_from": 2}));
}

#[tokio::test]
async fn an_item_number_beyond_the_largest_possible_one_is_rejected() {
    let site = Site::open().await;
    let id = site.done("hello").await;
    let part = async |from: u64| site.get(&format!("/v1/agents/{id}/items?from={from}")).await;
    let last = i64::MAX.unsigned_abs();
    assert_eq!(part(last).await.expect(200), json!({"data": [], "next_from": last}));
    for from in [last + 1, u64::MAX] {
        let problem = part(from).await.problem(400, "invalid-query");
        assert!(
            problem.detail.contains(&format!("`{from}` is not a number from 0 to {last}")),
            "{}",
            problem.detail
        );
    }
}

#[tokio::test]
async fn runs_and_steps_are_served_with_their_status_and_usage() {
    let site = Site::open().await;
    let id = site.done("hello").await;
    let page = site.get(&format!("/v1/agents/{id}/runs")).await.expect(200);
    let run: Run = serde_json::from_value(page["data"][0].clone()).unwrap();
    assert_eq!((run.status, run.model_calls, run.usage.input), (ShownStatus::Succeeded, 1, 10));

    let same: Run = site.get(&format!("/v1/runs/{}", run.id)).await.read();
    assert_eq!(same, run);
    let list = site.get(&format!("/v1/runs/{}/steps", run.id)).await.expect(200);
    let steps: Vec<Step> = serde_json::from_value(list["data"].clone()).unwrap();
    let kept = site.client().steps(run.id).await.unwrap();
    assert_eq!(steps, kept.into_iter().map(Step::from).collect::<Vec<_>>());
    assert!(steps.iter().any(|step| step.used.is_some()));
}

#[tokio::test]
async fn a_step_says_what_it_waits_for_or_where_its_result_is() {
    let site = Site::open().await;
    let (agent, question) = site.asked("ask").await;
    let run = site.get(&format!("/v1/agents/{agent}/runs")).await.expect(200)["data"][0]["id"].clone();
    let steps = site.get(&format!("/v1/runs/{}/steps", run.as_str().unwrap())).await.expect(200);
    let [asks, waits] = [&steps["data"][0], &steps["data"][1]];
    assert_eq!((&asks["state"], &asks["result"]), (&json!("done"), &json!({"item": 1})));
    let question = json!({"question": {"id": question, "about": "information"}});
    assert_eq!((&waits["state"], &waits["waits_for"]), (&json!("open"), &question));
}

#[tokio::test]
async fn steps_are_listed_in_pages_in_the_order_they_began() {
    let site = Site::open().await;
    let id = site.done("strange").await;
    let run = site.get(&format!("/v1/agents/{id}/runs")).await.expect(200)["data"][0]["id"].clone();
    let path = format!("/v1/runs/{}/steps", run.as_str().unwrap());
    let all = site.client().steps(run.as_str().unwrap().parse().unwrap()).await.unwrap();
    assert_eq!(all.len(), 4, "two calls of the model, two of tools: {all:?}");
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    for last in [false, false, false, true] {
        let page = site.get(&format!("{path}?limit=1{cursor}")).await.expect(200);
        assert_eq!((page["data"].as_array().map(Vec::len), page["next_cursor"].is_null()), (Some(1), last));
        seen.push(serde_json::from_value::<Step>(page["data"][0].clone()).unwrap());
        cursor = format!("&cursor={}", page["next_cursor"].as_str().unwrap_or_default());
    }
    assert_eq!(seen, all.into_iter().map(Step::from).collect::<Vec<_>>());
    site.get(&format!("{path}?limit=201")).await.problem(400, "invalid-query");
    site.get(&format!("{path}?cursor=MTptb2RlbC85OTk")).await.problem(410, "entry-gone");
}

#[tokio::test]
async fn a_tree_is_served_nested_with_the_summed_usage_of_its_runs() {
    let site = Site::open().await;
    let id = site.done("tell hello").await;
    let tree = site.get(&format!("/v1/agents/{id}/tree")).await.expect(200);
    assert_eq!((&tree["root"]["id"], &tree["agents"]), (&json!(id), &json!(2)));
    let child = &tree["root"]["children"][0];
    assert_eq!((&child["kind"], &child["children"]), (&json!("researcher"), &json!([])));

    // Two calls of the orchestrator, one of the researcher, 10 tokens in and 5 out each.
    let usage = site.get(&format!("/v1/agents/{id}/usage")).await.expect(200);
    assert_eq!(tree["total"], usage);
    assert_eq!((&usage["model_calls"], &usage["runs"]), (&json!(3), &json!(2)));
    assert_eq!((&usage["usage"]["input"], &usage["usage"]["output"]), (&json!(30), &json!(15)));

    // Any agent of the tree leads to the whole tree.
    let below = child["id"].as_str().unwrap();
    assert_eq!(site.get(&format!("/v1/agents/{below}/tree")).await.expect(200), tree);
    assert_eq!(site.get(&format!("/v1/agents/{below}/usage")).await.expect(200), usage);
}

/// An agent below a child counts to that child's branch, and the agent above does not.
#[tokio::test]
async fn a_child_is_listed_with_the_open_questions_and_the_cost_of_its_branch() {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(text)) if text == "ask" => {
                Script::call("ask_user", json!({"question": "Which?"}))
            }
            _ => Script::text("Done."),
        }))
    });
    // A dollar for a million tokens; an answer uses 15.
    let model = model.priced(Price { input: 1.0, output: 1.0, cached: None, cache_written: None });
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let kinds = Kinds::none().with(Kind::bare("assistant"));
    let site = Site::serving(asking(Arc::new(model), store, kinds), Settings::default()).await;
    site.work();
    let top = site.done("hello").await;
    let mut above = top.clone();
    for _ in 0..2 {
        let put = site.post("/v1/agents", &json!({"parent": above, "message": "ask"})).await.expect(201);
        above = put["id"].as_str().unwrap().to_owned();
        site.follow(&top, 0).await.until(|frame| frame.is_status_of(&above, "waiting")).await;
    }
    let branch = async || {
        let page = site.get(&format!("/v1/agents/{top}/children")).await.expect(200);
        assert_eq!(page["data"].as_array().unwrap().len(), 1, "{page}");
        page["data"][0]["subtree"].clone()
    };
    let subtree = branch().await;
    assert_eq!((&subtree["agents"], &subtree["open_questions"]), (&json!({"waiting": 2}), &json!(2)));
    assert_eq!((&subtree["used"]["calls"], &subtree["used"]["cost"]), (&json!(2), &json!(30_000)));

    let open = site.get(&format!("/v1/questions?status=open&agent={above}")).await.expect(200);
    let question = open["data"][0]["id"].as_str().unwrap();
    site.post(&format!("/v1/questions/{question}/answer"), &json!({"answer": "This one."})).await.expect(200);
    site.follow(&top, 0).await.until(|frame| frame.is_status_of(&above, "succeeded")).await;
    let subtree = branch().await;
    assert_eq!(
        (&subtree["agents"], &subtree["open_questions"]),
        (&json!({"waiting": 1, "succeeded": 1}), &json!(1))
    );
    assert_eq!((&subtree["used"]["calls"], &subtree["used"]["cost"]), (&json!(3), &json!(45_000)));
}
