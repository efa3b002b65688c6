//! The goals API over HTTP: goals, the threads of their agents and tasks, archived conversations, and what it cost.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use entourage_engine::{Clock as _, Kinds, Page as Rows};
use entourage_llm::{Error as ModelError, Script, ScriptedModel, ToolChoice};
use entourage_server::{Algorithm, Auth, Jwt, Settings, mint};
use entourage_store::{Commit, Write};
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::{FakeClock, quiet};
use entourage_types::{Annotations, Owner, Time};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    goal_site::{
        at_rest, at_work, changed, create, data, engine, eventually, follow, is_of_task, is_said, say,
        seen_until, shown, site, speak,
    },
    site::{Answer, Site, asking, send},
    stream::Frame,
};

/// A message is there at once, unread; the agent reads it, uses its tools and answers; the client sees all of it, and
/// what the model thinks only while it does.
///
/// Shows: S4-R004, S4-R005, S4-R009, S4-R010, S4-R011, S4-R013, S4-R019, S4-R025, S4-R026.
/// Shows: S4-R027, S4-R028, S4-R029, S4-R030, S4-R031, S4-R034, S4-R103, S4-R132, S4-R153, S4-R154.
#[tokio::test]
async fn a_message_to_a_goal_is_there_at_once_and_its_thread_shows_what_the_agent_does() {
    let site = site().await;
    let goal = create(&site).await;
    let stream = format!("/api/goals/{goal}/stream");
    let live = follow(&site, &stream, None).await;
    let sent = say(&site, &goal, "three notes").await;
    assert_eq!((&sent["processed"], &sent["source"]), (&json!(false), &json!("user")));
    assert_eq!(
        (&sent["agentable_type"], &sent["agentable_id"], &sent["metadata"]),
        (&json!("Goal"), &json!(goal), &json!({}))
    );
    let seen = live.until(|frame| is_said(frame, "Done: three notes")).await;
    at_rest(&site, &goal).await;
    let path = format!("/api/goals/{goal}/thread_messages");
    let messages = data(&site, &path).await;
    assert_eq!(
        shown(&messages),
        [
            ["user", "text", "three notes"],
            ["agent", "tool", "Create note: Note 0"],
            ["agent", "tool", "Create note: Note 1"],
            ["agent", "tool", "Create note: Note 2"],
            ["agent", "text", "Done: three notes"],
        ]
    );
    assert_eq!((&messages[0]["id"], &messages[0]["created_at"]), (&sent["id"], &sent["created_at"]));
    assert!(messages.iter().all(|message| message["processed"] == true), "{messages:?}");
    let cell = &messages[1]["metadata"];
    assert_eq!((&cell["tool_name"], &cell["status"]), (&json!("create_note"), &json!("completed")));
    assert_eq!(cell["tool_call_id"], messages[1]["id"]);
    // A cell is updated in place, its tool's start and end are told, and the model's words are seen while it writes.
    let of = |event: &str| seen.iter().filter(|frame| frame.event == event).collect::<Vec<_>>();
    let cells: Vec<&Value> = of("message")
        .into_iter()
        .map(|frame| &frame.data)
        .filter(|data| data["id"] == messages[1]["id"])
        .collect();
    assert_eq!(
        cells.iter().map(|cell| &cell["metadata"]["status"]).collect::<Vec<_>>(),
        ["running", "completed"]
    );
    assert_eq!((of("tool_start").len(), of("tool_complete").len()), (3, 3));
    assert_eq!(of("tool_start")[0].data["tool_name"], "create_note");
    let complete = &of("tool_complete")[0].data;
    assert_eq!(complete["success"], true, "{complete}");
    assert!(complete["observation"].is_string() && complete.get("error").is_none(), "{complete}");
    let thought: String = of("think").iter().map(|frame| frame.data["text"].as_str().unwrap()).collect();
    assert!(thought.contains("A thought."), "{thought}");
    assert!(!messages.iter().any(|message| message["content"] == "A thought."));
    // Pages of the same, from the end to the beginning.
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = site.get(&format!("{path}?limit=2{cursor}")).await.expect(200);
        all.splice(0..0, page["data"].as_array().unwrap().clone());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(all, messages);
    // A client that was away resumes after any number and misses no message.
    let numbers: Vec<u64> = seen.iter().filter_map(|frame| frame.id).collect();
    let last = |frames: &[Frame]| {
        let mut last = std::collections::BTreeMap::new();
        frames.iter().filter(|frame| frame.event == "message").for_each(|frame| {
            last.insert(frame.data["id"].to_string(), frame.data.clone());
        });
        last
    };
    for number in numbers {
        let before: Vec<Frame> =
            seen.iter().take_while(|frame| frame.id.is_none_or(|id| id <= number)).cloned().collect();
        let is_end = before.iter().any(|frame| is_said(frame, "Done: three notes"));
        if is_end {
            continue;
        }
        let rest = follow(&site, &stream, Some(number)).await;
        let rest = rest.until(|frame| is_said(frame, "Done: three notes")).await;
        let whole: Vec<Frame> = before.into_iter().chain(rest).collect();
        let mut all = last(&whole);
        let mut expected = last(&seen);
        all.retain(|_, message| message["source"] != "user");
        expected.retain(|_, message| message["source"] != "user");
        assert_eq!(all, expected, "resumed after {number}");
    }
    // A stream that begins now begins with the latest messages.
    let begun = follow(&site, &stream, None).await;
    let begun = begun.until(|frame| is_said(frame, "Done: three notes")).await;
    assert_eq!(begun.iter().map(|frame| frame.data.clone()).collect::<Vec<_>>(), messages);
}

/// Shows: S4-R020, S4-R035, S4-R036, S4-R037, S4-R038, S4-R040, S4-R041, S4-R139, S4-R142, S4-R150, S4-R056.
#[tokio::test]
async fn the_operator_inspects_what_a_model_has_read_and_how_its_run_ended() {
    let site = site().await;
    let goal = create(&site).await;
    let path = format!("/api/goals/{goal}/inspect");
    let fresh = site.get(&path).await.expect(200);
    assert_eq!(
        (&fresh["llm_history"], &fresh["learnings"], &fresh["last_run"]),
        (&json!([]), &json!([]), &Value::Null)
    );
    let idle = json!({ "orchestrator_running": false, "orchestrator_started_at": null, "orchestrator_job_id": null });
    assert_eq!(fresh["runtime_state"], idle);
    let agent = site.client().agent(goal.parse().unwrap()).await.unwrap();
    let metadata = json!({ "colour": "blue" }).as_object().unwrap().clone();
    let set = Annotations { metadata, ..Annotations::of(&agent, agent.created) };
    site.engine.store().commit(Commit::new(agent.created).write(Write::record(&set).unwrap())).await.unwrap();
    say(&site, &goal, "three notes").await;
    at_rest(&site, &goal).await;
    let seen = site.get(&path).await.expect(200);
    let history = seen["llm_history"].as_array().unwrap();
    let tools: Vec<(&str, &str)> = history
        .iter()
        .flat_map(|entry| {
            let role = entry["role"].as_str().unwrap();
            entry["content"]
                .as_array()
                .into_iter()
                .flatten()
                .map(move |block| (role, block["type"].as_str().unwrap()))
        })
        .filter(|(_, block)| *block != "text")
        .collect();
    let turn = [("assistant", "tool_use"), ("user", "tool_result")];
    assert_eq!(tools, [turn; 4].concat(), "{history:?}");
    assert_eq!(history[0], json!({ "role": "user", "content": "three notes" }));
    let ids = |entry: &Value, id: &str| entry["content"][0][id].clone();
    assert_eq!(ids(&history[1], "id"), ids(&history[2], "tool_use_id"));
    assert_eq!(
        history.len(),
        9,
        "the message, three notes with what they returned, and the answer with its own"
    );
    let run = &seen["last_run"];
    assert_eq!(
        (&run["natural_completion"], &run["stop_reason"], &run["iterations"]),
        (&json!(false), &json!("completed"), &json!(4))
    );
    // Without a call the run ends by itself; the session goes on.
    say(&site, &goal, "be silent").await;
    at_rest(&site, &goal).await;
    let seen = site.get(&path).await.expect(200);
    assert_eq!(seen["last_run"]["natural_completion"], true, "{seen}");
    // It is asked once whether it has nothing to send.
    assert_eq!(seen["llm_history"].as_array().unwrap().len(), 12);
    let kept = json!({ "colour": "blue", "orchestrator_running": false, "orchestrator_started_at": null,
                       "orchestrator_job_id": null });
    assert_eq!(seen["runtime_state"], kept);
}

/// Shows: S4-R003, S4-R076, S4-R082, S4-R083, S4-R084, S4-R095, S4-R147.
#[tokio::test]
async fn a_task_is_listed_with_its_goal_and_its_thread_shows_its_tools() {
    let site = site().await;
    let goal = create(&site).await;
    say(&site, &goal, "a task").await;
    let path = format!("/api/agent_tasks?goal_id={goal}");
    let is_done = |page: &Value| page["data"][0]["status"] == "completed";
    let listed = eventually(&site, &path, is_done).await["data"].clone();
    let task = &listed[0];
    assert_eq!(
        ["title", "instructions", "result", "stop_reason"].map(|of| task[of].clone()),
        ["Trains", "Find the trains.", "Six trains a day.", "completed"]
    );
    assert_eq!((&task["goal_id"], &task["context_data"]), (&json!(goal), &json!({})));
    let id = task["id"].as_str().unwrap();
    assert_eq!(site.get(&format!("/api/agent_tasks/{id}")).await.expect(200), *task);
    let messages = data(&site, &format!("/api/agent_tasks/{id}/thread_messages")).await;
    assert_eq!(shown(&messages), [["agent", "tool", "Create note: Of the task"]], "a task does not talk");
    assert_eq!(
        (&messages[0]["agentable_type"], &messages[0]["agentable_id"]),
        (&json!("AgentTask"), &json!(id))
    );
    let seen = follow(&site, &format!("/api/agent_tasks/{id}/stream"), Some(0)).await;
    let seen = seen.until(|frame| frame.event == "tool_complete").await;
    assert!(seen.iter().any(|frame| frame.event == "tool_start"), "{seen:?}");
    let notes = data(&site, &format!("/api/goals/{goal}/notes")).await;
    assert_eq!((notes.len(), &notes[0]["title"]), (1, &json!("Of the task")));
    assert_eq!(site.get(&format!("/api/agent_tasks/{id}/inspect")).await.expect(200)["type"], "AgentTask");
    assert_eq!(data(&site, "/api/agent_tasks").await, [Value::Null; 0], "the user agent has none");
}

/// Why a task ended that went round in circles is told from one that was given up.
#[tokio::test]
async fn a_task_that_went_round_in_circles_says_so() {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match is_of_task(request) {
            true if request.tool_choice == ToolChoice::None => Script::text("As far as I came."),
            // The same call, with the same outcome, again and again.
            true => Script::call("search_notes", json!({ "query": "nothing" })),
            false => speak(request),
        }))
    });
    let kinds = changed("task", |kind| {
        kind.limits.max_same_tool = 0;
        kind.limits.max_history = 0;
        kind.tools.get_or_insert_default().push("search_notes".into());
    });
    let site = at_work(engine(model, &FakeClock::default(), kinds).build()).await;
    let goal = create(&site).await;
    say(&site, &goal, "a task").await;
    let path = format!("/api/agent_tasks?goal_id={goal}");
    let ended = eventually(&site, &path, |page| page["data"][0]["stop_reason"] != Value::Null).await;
    assert_eq!(ended["data"][0]["stop_reason"], "circles");
}

/// Shows: S4-R070, S4-R085, S4-R086, S4-R091.
#[tokio::test]
async fn goals_are_listed_changed_archived_and_deleted_and_the_user_agent_has_no_status() {
    let site = site().await;
    let goal = create(&site).await;
    let path = format!("/api/goals/{goal}");
    let put = |body: Value| send(site.request(Method::PUT, &path).json(&body));
    let changed = put(json!({ "title": "Rome in May" })).await.expect(200);
    assert_eq!(
        (&changed["title"], &changed["description"]),
        (&json!("Rome in May"), &json!("A week in May."))
    );
    put(json!({ "title": " " })).await.expect(422);
    put(json!({ "status": "archived" })).await.problem(422, "invalid-body");
    let archived = site.post(&format!("{path}/archive"), &json!({})).await.expect(200);
    assert_eq!(archived["status"], "archived");
    let refused = site.post(&format!("{path}/thread_messages"), &json!({ "content": "Hello." })).await;
    assert!(refused.expect(409)["detail"].as_str().unwrap().contains("unarchive"), "{}", refused.text);
    assert_eq!(data(&site, "/api/goals").await, [archived]);
    assert_eq!(site.post(&format!("{path}/unarchive"), &json!({})).await.expect(200)["status"], "waiting");
    site.post(&format!("{path}/thread_messages"), &json!({ "content": " " })).await.expect(422);
    let agent = site.get("/api/user_agent").await.expect(200);
    assert_eq!(agent, site.get("/api/user_agent").await.expect(200));
    assert!(agent.get("status").is_none(), "{agent}");
    let said =
        site.post("/api/user_agent/thread_messages", &json!({ "content": "Hello." })).await.expect(201);
    assert_eq!(said["agentable_type"], "UserAgent");
    let seen = follow(&site, "/api/user_agent/stream", None).await;
    seen.until(|frame| is_said(frame, "Done: Hello.")).await;
    assert_eq!(site.delete(&path).await.status, 204);
    for (method, path) in [(Method::GET, path.clone()), (Method::GET, format!("{path}/thread_messages"))] {
        send(site.request(method, &path)).await.expect(404);
    }
    assert_eq!(data(&site, "/api/goals").await, [Value::Null; 0]);
}

/// Shows: S4-R047, S4-R048, S4-R050, S4-R051, S4-R092, S4-R094, S4-R097, S4-R032.
#[tokio::test]
async fn an_agent_is_set_to_work_by_hand_and_its_feed_is_archived_whole() {
    let site = site().await;
    let user_agent = site.get("/api/user_agent").await.expect(200)["id"].clone();
    let orchestrate = async |body: Value| site.post("/api/orchestrate", &body).await;
    let feed =
        json!({ "type": "UserAgent", "id": user_agent, "context": { "type": "feed_generation", "day": 3 } });
    assert_eq!(orchestrate(feed).await.expect(202)["outcome"], "scheduled");
    let is_archived = |page: &Value| page["data"].as_array().unwrap().len() == 1;
    let listed = eventually(&site, "/api/user_agent/agent_histories", is_archived).await["data"][0].clone();
    assert_eq!(listed["completion_reason"], "feed_generation_complete");
    assert_eq!(listed["summary"], "They spoke of trains.");
    assert!(listed.get("agent_history").is_none(), "lists leave it out");
    let whole = format!("/api/user_agent/agent_histories/{}", listed["id"].as_str().unwrap());
    let whole = site.get(&whole).await.expect(200);
    assert!(whole["agent_history"][0]["content"].as_str().unwrap().starts_with("Write the feed"), "{whole}");
    let inspected = site.get("/api/user_agent/inspect").await.expect(200);
    assert_eq!(inspected["llm_history"], json!([]));
    // The run that wrote the feed, and not the one that closed its session.
    let run = &inspected["last_run"];
    assert_eq!((&run["stop_reason"], &run["iterations"]), (&json!("completed"), &json!(1)), "{run}");
    let runs =
        site.client().runs(user_agent.as_str().unwrap().parse().unwrap(), Rows::default()).await.unwrap();
    assert_eq!((runs.len(), &run["id"]), (2, &json!(runs[0].id)));
    // The thread keeps what was said in it.
    let messages = data(&site, "/api/user_agent/thread_messages").await;
    assert!(
        messages
            .iter()
            .any(|message| message["content"].as_str().unwrap().starts_with("Done: Write the feed"))
    );
    for (query, found) in [
        ("query=feed", 1),
        ("query=feed&timeframe=last_month", 1),
        ("query=zebra", 0),
        ("timeframe=last_day", 1),
    ] {
        let page = data(&site, &format!("/api/user_agent/agent_histories?{query}")).await;
        assert_eq!(page.len(), found, "{query}");
    }
    site.get("/api/user_agent/agent_histories?timeframe=soon").await.expect(400);
    // Who has nothing to do, does not exist or is gone, is left alone.
    let goal = create(&site).await;
    let ignored = async |body: Value, why: &str| {
        let answer = orchestrate(body).await.expect(202);
        assert_eq!((&answer["outcome"], &answer["reason"]), (&json!("ignored"), &json!(why)));
    };
    ignored(json!({ "type": "Goal", "id": goal }), "it has nothing to do").await;
    ignored(json!({ "type": "Goal", "id": "agt_no" }), "there is no such agent").await;
    ignored(json!({ "type": "AgentTask", "id": "7" }), "there is no such agent").await;
    // A goal writes no feed.
    let wrong = json!({ "type": "Goal", "id": goal, "context": { "type": "feed_generation" } });
    assert!(orchestrate(wrong).await.expect(422)["detail"].as_str().unwrap().contains("agent_check_in"));
    orchestrate(json!({ "type": "Zebra", "id": goal })).await.expect(422);
    assert_eq!(site.delete(&format!("/api/goals/{goal}")).await.status, 204);
    let check_in = json!({ "type": "Goal", "id": goal, "context": { "type": "agent_check_in" } });
    ignored(check_in, "there is no such agent").await;
}

/// Shows: S4-R144, S4-R145.
#[tokio::test]
async fn what_model_calls_cost_is_listed_and_adds_up() {
    let model = ScriptedModel::deciding(|request| Some(Ok(speak(request)))).priced(entourage_llm::Price {
        input: 3.0,
        output: 15.0,
        cached: None,
        cache_written: None,
    });
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let engine = asking(Arc::new(model), store, quiet(Kinds::builtin()));
    let site = Site::serving(engine, Settings::default()).await;
    site.work();
    let goal = create(&site).await;
    say(&site, &goal, "a task").await;
    let is_done = |page: &Value| page["data"][0]["status"] == "completed";
    eventually(&site, &format!("/api/agent_tasks?goal_id={goal}"), is_done).await;
    at_rest(&site, &goal).await;
    let calls = data(&site, "/api/me/llm_calls").await;
    assert_eq!(calls.len(), 4, "two of the goal, two of its task");
    for call in &calls {
        assert_eq!((&call["input_tokens"], &call["output_tokens"]), (&json!(1_000), &json!(100)));
        assert_eq!(call["total_cost"], json!(0.0045));
        assert!(
            !call["model"].as_str().unwrap().is_empty() && !call["provider"].as_str().unwrap().is_empty()
        );
    }
    let me = site.get("/api/me").await.expect(200);
    assert_eq!((&me["id"], &me["llm_calls"]), (&json!("local"), &json!(4)));
    assert_eq!((&me["total_llm_cost"], &me["total_llm_nanodollars"]), (&json!(0.018), &json!(18_000_000)));
}

/// A failing provider shows as one message, which is gone when a later attempt succeeds; at the end it says so.
///
/// Shows: S4-R107, S4-R108, S4-R109, S4-R111, S4-R113, S4-R115.
#[tokio::test]
async fn a_failure_is_one_message_with_a_countdown_which_is_gone_once_it_is_overcome() {
    let failures = Arc::new(AtomicUsize::new(2));
    let left = Arc::clone(&failures);
    let model = ScriptedModel::deciding(move |request| {
        let fails = left.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if fails && !request.system.starts_with("You keep the records") {
            let (model, cause) = ("m".into(), "reset".into());
            return Some(Err(ModelError::Unreachable { model, cause, sent: false }));
        }
        Some(Ok(speak(request)))
    });
    let clock = FakeClock::default();
    let site = at_work(engine(model, &clock, Kinds::builtin()).build()).await;
    let goal = create(&site).await;
    let path = format!("/api/goals/{goal}/thread_messages");
    let mut live = follow(&site, &format!("/api/goals/{goal}/stream"), None).await;
    say(&site, &goal, "Hello.").await;
    let is_error = |frame: &Frame| frame.event == "message" && frame.data["source"] == "error";
    let told = seen_until(&mut live, is_error).await.pop().unwrap().data;
    assert_eq!((&told["metadata"]["retryable"], &told["metadata"]["attempt"]), (&json!(true), &json!(1)));
    assert_eq!(told["metadata"]["error_class"], "network");
    let listed = data(&site, &path).await;
    assert_eq!(listed.last().unwrap()["id"], told["id"]);
    // A client counts down from 10 seconds, and then from 20, and two more at most: no attempt is made before, and the
    // next one is made then.
    let left = |told: &Value| {
        let due: Time = told["metadata"]["next_retry_at"].as_str().unwrap().parse().unwrap();
        due.since(clock.now())
    };
    let within_jitter = |left: Duration, seconds| {
        (Duration::from_secs(seconds)..=Duration::from_secs(seconds + 2)).contains(&left)
    };
    assert!(within_jitter(left(&told), 10), "{told}");
    clock.advance(left(&told) - Duration::from_micros(1));
    site.engine.advance(goal.parse().unwrap()).await.unwrap();
    assert_eq!(data(&site, &path).await, listed, "no attempt is made before its time");
    // Two attempts fail, the third one succeeds.
    let attempt =
        |number: u32| move |frame: &Frame| is_error(frame) && frame.data["metadata"]["attempt"] == number;
    clock.advance(Duration::from_micros(1));
    let mut overcome = seen_until(&mut live, attempt(2)).await;
    let again = overcome.last().unwrap().data.clone();
    assert!(within_jitter(left(&again), 20), "{again}");
    clock.advance(left(&again));
    overcome.extend(seen_until(&mut live, |frame| is_said(frame, "Done: Hello.")).await);
    let of_error: Vec<&Value> =
        overcome.iter().filter(|frame| is_error(frame)).map(|frame| &frame.data).collect();
    assert!(of_error.iter().all(|message| message["id"] == told["id"]), "{of_error:?}");
    let overcome = json!({ "error_class": "network", "attempt": 2, "next_retry_at": null, "retryable": false,
                           "resolved": true });
    assert_eq!(of_error.last().unwrap()["metadata"], overcome);
    at_rest(&site, &goal).await;
    let listed = data(&site, &path).await;
    assert_eq!(shown(&listed), [["user", "text", "Hello."], ["agent", "text", "Done: Hello."]]);
    let history = site.get(&format!("/api/goals/{goal}/inspect")).await.expect(200)["llm_history"].clone();
    let said = history.as_array().unwrap().iter().filter(|entry| entry["content"] == "Hello.").count();
    assert_eq!(said, 1, "the message stands once in the history");
}

/// A model that could not be asked has made no attempt that failed: its message says when it is asked, and is over then.
///
/// Shows: S4-R107.
#[tokio::test]
async fn a_model_that_was_not_asked_yet_has_not_failed() {
    let has_been_asked = AtomicUsize::new(0);
    let model = ScriptedModel::deciding(move |request| {
        Some(match has_been_asked.fetch_add(1, Ordering::SeqCst) {
            0 => Err(ModelError::Busy { model: "m".into(), after: Duration::from_secs(300) }),
            _ => Ok(speak(request)),
        })
    });
    let clock = FakeClock::default();
    let site = at_work(engine(model, &clock, Kinds::builtin()).build()).await;
    let goal = create(&site).await;
    let (thread, stream) =
        (format!("/api/goals/{goal}/thread_messages"), format!("/api/goals/{goal}/stream"));
    let live = follow(&site, &stream, None).await;
    say(&site, &goal, "Hello.").await;
    let listed = eventually(&site, &thread, |page| page["data"][1]["source"] == "error").await;
    let put_off = &listed["data"][1];
    let said = put_off["content"].as_str().unwrap();
    assert!(said.starts_with("Its model was not asked yet ("), "{said}");
    let metadata = &put_off["metadata"];
    assert_eq!((&metadata["attempt"], &metadata["retryable"]), (&json!(0), &json!(true)));
    let due: Time = metadata["next_retry_at"].as_str().unwrap().parse().unwrap();
    assert!(due > clock.now(), "{put_off}");
    let later = follow(&site, &stream, None).await;
    clock.advance(due.since(clock.now()));
    for stream in [live, later] {
        let seen = stream.until(|frame| is_said(frame, "Done: Hello.")).await;
        let of_error = seen.iter().rfind(|frame| frame.data["source"] == "error").unwrap();
        assert_eq!(
            (&of_error.data["id"], &of_error.data["metadata"]["resolved"]),
            (&put_off["id"], &json!(true))
        );
    }
    at_rest(&site, &goal).await;
    assert_eq!(shown(&data(&site, &thread).await).len(), 2, "the message and its answer");
}

/// After the last attempt the message says that it failed permanently; a task that failed so is cancelled, and one
/// that waits for its next attempt is paused.
///
/// Shows: S4-R076, S4-R109, S4-R110, S4-R111.
#[tokio::test]
async fn what_failed_permanently_says_so_and_its_task_is_cancelled() {
    let model = ScriptedModel::deciding(|request| {
        if is_of_task(request) {
            let (model, cause) = ("m".into(), "reset".into());
            return Some(Err(ModelError::Unreachable { model, cause, sent: false }));
        }
        Some(Ok(speak(request)))
    });
    let clock = FakeClock::default();
    let site = at_work(engine(model, &clock, Kinds::builtin()).build()).await;
    let goal = create(&site).await;
    say(&site, &goal, "a task").await;
    let path = format!("/api/agent_tasks?goal_id={goal}");
    let task =
        eventually(&site, &path, |page| page["data"][0]["status"] == "paused").await["data"][0].clone();
    let thread = format!("/api/agent_tasks/{}/thread_messages", task["id"].as_str().unwrap());
    for attempt in 2..=4 {
        clock.advance(Duration::from_secs(120));
        let is_it = |page: &Value| {
            let last = &page["data"][0]["metadata"];
            last["attempt"] == attempt || last["retryable"] == false
        };
        eventually(&site, &thread, is_it).await;
    }
    let task =
        eventually(&site, &path, |page| page["data"][0]["status"] == "cancelled").await["data"][0].clone();
    assert_eq!(task["goal_id"], json!(goal));
    let messages = data(&site, &thread).await;
    let [failed] = &messages[..] else { panic!("{messages:?}") };
    let last = json!({ "error_class": "network", "attempt": 4, "next_retry_at": null, "retryable": false });
    assert_eq!((&failed["source"], &failed["metadata"]), (&json!("error"), &last));
    let said = failed["content"].as_str().unwrap();
    assert!(said.starts_with("Failed permanently after 4 attempts"), "{said}");
}

/// What is not tried again at all is final, too, and says so in the same words and fields.
///
/// Shows: S4-R105, S4-R111.
#[tokio::test]
async fn a_failure_that_is_not_tried_again_is_permanent_at_once() {
    let model = ScriptedModel::deciding(|_| {
        Some(Err(ModelError::Refused { model: "m".into(), cause: "400".into() }))
    });
    let site = at_work(engine(model, &FakeClock::default(), Kinds::builtin()).build()).await;
    let goal = create(&site).await;
    let live = follow(&site, &format!("/api/goals/{goal}/stream"), None).await;
    say(&site, &goal, "Hello.").await;
    let told = live.until(|frame| frame.data["source"] == "error").await.pop().unwrap().data;
    let last = json!({ "error_class": "other", "attempt": 1, "next_retry_at": null, "retryable": false });
    assert_eq!(told["metadata"], last);
    let said = told["content"].as_str().unwrap();
    assert!(said.starts_with("Failed permanently: "), "{said}");
    assert_eq!(data(&site, &format!("/api/goals/{goal}/thread_messages")).await.last(), Some(&told));
}

/// Nothing of one owner is another's, and what only operators see is theirs alone.
///
/// Shows: S4-R038.
#[tokio::test]
async fn goals_are_their_owners_and_what_a_model_reads_is_the_operators() {
    let secret = "a secret of thirty-two bytes, or more".to_owned();
    let jwt =
        Jwt { algorithm: Algorithm::Hs256, key: secret.into(), audience: None, issuer: None, operator: None };
    let settings = Settings { auth: Auth::Jwt(jwt), ..Settings::default() };
    let token = |owner: &str| mint(&settings, &Owner::new(owner), Duration::from_secs(600)).unwrap();
    let (ada, eve, operator) = (token("ada"), token("eve"), token("local"));
    let model = ScriptedModel::deciding(|request| Some(Ok(speak(request))));
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let engine = asking(Arc::new(model), store, quiet(Kinds::builtin()));
    let site = Site::serving(engine, settings).await;
    site.work();
    let (ada, eve, operator) = (site.bearing(&ada), site.bearing(&eve), site.bearing(&operator));
    let goal = create(&ada).await;
    say(&ada, &goal, "a task").await;
    let is_done = |page: &Value| page["data"][0]["status"] == "completed";
    let tasks = eventually(&ada, &format!("/api/agent_tasks?goal_id={goal}"), is_done).await;
    let task = tasks["data"][0]["id"].as_str().unwrap().to_owned();
    let mut paths = vec![format!("/api/agent_tasks?goal_id={goal}")];
    for below in ["", "/thread_messages", "/stream", "/notes", "/learnings", "/agent_histories"] {
        paths.push(format!("/api/goals/{goal}{below}"));
    }
    for below in ["", "/thread_messages", "/stream"] {
        paths.push(format!("/api/agent_tasks/{task}{below}"));
    }
    for path in &paths {
        let answer: Answer = eve.get(path).await;
        answer.problem(404, "not-found");
    }
    for path in [format!("/api/goals/{goal}/inspect"), "/api/user_agent/inspect".into()] {
        ada.get(&path).await.problem(403, "operator-only");
    }
    let hand = json!({ "type": "Goal", "id": goal });
    ada.post("/api/orchestrate", &hand).await.problem(403, "operator-only");
    // The operator sees the agents of all owners, and sets them to work; the goal itself is not theirs.
    for path in [format!("/api/goals/{goal}/inspect"), format!("/api/agent_tasks/{task}/inspect")] {
        let history = operator.get(&path).await.expect(200)["llm_history"].clone();
        assert!(history.as_array().is_some_and(|entries| !entries.is_empty()), "{path}: {history}");
    }
    operator.get(&format!("/api/goals/{goal}")).await.problem(404, "not-found");
    let of_ada = ada.get("/api/user_agent").await.expect(200)["id"].clone();
    let check_in = json!({ "type": "agent_check_in" });
    for (sort, id) in [("Goal", json!(goal)), ("UserAgent", of_ada)] {
        let hand = json!({ "type": sort, "id": id, "context": check_in });
        assert_eq!(
            operator.post("/api/orchestrate", &hand).await.expect(202)["outcome"],
            "scheduled",
            "{sort}"
        );
    }
    let no_user_agent = json!({ "type": "UserAgent", "id": goal, "context": check_in });
    assert_eq!(operator.post("/api/orchestrate", &no_user_agent).await.expect(202)["outcome"], "ignored");
    assert_eq!(data(&eve, "/api/goals").await, [Value::Null; 0]);
    assert_eq!(eve.get("/api/me").await.expect(200)["llm_calls"], 0);
    assert_ne!(
        eve.get("/api/user_agent").await.expect(200)["id"],
        ada.get("/api/user_agent").await.expect(200)["id"]
    );
}
