//! What is seen of a goal while a run of it goes on, and of how its runs end.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage_engine::{Clock as _, Kinds};
use entourage_llm::{Message, Script, ScriptedModel, ToolChoice};
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::{FakeClock, HeldModel, quiet};
use entourage_tools::{Caller, Context, Effect, Error, Outcome, Tool, Toolbox};
use entourage_types::ToolSpec;
use serde_json::{Value, json};

use crate::{
    goal_site::{
        at_rest, at_work, changed, create, data, engine, eventually, follow, is_of_task, is_said, say, shown,
        site, speak, turns_since, with_tools,
    },
    site::{Site, asking},
};

const SECOND: Duration = Duration::from_secs(1);

async fn status(site: &Site, goal: &str) -> Value {
    site.get(&format!("/api/goals/{goal}")).await.expect(200)["status"].clone()
}

async fn inspect(site: &Site, goal: &str) -> Value {
    site.get(&format!("/api/goals/{goal}/inspect")).await.expect(200)
}

/// The texts of a thread's messages, and whether each was read.
async fn read(site: &Site, goal: &str) -> Vec<(String, bool)> {
    let messages = data(site, &format!("/api/goals/{goal}/thread_messages")).await;
    let read = |message: &Value| {
        (message["content"].as_str().unwrap().to_owned(), message["processed"].as_bool().unwrap())
    };
    messages.iter().map(read).collect()
}

/// A message is answered while nobody has answered it: the goal is at work on it, for as long as that takes, and says
/// since when and in which run. A message that comes meanwhile is unread until the agent reads it.
///
/// Shows: S4-R005, S4-R008, S4-R010, S4-R018, S4-R070, S4-R139.
#[tokio::test]
async fn a_goal_is_working_while_its_run_goes_on_and_waiting_after_it() {
    let directory = tempfile::tempdir().unwrap();
    let open = || Arc::new(SqliteStore::open(directory.path().join("rows"), Default::default()).unwrap());
    let model = HeldModel::new(ScriptedModel::deciding(|request| Some(Ok(speak(request)))));
    let clock = FakeClock::default();
    let tools = entourage_tools::builtin(entourage_tools::Settings::default());
    let held = entourage_engine::Engine::builder(open(), Arc::new(model.clone())).tools(tools);
    let held = held.kinds(quiet(Kinds::builtin())).clock(Arc::new(clock.clone())).build();
    let site = at_work(held).await;
    let goal = create(&site).await;
    clock.advance(SECOND);
    let began = clock.now().to_string();
    let sent = say(&site, &goal, "One.").await;
    assert_eq!((&sent["processed"], &sent["source"]), (&json!(false), &json!("user")));
    model.begun().await;
    clock.advance(SECOND);
    assert_eq!(status(&site, &goal).await, "working");
    let state = inspect(&site, &goal).await;
    assert_eq!(state["runtime_state"]["orchestrator_running"], true);
    assert_eq!(state["runtime_state"]["orchestrator_started_at"], json!(began));
    let job = state["runtime_state"]["orchestrator_job_id"].clone();
    assert_eq!((&job, &Value::Null), (&state["last_run"]["id"], &state["last_run"]["ended_at"]));
    // Another message is taken at once, too, and read once the run comes to it.
    let second = say(&site, &goal, "Two.").await;
    assert_eq!(second["processed"], false);
    assert_eq!(read(&site, &goal).await, [("One.".into(), true), ("Two.".into(), false)]);
    model.let_go(1);
    model.begun().await;
    assert_eq!(status(&site, &goal).await, "working");
    let texts = [("One.".into(), true), ("Done: One.".into(), true), ("Two.".into(), true)];
    assert_eq!(read(&site, &goal).await, texts);
    model.let_go(1);
    at_rest(&site, &goal).await;
    let rested = inspect(&site, &goal).await;
    let idle = json!({ "orchestrator_running": false, "orchestrator_started_at": null, "orchestrator_job_id": null });
    assert_eq!(rested["runtime_state"], idle);
    let history = rested["llm_history"].as_array().unwrap();
    let said = |entry: &Value| entry["content"].as_str().map(str::to_owned);
    assert_eq!(history.iter().filter_map(said).collect::<Vec<_>>(), ["One.", "Two."]);
    // All of it is in the database: the next process shows the same.
    let Site { stop, served, engine, .. } = site;
    stop.cancel();
    served.await.unwrap().unwrap();
    drop(engine);
    let model = Arc::new(ScriptedModel::new([]));
    let next = asking(model, open(), quiet(Kinds::builtin()));
    let next = Site::serving(next, entourage_server::Settings::default()).await;
    assert_eq!(inspect(&next, &goal).await, rested);
    assert_eq!(status(&next, &goal).await, "waiting");
}

/// A goal's agent that works without an end until it is told to answer, and takes this long for each model call.
fn restless(tools: [&'static str; 2], clock: &FakeClock, pause: Duration) -> ScriptedModel {
    let clock = clock.clone();
    ScriptedModel::deciding(move |request| {
        let (turns, asked) = turns_since(request);
        if asked == "Hello again." || request.tool_choice == ToolChoice::None {
            return Some(Ok(speak(request)));
        }
        clock.advance(pause);
        Some(Ok(match tools[turns % 2] {
            "create_note" => {
                Script::call("create_note", json!({ "title": format!("{turns}"), "content": "On it." }))
            }
            tool => Script::call(tool, json!({ "query": format!("{turns}") })),
        }))
    })
}

/// A limit is no failure: the user sees no error, what was done is kept, and the next message is answered.
///
/// Shows: S4-R117, S4-R118, S4-R119, S4-R121.
#[tokio::test]
async fn a_goal_that_meets_a_limit_ends_quietly_and_takes_the_next_message() {
    let two_minutes = Duration::from_secs(120);
    for (tools, pause, reason, iterations) in [
        // 19 with tools, and one to answer.
        (["create_note", "search_notes"], Duration::ZERO, "max_steps", 20),
        (["create_note", "create_note"], Duration::ZERO, "same_tool", 6),
        (["create_note", "search_notes"], two_minutes, "max_time", 6),
    ] {
        let clock = FakeClock::default();
        let model = restless(tools, &clock, pause);
        let site = at_work(engine(model, &clock, Kinds::builtin()).build()).await;
        let goal = create(&site).await;
        say(&site, &goal, "Never end.").await;
        at_rest(&site, &goal).await;
        let state = inspect(&site, &goal).await;
        let run = &state["last_run"];
        assert_eq!(
            (&run["status"], &run["stop_reason"], &run["iterations"], &run["natural_completion"]),
            (&json!("succeeded"), &json!(reason), &json!(iterations), &json!(false)),
        );
        assert_eq!(state["runtime_state"]["orchestrator_running"], false, "{reason}");
        // The message, each call with what it returned, and the answer.
        let history = state["llm_history"].as_array().unwrap();
        assert_eq!(history.len(), 1 + 2 * (iterations - 1) + 1, "{reason}: {history:?}");
        let messages = data(&site, &format!("/api/goals/{goal}/thread_messages")).await;
        assert!(messages.iter().all(|message| message["source"] != "error"), "{reason}: {messages:?}");
        let cells = messages.iter().filter(|message| message["message_type"] == "tool");
        assert_eq!(cells.count(), iterations - 1, "{reason}");
        // The fifth call in a row is still run.
        let notes = data(&site, &format!("/api/goals/{goal}/notes")).await.len();
        assert_eq!(notes, if tools[0] == tools[1] { 5 } else { iterations / 2 }, "{reason}");
        say(&site, &goal, "Hello again.").await;
        at_rest(&site, &goal).await;
        let messages = data(&site, &format!("/api/goals/{goal}/thread_messages")).await;
        assert_eq!(shown(&messages).last(), Some(&["agent", "text", "Done: Hello again."]), "{reason}");
    }
}

/// A task that a limit ends shows as completed, with what it came to, and never as having ended by itself.
///
/// Shows: S4-R022, S4-R079, S4-R117.
#[tokio::test]
async fn a_task_that_meets_a_limit_shows_as_completed_and_says_which_limit_it_was() {
    // With 20 entries of its history a task is at its end after 10 calls; without that limit it has its 20 iterations.
    for (max_history, reason, iterations) in [(20, "max_history", 11), (0, "max_steps", 20)] {
        let model = ScriptedModel::deciding(|request| {
            let (turns, _) = turns_since(request);
            Some(Ok(match turns % 2 {
                _ if request.tool_choice == ToolChoice::None => Script::text("As far as I came."),
                0 if is_of_task(request) => {
                    Script::call("create_note", json!({ "title": format!("{turns}"), "content": "On it." }))
                }
                _ if is_of_task(request) => Script::call("search_notes", json!({ "query": "On it" })),
                0 => Script::call("create_task", json!({ "title": "T", "instructions": "Never end." })),
                _ => Script::call("send_message", json!({ "message": "It has begun." })),
            }))
        });
        let clock = FakeClock::default();
        let kinds = changed("task", |kind| kind.limits.max_history = max_history);
        let site = at_work(engine(model, &clock, kinds).build()).await;
        let goal = create(&site).await;
        say(&site, &goal, "Begin.").await;
        let is_done = |page: &Value| page["data"][0]["status"] == "completed";
        let tasks = eventually(&site, &format!("/api/agent_tasks?goal_id={goal}"), is_done).await;
        let task = &tasks["data"][0];
        assert_eq!((&task["stop_reason"], &task["result"]), (&json!(reason), &json!("As far as I came.")));
        let path = format!("/api/agent_tasks/{}/inspect", task["id"].as_str().unwrap());
        let run = site.get(&path).await.expect(200)["last_run"].clone();
        assert_eq!(
            (&run["iterations"], &run["natural_completion"]),
            (&json!(iterations), &json!(false)),
            "{reason}"
        );
    }
}

/// A tool that does not do what it is called for.
struct Failing {
    name: &'static str,
    panics: bool,
}

#[async_trait]
impl Tool for Failing {
    fn name(&self) -> &str {
        self.name
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(ToolSpec::new(self.name, "Does not work.", json!({ "type": "object", "properties": {} })))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, _: &Context, _: Value) -> Result<Outcome, Error> {
        assert!(!self.panics, "the tool is broken");
        Err(Error::NotAllowed("the gate is closed".into()))
    }
}

/// A tool that fails, or panics, fails its call alone: the model reads why, and the user sees that it failed.
///
/// Shows: S4-R154, S4-R155, S4-R156.
#[tokio::test]
async fn what_a_failed_tool_says_is_read_by_the_model_and_shown_as_failed() {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match turns_since(request).0 {
            0 => Script::call("knock", json!({}))
                .and_call("crash", json!({}))
                .and_call("create_note", json!({ "title": "Rome", "content": "In May." })),
            _ => Script::call("send_message", json!({ "message": "I am still here." })),
        }))
    });
    let clock = FakeClock::default();
    let broken = ["knock", "crash"]
        .into_iter()
        .fold(entourage_tools::builtin(entourage_tools::Settings::default()), |tools: Toolbox, name| {
            tools.with(Failing { name, panics: name == "crash" })
        });
    let kinds = with_tools("goal", &["knock", "crash"]);
    let site = at_work(engine(model.clone(), &clock, kinds).tools(broken).build()).await;
    let goal = create(&site).await;
    let live = follow(&site, &format!("/api/goals/{goal}/stream"), None).await;
    say(&site, &goal, "Try them.").await;
    let seen = live.until(|frame| is_said(frame, "I am still here.")).await;
    at_rest(&site, &goal).await;
    // The model reads the errors, each as what its call returned, and goes on.
    let requests = model.requests();
    let [_, next] = &requests[..] else { panic!("it was asked twice: {requests:?}") };
    let outputs: Vec<&str> = next
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::Output { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let [knock, crash, note] = outputs[..] else { panic!("{outputs:?}") };
    assert_eq!(knock, "Error: not allowed: the gate is closed");
    assert!(crash.starts_with("Error: the tool crashed"), "{crash}");
    // The user sees which failed.
    let messages = data(&site, &format!("/api/goals/{goal}/thread_messages")).await;
    let cell = |message: &Value| {
        let metadata = &message["metadata"];
        metadata["tool_name"].as_str().map(|tool| (tool.to_owned(), metadata["status"].clone()))
    };
    let cells: Vec<_> = messages.iter().filter_map(cell).collect();
    let expected = [("knock", "failed"), ("crash", "failed"), ("create_note", "completed")];
    assert_eq!(cells, expected.map(|(tool, status)| (tool.to_owned(), json!(status))));
    // The result of each call in its one shape, as they end.
    let results: BTreeMap<String, Value> = seen
        .iter()
        .filter(|frame| frame.event == "tool_complete")
        .map(|frame| {
            let mut result = frame.data.clone();
            let tool = result["tool_name"].as_str().unwrap().to_owned();
            result.as_object_mut().unwrap().retain(|key, _| !key.starts_with("tool_"));
            (tool, result)
        })
        .collect();
    let failed = |read: &str| json!({ "success": false, "error": read.strip_prefix("Error: ") });
    let made = json!({ "success": true, "observation": note });
    let expected = [("knock", failed(knock)), ("crash", failed(crash)), ("create_note", made)];
    assert_eq!(results, expected.map(|(tool, result)| (tool.to_owned(), result)).into());
}

/// Where a task comes from is told with it, and changes nothing about how it is worked on.
///
/// Shows: S4-R095, S4-R096.
#[tokio::test]
async fn a_task_of_a_triggered_goal_shows_its_origin_and_is_worked_on_like_any_other() {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match turns_since(request).0 {
            _ if is_of_task(request) => Script::text("Six trains a day."),
            0 => Script::call("create_task", json!({ "title": "Trains", "instructions": "Find them." })),
            _ => Script::call("send_message", json!({ "message": "It has begun." })),
        }))
    });
    let clock = FakeClock::default();
    let site = at_work(engine(model.clone(), &clock, Kinds::builtin()).build()).await;
    let goal = create(&site).await;
    let path = format!("/api/agent_tasks?goal_id={goal}");
    let done = async |count: usize| {
        let are_done = |page: &Value| {
            let tasks = page["data"].as_array().unwrap();
            tasks.len() == count && tasks.iter().all(|task| task["status"] == "completed")
        };
        eventually(&site, &path, are_done).await["data"][0].clone()
    };
    say(&site, &goal, "Find trains.").await;
    let plain = done(1).await;
    at_rest(&site, &goal).await;
    let check_in = json!({ "type": "Goal", "id": goal, "context": { "type": "agent_check_in" } });
    assert_eq!(site.post("/api/orchestrate", &check_in).await.expect(202)["outcome"], "scheduled");
    let triggered = done(2).await;
    at_rest(&site, &goal).await;
    assert_eq!(plain["context_data"], json!({}));
    assert_eq!(triggered["context_data"], json!({ "origin_type": "agent_check_in" }), "never as its `type`");
    // The two tasks read the same and end the same.
    let requests: Vec<_> = model.requests().into_iter().filter(is_of_task).collect();
    let [first, second] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!(
        (&first.system, &first.messages, &first.tools),
        (&second.system, &second.messages, &second.tools)
    );
    for field in ["title", "instructions", "status", "result", "stop_reason"] {
        assert_eq!(plain[field], triggered[field], "{field}");
    }
}

/// A task works once: no message reaches it, no hand sets it to work again, and what is said to its goal changes nothing
/// about it.
///
/// Shows: S4-R078.
#[tokio::test]
async fn a_task_works_once_and_nothing_is_said_to_it_after_its_end() {
    let site = site().await;
    let goal = create(&site).await;
    say(&site, &goal, "a task").await;
    let path = format!("/api/agent_tasks?goal_id={goal}");
    let is_done = |page: &Value| page["data"][0]["status"] == "completed";
    let task = eventually(&site, &path, is_done).await["data"][0].clone();
    at_rest(&site, &goal).await;
    let id = task["id"].as_str().unwrap();
    let seen = async || {
        let paths = ["", "/thread_messages", "/inspect"].map(|below| format!("/api/agent_tasks/{id}{below}"));
        futures::future::join_all(paths.iter().map(|path| async { site.get(path).await.expect(200) })).await
    };
    let before = seen().await;
    assert_eq!(before[0], task);
    let said = json!({ "content": "And buses?" });
    assert_eq!(site.post(&format!("/api/agent_tasks/{id}/thread_messages"), &said).await.status, 405);
    let hand = json!({ "type": "AgentTask", "id": id });
    assert_eq!(site.post("/api/orchestrate", &hand).await.expect(202)["reason"], "it has nothing to do");
    for context in ["agent_check_in", "feed_generation"] {
        let hand = json!({ "type": "AgentTask", "id": id, "context": { "type": context } });
        site.post("/api/orchestrate", &hand).await.expect(422);
    }
    say(&site, &goal, "And buses?").await;
    at_rest(&site, &goal).await;
    assert_eq!(seen().await, before);
}
