//! A sub-agent works alone on its task, and ends it by an answer, an error, or a request to the
//! user.

use crate::kit::{Effects, TestTool, WorldExt, first_tools, parsed};
use axum::{
    Json,
    http::{HeaderMap, StatusCode, header::AUTHORIZATION},
    response::{IntoResponse, Response},
    routing::post,
};
use entourage_engine::{Clock, Kinds};
use entourage_llm::{Message, Script, ScriptedModel};
use entourage_store::{Commit, Write};
use entourage_testkit::{Fact, HeldModel, Witness, World, audit, plain, quiet};
use entourage_tools::{Effect, SearchSettings, Settings, builtin};
use entourage_types::{
    Author, ItemBody, Post, PostBody, PostId, Status, StepState, StopReason, Task, TaskResult, WakeupId,
};
use serde_json::{Value, json};

use crate::chat::{cast, ended_runs, is_orchestrator, main_chat, obeys, start, tasks, workers};

const ORCHESTRATOR: Option<&str> = Some("orchestrator");

/// Shows: S1-R046, S1-R047.
#[tokio::test]
async fn final_answer_ends_the_task_after_the_other_calls_have_outputs() {
    let script = ScriptedModel::new([start("find"), Script::text("Found.")]);
    let model = cast(&script, |_| {
        Ok(Script::text("So:")
            .and_call("create_note", json!({"title": "t", "content": "c"}))
            .and_call("final_answer", json!({"answer": "42"})))
    });
    let world = World::scripted(&model, first_tools()).await;
    let chat = world.ask_kind(ORCHESTRATOR, "Find it.").await;
    ended_runs(&world, &chat, 2).await;
    let worker = workers(&world, chat.id).await.remove(0);
    let items = world.client().items(worker.id, 0, 10).await.unwrap();
    assert_eq!(plain(&items).len(), 4, "{items:?}");
    assert_eq!(tasks(&world, chat.id).await[0].result, Some(TaskResult::Text("42".into())));
    assert_eq!(world.client().notes(Some(chat.id), Default::default()).await.unwrap().len(), 1);
    assert_eq!(model.requests().iter().filter(|request| !is_orchestrator(request)).count(), 1);
}

#[tokio::test]
async fn a_sub_agent_fails_after_twenty_model_calls() {
    let script = ScriptedModel::new([start("dig")]);
    let model = cast(&script, |request| {
        Ok(match request.messages.len() % 4 {
            1 => Script::call("search_notes", json!({"query": format!("{}", request.messages.len())})),
            _ => Script::call(
                "create_note",
                json!({"title": format!("{}", request.messages.len()), "content": "c"}),
            ),
        })
    });
    let world = World::scripted(&model, first_tools()).await;
    let chat = world.ask_kind(ORCHESTRATOR, "Dig.").await;
    ended_runs(&world, &chat, 2).await;
    let worker = workers(&world, chat.id).await.remove(0);
    let runs = world.client().runs(worker.id, Default::default()).await.unwrap();
    assert_eq!((runs[0].model_calls, runs[0].stop_reason), (20, Some(StopReason::MaxSteps)));
    assert_eq!((worker.status, tasks(&world, chat.id).await[0].status), (Status::Failed, Status::Failed));
    let (_, last) = main_chat(&world, chat.id).await.pop().unwrap();
    assert!(last.contains("20 model calls"), "{last}");
}

/// Shows: S1-R023, S1-R034, S1-R035, S1-R076, S4-R007.
#[tokio::test]
async fn each_model_call_sees_the_whole_transcript_in_order_and_the_tools() {
    let script = ScriptedModel::new([start("find"), Script::text("Found.")]);
    let model = cast(&script, |request| {
        Ok(match request.messages.len() {
            1 => Script::call("search_notes", json!({"query": "one"}))
                .and_call("search_notes", json!({"query": "two"})),
            4 => Script::call("no_such_tool", json!({})),
            _ => Script::text("found"),
        })
    });
    let world = World::scripted(&model, first_tools()).await;
    let chat = world.ask_kind(ORCHESTRATOR, "Find it.").await;
    ended_runs(&world, &chat, 2).await;
    let requests: Vec<_> = model.requests().into_iter().filter(|request| !is_orchestrator(request)).collect();
    assert_eq!(requests.iter().map(|request| request.messages.len()).collect::<Vec<_>>(), [1, 4, 6]);
    for (before, after) in requests.iter().zip(&requests[1..]) {
        assert_eq!(after.messages[..before.messages.len()], before.messages);
        assert!(after.tools.iter().any(|tool| tool.name == "search_notes"));
    }
    let last = &requests[2].messages;
    assert!(matches!(&last[2..4], [Message::Output { .. }, Message::Output { .. }]), "{last:?}");
    assert!(matches!(&last[5], Message::Output { text, .. } if text.contains("there is no tool")));
    let rule = "every turn ends in a tool call or in the final answer. Never just chat.";
    assert!(requests[0].system.contains("You are the Researcher") && requests[0].system.contains(rule));
}

/// A Tavily service that knows one page, and refuses requests without its key.
async fn tavily(headers: HeaderMap, Json(asked): Json<Value>) -> Response {
    if headers.get(AUTHORIZATION).is_none_or(|key| key != "Bearer key-1") {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let found = format!("{}: 8611 m", asked["query"].as_str().unwrap());
    let page = json!({"title": "K2", "url": "https://peaks.example/k2", "content": found});
    Json(json!({ "results": [page] })).into_response()
}

/// Shows: S1-R050.
#[tokio::test]
async fn web_search_uses_tavily_if_its_key_is_set() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let routes = axum::Router::new().route("/search", post(tavily));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let search = SearchSettings {
        tavily_api_key: Some("key-1".into()),
        tavily_url: Some(url),
        ..SearchSettings::default()
    };
    let tools = builtin(Settings { search, ..Settings::default() });
    let script = ScriptedModel::new([start("How high is K2?"), Script::text("K2 is 8611 m high.")]);
    let model = cast(&script, |request| {
        Ok(match request.messages.last() {
            Some(Message::Output { text, .. }) => Script::text(text.clone()),
            _ => Script::call("web_search", json!({"query": "height of K2"})),
        })
    });
    let world = World::scripted(&model, tools).await;
    let chat = world.ask_kind(ORCHESTRATOR, "The height of K2?").await;
    ended_runs(&world, &chat, 2).await;
    let asked = model.requests().into_iter().find(|request| !is_orchestrator(request)).unwrap();
    assert!(asked.tools.iter().any(|tool| tool.name == "web_search"), "it is offered");
    let found = "1. [K2](https://peaks.example/k2)\n   height of K2: 8611 m";
    assert_eq!(tasks(&world, chat.id).await[0].result, Some(TaskResult::Text(found.into())));
}

/// The commits that wrote a task in this status.
fn commits_of(world: &World, status: Status) -> Vec<Commit> {
    let facts = world.witness().facts();
    let commits = facts.into_iter().filter_map(|fact| match fact {
        Fact::Committed(commit) => Some(commit),
        _ => None,
    });
    let writes = |write: &Write| write.as_record().is_some_and(|task: Task| task.status == status);
    commits.filter(|commit| commit.writes.iter().any(writes)).map(|commit| (*commit).clone()).collect()
}

/// Shows: S1-R025, S1-R028, S1-R048.
#[tokio::test]
async fn the_final_turn_the_agent_and_task_status_and_the_post_are_one_commit() {
    let model = cast(&ScriptedModel::new([start("one"), Script::text("Done.")]), obeys);
    let world = World::scripted(&model, first_tools()).await;
    let chat = world.ask_kind(ORCHESTRATOR, "Begin.").await;
    ended_runs(&world, &chat, 2).await;
    let commits = commits_of(&world, Status::Succeeded);
    let worker = workers(&world, chat.id).await.remove(0);
    // The message led to one pass, and its answer to none.
    let runs = world.client().runs(worker.id, Default::default()).await.unwrap();
    assert_eq!((runs.len(), runs[0].model_calls), (1, 1));
    let [commit] = &*commits else { panic!("{commits:#?}") };
    let has = |fits: &dyn Fn(&Write) -> bool| commit.writes.iter().any(fits);
    assert!(has(&|write| matches!(write, Write::Item(item)
        if item.agent == worker.id && matches!(&item.body, ItemBody::Turn(turn) if turn.text == "did one"))));
    assert!(has(&|write| matches!(write, Write::Agent(agent) if agent.status == Status::Succeeded)));
    assert!(has(&|write| matches!(write, Write::Post(post) if post.agent == chat.id)));
}

/// Tools that return immediately, without effects and with them: the turn is committed before their
/// outputs, and before they begin if they have an effect.
/// Shows: S1-R038.
#[tokio::test]
async fn a_turn_commits_with_its_intents_before_any_effect_or_output() {
    for [one, two] in [
        [Effect::Pure, Effect::Pure],
        [Effect::Unsafe, Effect::Unsafe],
        [Effect::Pure, Effect::Unsafe],
        [Effect::Idempotent, Effect::Pure],
    ] {
        let effects = [one, two];
        let witness = Witness::default();
        let happened = Effects::seen_by(&witness);
        let tools = effects
            .iter()
            .zip(["one", "two"])
            .fold(first_tools(), |tools, (effect, name)| tools.with(TestTool::new(name, *effect, &happened)));
        let model = cast(&ScriptedModel::new([start("go"), Script::text("Done.")]), |request| {
            Ok(match request.messages.len() {
                1 => Script::call("one", json!({"n": 1})).and_call("two", json!({"n": 2})),
                _ => Script::text("did both"),
            })
        });
        const WORKER: &str = "---\nname: researcher\ntools: [one, two]\n---\nYou are the Researcher.";
        let kinds = quiet(Kinds::builtin()).with(parsed("researcher.md", WORKER));
        let builder = World::builder(model).tools(tools).kinds(kinds).between(witness.clone());
        let world = builder.start().await;
        let chat = world.ask_kind(ORCHESTRATOR, "Begin.").await;
        ended_runs(&world, &chat, 2).await;
        let worker = workers(&world, chat.id).await.remove(0);

        // Commits that concern the worker's calls, in order, and where effects happened between
        // them.
        let (mut commits, mut acted_after) = (Vec::new(), Vec::new());
        for fact in witness.facts() {
            match fact {
                Fact::Committed(commit) => {
                    let written = commit.writes.iter().filter_map(|write| match write {
                        Write::Item(item) if item.agent == worker.id => match &item.body {
                            ItemBody::Turn(turn) => Some(format!("turn of {}", turn.calls.len())),
                            ItemBody::Output(output) => Some(format!("output of {}", output.tool)),
                            _ => None,
                        },
                        Write::Step(step)
                            if step.key.call().is_some() && step.state == StepState::Started =>
                        {
                            Some("intent".to_owned())
                        }
                        _ => None,
                    });
                    commits.push(written.collect::<Vec<_>>());
                }
                Fact::Effect { effect, .. } if effect != Effect::Pure => acted_after.push(commits.concat()),
                _ => {}
            }
        }
        let intents = effects.iter().filter(|effect| **effect != Effect::Pure).count();
        let begun = [vec!["turn of 2"], vec!["intent"; intents]].concat();
        let ended = ["output of one", "output of two", "turn of 0"];
        assert_eq!(commits.concat(), [&begun[..], &ended].concat(), "{effects:?}");
        let turn = commits.iter().find(|written| written.contains(&"turn of 2".to_owned())).unwrap();
        assert_eq!(turn[..begun.len()], begun, "one commit: {effects:?}");
        assert_eq!(acted_after, vec![begun; intents], "no effect before it: {effects:?}");
        assert_eq!(audit(&**world.store(), Some(&witness)).await.unwrap(), []);
    }
}

/// The sub-agent gives its final answer while the orchestrator sends more work: neither is lost.
/// Shows: S1-R062.
#[tokio::test]
async fn a_post_that_arrives_as_a_sub_agent_ends_starts_a_second_run() {
    let script = ScriptedModel::new([start("one")]);
    let model = HeldModel::new(cast(&script, obeys));
    let world =
        World::builder(model.clone()).tools(first_tools()).kinds(quiet(Kinds::builtin())).start().await;
    let chat = world.ask_kind(ORCHESTRATOR, "Begin.").await;
    model.let_go(1);
    model.begun().await;
    ended_runs(&world, &chat, 1).await;
    model.begun().await;
    // The sub-agent's only call is held; meanwhile it gets another post, which it has not read.
    let worker = workers(&world, chat.id).await.remove(0);
    let task = tasks(&world, chat.id).await.remove(0);
    let from = Author::Agent { id: chat.id, kind: "orchestrator".into() };
    let body =
        PostBody::Message { from, text: "and two".into(), task: Some(task.id), queued: false, options: None };
    let (id, at, wakeup) = (PostId::new(), world.clock().now(), WakeupId::new());
    let mut commit = Commit::new(at);
    commit.post(Post { id, agent: worker.id, at, wakeup, body }, &worker.owner);
    world.store().commit(commit).await.unwrap();
    script.push(Ok(Script::text("One.")));
    script.push(Ok(Script::text("And two.")));
    model.let_go(10);
    ended_runs(&world, &chat, 3).await;
    let replies = main_chat(&world, chat.id).await.split_off(1);
    assert_eq!(replies.iter().map(|(_, text)| &**text).collect::<Vec<_>>(), ["One.", "And two."]);
    assert_eq!(tasks(&world, chat.id).await[0].result, Some(TaskResult::Text("did and two".into())));
    assert_eq!(world.audit().await, []);
}
