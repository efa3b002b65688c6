//! Programs make calls, start agents and join them.

use crate::kit::{Effects, TestTool, WithProgram, WorldExt, first_tools, is_worker, programmed, team, work};
use entourage_engine::{CallResult, DecisionRequest, Interrupt, NewAgent, NewTask, Run};
use entourage_llm::{Message, Script, ScriptedModel};
use entourage_store::{Page, Write};
use entourage_testkit::{Fact, HeldModel, World, WorldBuilder, plain};
use entourage_tools::{Effect, Toolbox};
use entourage_types::{
    Action, Agent, Answer, ItemBody, Limits, OnEnd, Output, ProgramName, Status, WaitingOn,
};
use futures::{FutureExt, future::BoxFuture};
use serde_json::json;

type Outcome<'r> = BoxFuture<'r, Result<String, Interrupt>>;

async fn lines(world: &World, agent: &Agent) -> Vec<String> {
    plain(&world.client().items(agent.id, 0, 100).await.unwrap())
}

/// A program that asks one question and answers with what came of it.
fn asks<'r>(run: &'r mut Run<'_>) -> Outcome<'r> {
    async move {
        run.receive().await?;
        let answer = run.ask_user("colour", "Which colour?", &["red", "blue"]).await?;
        Ok(run.say(format!("{answer:?}")))
    }
    .boxed()
}

fn world(model: &ScriptedModel) -> WorldBuilder {
    World::builder(model.clone()).tools(first_tools())
}

#[tokio::test]
async fn a_program_reads_whether_the_user_answered_declined_or_let_it_expire() {
    for (answer, expected) in [
        (Some(Answer::Text("red".into())), r#"Answered("red")"#),
        (Some(Answer::Declined), "Declined"),
        (None, "Expired"),
    ] {
        let limits = Limits { answer_seconds: Some(60), ..Limits::default() };
        let builder = world(&ScriptedModel::new([])).kinds(programmed(|kind| kind.limits = limits));
        let world = builder.program(&["ask_user"], asks).start().await;
        let root = world.ask("Paint it.").await;
        let question = world.question(root.id).await;
        assert_eq!((question.text.as_str(), question.options.len()), ("Which colour?", 2));
        world.asleep(&root).await;
        match answer {
            Some(answer) => drop(world.client().answer(question.id, answer).await.unwrap()),
            None => world.clock().advance(std::time::Duration::from_secs(61)),
        }
        assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
        let lines = lines(&world, &root).await;
        assert_eq!(lines.last().unwrap(), &format!("turn: {expected}[]"));
    }
}

#[tokio::test]
async fn a_program_calls_its_tools_at_once_and_reads_their_outputs_in_order() {
    let effects = Effects::default();
    let tools = Toolbox::new().with(TestTool::new("read", Effect::Pure, &effects)).with(TestTool::new(
        "put",
        Effect::Idempotent,
        &effects,
    ));
    let model = ScriptedModel::new([Script::text("Done.")]);
    let builder = World::builder(model.clone()).tools(tools).kinds(programmed(|_| {}));
    let world = builder.program(&["read", "put"], |run| {
        async move {
            run.receive().await?;
            let calls = [("put", 1), ("read", 2), ("nothing", 3)];
            let calls = calls.map(|(tool, n)| (tool.to_owned(), json!({ "n": n })));
            for result in run.calls("look", calls.to_vec()).await? {
                let CallResult::Returned(Output { tool, text, error, .. }) = result else {
                    panic!("{result:?}")
                };
                run.progress(&tool.clone(), format!("{tool} {error}: {text}")).await?;
            }
            entourage_engine::programs::converse(run).await
        }
        .boxed()
    });
    let world = world.start().await;
    let root = world.ask("Go.").await;
    world.ended(root.id).await;
    let lines = lines(&world, &root).await;
    assert_eq!(lines[5], r#"notice progress: put false: put: {"n":1}"#);
    assert_eq!(lines[6], r#"notice progress: read false: read: {"n":2}"#);
    assert!(
        lines[7].starts_with("notice progress: nothing true: not allowed: there is no tool `nothing`"),
        "{}",
        lines[7]
    );
    // The model is offered none of these tools, so it reads of the calls as notices.
    let request = &model.requests()[0];
    assert!(request.tools.iter().all(|tool| tool.name == "read_output"), "{:?}", request.tools);
    let calls = |message: &Message| matches!(message, Message::Assistant { calls, .. } if !calls.is_empty());
    assert!(
        !request.messages.iter().any(|message| calls(message) || matches!(message, Message::Output { .. }))
    );
    let Message::Notice(first) = &request.messages[1] else { panic!("{request:?}") };
    assert!(first.starts_with(r#"<call tool="put">{&quot;n&quot;:1}</call>"#), "{first}");
}

#[tokio::test]
async fn the_model_may_not_call_the_tools_of_its_program() {
    let model =
        ScriptedModel::new([Script::call("ask_user", json!({"question": "Why?"})), Script::text("Well.")]);
    let world = world(&model)
        .kinds(programmed(|_| {}))
        .program(&["ask_user"], |run| entourage_engine::programs::converse(run).boxed());
    let world = world.start().await;
    let root = world.ask("Go.").await;
    world.ended(root.id).await;
    let lines = lines(&world, &root).await;
    assert!(lines[2].contains("there is no tool `ask_user`"), "{lines:?}");
}

/// Starts three workers, lets the model answer while they work, and joins them.
fn joins<'r>(run: &'r mut Run<'_>) -> Outcome<'r> {
    async move {
        run.receive().await?;
        let started = run.spawn("parts", work(&["a", "b", "c"])).await?;
        let main = run.call_model().await?.text;
        let joined = run.join(&started).await?;
        let text: Vec<String> = joined.iter().map(|part| format!("{} {}", part.status, part.text)).collect();
        run.progress("joined", text.join("; ")).await?;
        let last = run.call_model().await?.text;
        Ok(format!("{main} {last}"))
    }
    .boxed()
}

/// Shows: INV-03.
#[tokio::test]
async fn results_are_withheld_until_all_are_joined_and_wake_the_agent_once() {
    let model = HeldModel::new(ScriptedModel::deciding(|request| {
        let last = request.messages.last();
        Some(Ok(match (is_worker(request), last) {
            (true, Some(Message::User(text))) => Script::text(format!("did {text}")),
            (true, other) => panic!("{other:?}"),
            (false, _) => Script::text(format!("{} messages", request.messages.len())),
        }))
    }));
    let world = World::builder(model.clone()).kinds(team()).program(&[], joins).start().await;
    let root = world.ask("Go.").await;
    for _ in 0..4 {
        model.begun().await;
    }
    // The leader's own call and those of all three workers are under way at once.
    model.let_go(4);
    model.begun().await;
    let parts = world.client().tasks(Some(root.id), None, Page::default()).await.unwrap();
    assert!(
        parts.iter().all(|task| task.on_end == OnEnd::Join && task.status == Status::Succeeded),
        "{parts:?}"
    );
    model.let_go(1);
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let lines = lines(&world, &root).await;
    let main = lines.iter().position(|line| line.starts_with("turn: ") && line.contains("messages")).unwrap();
    let first = lines.iter().position(|line| line == "message: did a").unwrap();
    assert!(main < first, "nothing is read before the join: {lines:#?}");
    assert_eq!(&lines[first..first + 3], ["message: did a", "message: did b", "message: did c"]);
    assert_eq!(lines[first + 3], "notice progress: succeeded did a; succeeded did b; succeeded did c");
    let facts = world.witness().facts();
    let committed = facts.iter().filter_map(|fact| match fact {
        Fact::Committed(commit) => Some(&commit.writes),
        _ => None,
    });
    let writes = committed.flatten();
    let (mut posts, mut wakeups) = (0, 0);
    for write in writes {
        posts += usize::from(matches!(write, Write::Post(post) if post.agent == root.id));
        wakeups += usize::from(matches!(write, Write::ScheduleWakeup(wakeup) if wakeup.agent == root.id));
    }
    assert_eq!((posts, wakeups), (1, 2), "the message of the user, and the end of the last worker");
}

#[tokio::test]
async fn a_join_returns_the_status_of_each_agent_in_the_order_of_the_work() {
    let model = ScriptedModel::deciding(|request| {
        let last = request.messages.last();
        match (is_worker(request), last) {
            (true, Some(Message::User(text))) if text == "b" => {
                Some(Err(entourage_llm::Error::Refused { model: "m".into(), cause: "no".into() }))
            }
            (true, Some(Message::User(text))) if text == "c" => {
                Some(Ok(Script::call("ask_user", json!({ "question": "Which?" }))))
            }
            _ => Some(Ok(Script::text("fine"))),
        }
    });
    let world = world(&model).kinds(team()).program(&[], |run| {
        async move {
            run.receive().await?;
            let mut parts = work(&["a", "b", "c"]);
            parts.push(NewTask { kind: "unknown".into(), text: "d".into() });
            let started = run.spawn("parts", parts).await?;
            let joined = run.join(&started).await?;
            let text: Vec<String> =
                joined.iter().map(|part| format!("{} {}", part.status, part.text)).collect();
            Ok(run.say(text.join("; ")))
        }
        .boxed()
    });
    let world = world.start().await;
    let root = world.ask("Go.").await;
    let question = world.question(root.id).await;
    world.asleep(&root).await;
    let sleeping = world.client().agent(root.id).await.unwrap();
    assert_eq!(sleeping.waiting_on, Some(WaitingOn::Agent));
    assert_eq!(world.inconsistencies().await, Vec::<String>::new());
    world.client().intervene(question.agent, Action::Delete, None).await.unwrap();
    world.ended(root.id).await;
    let lines = lines(&world, &root).await;
    let text = lines.last().unwrap();
    assert!(text.starts_with("turn: succeeded fine; failed "), "{text}");
    assert!(text.contains("; cancelled deleted by the user; failed you cannot write to `unknown`"), "{text}");
}

#[tokio::test]
async fn agents_that_nobody_will_join_are_deleted_when_the_run_ends() {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match is_worker(request) {
            true => Script::call("ask_user", json!({ "question": "Which?" })),
            false => Script::text("enough"),
        }))
    });
    let world = world(&model).kinds(team()).program(&[], |run| {
        async move {
            run.receive().await?;
            run.spawn("parts", work(&["a", "b"])).await?;
            Ok(run.say("enough"))
        }
        .boxed()
    });
    let world = world.start().await;
    let root = world.ask("Go.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let tasks = world.client().tasks(Some(root.id), None, Page::default()).await.unwrap();
    assert!(tasks.iter().all(|task| task.status == Status::Cancelled), "{tasks:?}");
    for task in tasks {
        world
            .until(root.id, |event| {
                event.agent == task.to
                    && matches!(
                        event.body,
                        entourage_types::EventBody::AgentStatus { status: Status::Cancelled, .. }
                    )
            })
            .await;
    }
}

#[tokio::test]
async fn a_new_instruction_drops_the_agents_that_were_started_for_the_work() {
    let model = HeldModel::new(ScriptedModel::deciding(|request| {
        Some(Ok(Script::text(if is_worker(request) { "late" } else { "changed" })))
    }));
    let world = World::builder(model.clone()).kinds(team()).program(&[], |run| {
        async move {
            run.receive().await?;
            let started = run.spawn("parts", work(&["a", "b"])).await?;
            let joined = run.join(&started).await?;
            run.receive().await?;
            let text: Vec<String> = joined.iter().map(|part| part.status.to_string()).collect();
            Ok(run.say(text.join(", ")))
        }
        .boxed()
    });
    let world = world.start().await;
    let root = world.ask("Go.").await;
    model.begun().await;
    model.begun().await;
    world.asleep(&root).await;
    world.client().intervene(root.id, Action::Modify, Some("Go elsewhere.")).await.unwrap();
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let lines = lines(&world, &root).await;
    assert_eq!(lines.last().unwrap(), "turn: cancelled, cancelled[]");
    assert!(lines.contains(&"message: Go elsewhere.".to_owned()), "{lines:?}");
}

#[tokio::test]
async fn quiet_work_is_on_record_and_wakes_nobody() {
    let model = ScriptedModel::deciding(|_| Some(Ok(Script::text("noted"))));
    let world = world(&model).kinds(team()).program(&[], |run| {
        async move {
            run.receive().await?;
            run.start_quietly("aside", work(&["a"])).await?;
            Ok(run.say("gone on"))
        }
        .boxed()
    });
    let world = world.start().await;
    let root = world.ask("Go.").await;
    world.ended(root.id).await;
    let task = crate::kit::eventually(
        "the task ends",
        async || world.client().tasks(Some(root.id), None, Page::default()).await.unwrap().remove(0),
        |task| task.status.is_terminal(),
    )
    .await;
    assert_eq!((task.on_end, task.status), (OnEnd::Quiet, Status::Succeeded));
    assert_eq!(world.client().runs(root.id, Page::default()).await.unwrap().len(), 1);
    let items = world.client().items(root.id, 0, 10).await.unwrap();
    assert!(
        !items.iter().any(|item| matches!(&item.body, ItemBody::Message(message) if message.is_result()))
    );
}

/// Work whose end wakes the agent: the result is a message, and read in a run of its own.
#[tokio::test]
async fn work_that_a_program_starts_wakes_its_agent_when_it_ends() {
    let model = ScriptedModel::deciding(|_| Some(Ok(Script::text("noted"))));
    let world = world(&model).kinds(team()).program(&[], |run| {
        async move {
            run.receive().await?;
            let result = run.items().iter().rev().find_map(|item| match &item.body {
                ItemBody::Message(message) if message.is_result() => Some(message.text.clone()),
                _ => None,
            });
            if let Some(result) = result {
                return Ok(run.say(format!("read {result}")));
            }
            run.start("aside", work(&["a"])).await?;
            run.tell("begun", "It has begun.").await?;
            Ok(run.say("gone on"))
        }
        .boxed()
    });
    let world = world.start().await;
    let root = world.ask("Go.").await;
    let runs = async || world.client().runs(root.id, Page::default()).await.unwrap();
    let is_over = |run: &entourage_types::Run| run.status == Status::Succeeded;
    let ended = |runs: &Vec<entourage_types::Run>| runs.len() == 2 && runs.iter().all(is_over);
    crate::kit::eventually("the result is read", runs, ended).await;
    let lines = lines(&world, &root).await;
    let turns: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("turn: ")).collect();
    assert_eq!(turns[1..], ["It has begun.[]", "gone on[]", "read noted[]"], "{lines:?}");
    let task = world.client().tasks(Some(root.id), None, Page::default()).await.unwrap().remove(0);
    assert_eq!((task.on_end, task.status), (OnEnd::Wake, Status::Succeeded));
    let entries = world.client().transcript(root.id).await.unwrap();
    assert_eq!(entries.iter().filter(|entry| entry.text == "It has begun.").count(), 1, "{entries:?}");
    assert_eq!(world.audit().await, []);
}

#[tokio::test]
async fn a_kind_whose_program_does_not_exist_is_refused_with_the_names_that_do() {
    let kinds = programmed(|kind| kind.program = ProgramName::new("explode"));
    let world = world(&ScriptedModel::new([])).kinds(kinds).start().await;
    let new = NewAgent { message: Some("Go.".into()), ..NewAgent::default() };
    let refused = world.client().create(new, None).await.unwrap_err().to_string();
    assert_eq!(
        refused,
        "kind `assistant`: there is no program `explode`; there are: act, explore, orchestrate, react"
    );
}

type Way = for<'r, 'e> fn(&'r mut Run<'e>) -> Outcome<'r>;

/// The model reads of a call that its program does not make that it was not made, whatever the program does instead.
///
/// Shows: INV-01.
#[tokio::test]
async fn calls_that_a_program_does_not_make_are_closed_before_the_next_turn() {
    let ways: [(&str, Way, &[&str]); 4] = [
        ("asks again", asks_again, &["turn: enough[]"]),
        ("says something else", says_mine, &["turn: mine[]"]),
        ("reads what has come", reads_first, &["turn: enough[]"]),
        ("answers with the text beside the call", answers_beside, &[]),
    ];
    for (way, program, then) in ways {
        let model = ScriptedModel::new([Script::call("list_agents", json!({})), Script::text("enough")]);
        let builder = world(&model).kinds(programmed(|kind| kind.tools = Some(vec!["list_agents".into()])));
        let world = builder.program(&[], program).start().await;
        let root = world.ask("Go.").await;
        assert_eq!(world.ended(root.id).await.status, Status::Succeeded, "{way}");
        let lines = lines(&world, &root).await;
        let at = lines.iter().position(|line| line.contains("not made: the program")).expect(way);
        assert_eq!(&lines[at + 1..], then, "{way}: {lines:?}");
        assert_eq!(world.audit().await, [], "{way}");
        assert_eq!(entourage_testkit::inexact_requests(world.engine()).await, [], "{way}");
    }
}

fn asks_again<'r>(run: &'r mut Run<'_>) -> Outcome<'r> {
    async move {
        run.receive().await?;
        run.call_model().await?;
        Ok(run.call_model().await?.text)
    }
    .boxed()
}

fn says_mine<'r>(run: &'r mut Run<'_>) -> Outcome<'r> {
    async move {
        run.receive().await?;
        run.call_model().await?;
        Ok(run.say("mine"))
    }
    .boxed()
}

fn answers_beside<'r>(run: &'r mut Run<'_>) -> Outcome<'r> {
    async move {
        run.receive().await?;
        Ok(run.call_model().await?.text)
    }
    .boxed()
}

fn reads_first<'r>(run: &'r mut Run<'_>) -> Outcome<'r> {
    async move {
        run.receive().await?;
        run.call_model().await?;
        run.receive().await?;
        Ok(run.call_model().await?.text)
    }
    .boxed()
}

/// Decides whether it makes the model's calls, while a person writes.
fn decides_first<'r>(run: &'r mut Run<'_>) -> Outcome<'r> {
    async move {
        run.receive().await?;
        let turn = run.call_model().await?;
        let schema = json!({ "type": "object" });
        run.decide("safe", DecisionRequest::new("Is that safe?", schema)).await??;
        run.call_tools(&turn.calls).await?;
        entourage_engine::programs::converse(run).await
    }
    .boxed()
}

/// What a person writes before the calls of a turn are made is read after their outputs.
///
/// Shows: INV-01.
#[tokio::test]
async fn a_message_that_comes_before_the_calls_are_made_follows_their_outputs() {
    let script = ScriptedModel::new([
        Script::call("list_agents", json!({})),
        Script::text("{}"),
        Script::text("enough"),
    ]);
    let model = HeldModel::new(script);
    let kinds = programmed(|kind| kind.tools = Some(vec!["list_agents".into()]));
    let world = World::builder(model.clone()).tools(first_tools()).kinds(kinds);
    let world = world.program(&[], decides_first).start().await;
    let root = world.ask("Go.").await;
    model.begun().await;
    world
        .engine()
        .client(entourage_types::Owner::local())
        .send(root.id, "Mind the gap.", None)
        .await
        .unwrap();
    model.let_go(3);
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let lines = lines(&world, &root).await;
    let at = |words: &str| lines.iter().position(|line| line.contains(words)).expect(words);
    assert!(at("output") < at("Mind the gap.") && at("Mind the gap.") < at("enough"), "{lines:?}");
    assert_eq!(world.audit().await, []);
}

/// A program makes all calls of a turn, or none.
#[tokio::test]
async fn some_calls_of_a_turn_are_refused_and_the_transcript_stays_whole() {
    let calls = Script::call("list_agents", json!({})).and_call("list_agents", json!({ "n": 2 }));
    let model = ScriptedModel::new([calls]);
    let builder = world(&model).kinds(programmed(|kind| kind.tools = Some(vec!["list_agents".into()])));
    let world = builder.program(&[], |run| {
        async move {
            run.receive().await?;
            let turn = run.call_model().await?;
            run.call_tools(&turn.calls[1..]).await?;
            Ok("done".into())
        }
        .boxed()
    });
    let world = world.start().await;
    let root = world.ask("Go.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Failed);
    let run = world.client().runs(root.id, Page::default()).await.unwrap().remove(0);
    assert!(run.error.as_ref().unwrap().contains("takes all of them"), "{:?}", run.error);
    assert_eq!(world.audit().await, []);
}
