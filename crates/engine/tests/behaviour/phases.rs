//! A phase of a program begins anew when a person changes the instruction.

use entourage_engine::{DecisionRequest, Interrupt, Run};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{MemoryStore, Page};
use entourage_testkit::{Fault, Faults, World, plain};
use entourage_types::{Action, Agent, Answer, Author, ItemBody, Question, QuestionStatus, Status};
use futures::{FutureExt, future::BoxFuture};
use serde_json::json;

use crate::{
    interventions::{intervene_once, repeat_after_a_crash},
    kit::{WithProgram, WorldBuilderExt, WorldExt, eventually, first_tools, is_worker, team, within, work},
};

type Outcome<'r> = BoxFuture<'r, Result<String, Interrupt>>;

/// What the user wanted last.
fn wanted(run: &Run<'_>) -> String {
    let last = run.items().iter().rev().find_map(|item| match &item.body {
        ItemBody::Message(message) if message.from == Author::User => Some(message.text.clone()),
        _ => None,
    });
    last.unwrap_or_default()
}

/// Decides in one phase, and in the next has two workers at it beside the model, and joins them.
fn phased<'r>(run: &'r mut Run<'_>) -> Outcome<'r> {
    async move {
        run.receive().await?;
        run.phase("before", |run| decide(run).boxed()).await?;
        let found = run.phase("work", |run| side_by_side(run).boxed()).await?;
        let after = run.call_model().await?.text;
        Ok(run.say(format!("{found}; {after}")))
    }
    .boxed()
}

async fn decide(run: &mut Run<'_>) -> Result<(), Interrupt> {
    let request = DecisionRequest::new("Is it clear?", json!({ "type": "object" }));
    run.decide("clear", request).await??;
    Ok(())
}

async fn side_by_side(run: &mut Run<'_>) -> Result<String, Interrupt> {
    let wanted = wanted(run);
    let parts = ["a", "b"].map(|part| format!("{wanted} {part}"));
    let started = run.spawn("parts", work(&[&parts[0], &parts[1]])).await?;
    let main = run.call_model().await?.text;
    let joined = run.join(&started).await?;
    let texts: Vec<&str> = joined.iter().map(|part| part.text.as_str()).collect();
    Ok(format!("{main}: {}", texts.join(", ")))
}

/// One worker asks a person, and so waits until the instruction changes.
fn model() -> ScriptedModel {
    ScriptedModel::deciding(|request: &Request| {
        let last = request.messages.iter().rev().find_map(|message| match message {
            Message::User(text) => Some(text.as_str()),
            _ => None,
        });
        Some(Ok(match (is_worker(request), request.output_schema.is_some(), last) {
            (true, _, Some("Go. b")) => Script::call("ask_user", json!({ "question": "Which?" })),
            (true, _, Some(text)) => Script::text(format!("did {text}")),
            (false, true, _) => Script::text("{}"),
            _ => Script::text("main"),
        }))
    })
}

/// Returns how many commits the first process began.
async fn change_with(at: u64, fault: Fault) -> u64 {
    let builder = World::builder(model()).tools(first_tools()).kinds(team()).store(MemoryStore::default());
    let world = builder.program(&[], phased).start_with(at, fault).await;
    let faults = world.faults().clone();
    let root = world.ask("Go.").await;
    let waits = async |world: &World| {
        let at_work = [Status::Succeeded, Status::Waiting];
        eventually("one worker is done", async || workers(world, &root).await, |now| *now == at_work).await;
        world.asleep(&root).await;
    };
    let world = repeat_after_a_crash(world, waits).await;
    let world = intervene_once(world, root.id, Action::Modify, Some("Dance.")).await;
    let ends = async |world: &World| {
        assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    };
    let world = repeat_after_a_crash(world, ends).await;
    // A process may die after everything was done.
    let world = world.restart(Faults::default()).await;
    ends(&world).await;
    let lines = plain(&world.client().items(root.id, 0, 100).await.unwrap());
    let last = "turn: main: did Dance. a, did Dance. b; main[]";
    assert_eq!(lines.last().map(String::as_str), Some(last), "{lines:?}");
    let count = |wanted: &str| lines.iter().filter(|line| line.starts_with(wanted)).count();
    assert_eq!((count("decision"), count("message: Dance.")), (1, 1), "{lines:?}");
    eventually(
        "the dropped worker is deleted",
        async || workers(&world, &root).await,
        |now| *now == [Status::Succeeded, Status::Cancelled, Status::Succeeded, Status::Succeeded],
    )
    .await;
    let open = Some(QuestionStatus::Open);
    assert_eq!(world.client().questions(Some(root.id), open, Page::default()).await.unwrap(), []);
    let run = world.client().runs(root.id, Page::default()).await.unwrap().remove(0);
    let mut steps = world.client().steps(run.id).await.unwrap();
    steps.retain(|step| step.state.is_open());
    assert_eq!(steps, [], "the join of the dropped round waits for nothing");
    assert_eq!(world.audit().await, []);
    faults.commits()
}

/// The statuses of the workers, oldest first.
async fn workers(world: &World, root: &Agent) -> Vec<Status> {
    let mut tree = world.client().tree(root.id).await.unwrap();
    tree.retain(|agent| agent.parent == Some(root.id));
    tree.sort_by_key(|agent| agent.id);
    tree.iter().map(|worker| worker.status).collect()
}

/// Shows: INV-03, INV-05.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_phase_that_begins_anew_survives_a_crash_at_every_commit() {
    let commits = change_with(u64::MAX, Fault::DieBefore).await;
    assert!(commits > 20, "{commits}");
    for at in 1..=commits {
        for fault in Fault::ENDING {
            within(&format!("{fault:?} at commit {at}"), change_with(at, fault)).await;
        }
    }
}

async fn asks(run: &mut Run<'_>) -> Result<String, Interrupt> {
    Ok(format!("{:?}", run.ask_user("colour", "Which colour?", &[]).await?))
}

/// The phase begins anew before the program learns what became of the call.
#[tokio::test]
async fn what_became_of_a_call_that_an_instruction_dropped_is_hidden_from_the_program() {
    let world = World::builder(model()).tools(first_tools()).kinds(team()).program(&["ask_user"], |run| {
        async move {
            run.receive().await?;
            let said = run.phase("ask", |run| asks(run).boxed()).await?;
            Ok(run.say(said))
        }
        .boxed()
    });
    let world = world.start().await;
    let root = world.ask("Go.").await;
    let dropped = world.question(root.id).await;
    world.asleep(&root).await;
    world.client().intervene(root.id, Action::Modify, Some("Dance.")).await.unwrap();
    let open = async || {
        let open = Some(QuestionStatus::Open);
        world.client().questions(Some(root.id), open, Page::default()).await.unwrap()
    };
    let is_new = |open: &Vec<Question>| open.iter().any(|one| one.id != dropped.id);
    let new = eventually("it asks again", open, is_new).await.remove(0);
    world.client().answer(new.id, Answer::Text("red".into())).await.unwrap();
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let lines = plain(&world.client().items(root.id, 0, 100).await.unwrap());
    assert_eq!(lines.last().unwrap(), r#"turn: Answered("red")[]"#);
    assert!(!lines.iter().any(|line| line.contains("Returned")), "{lines:?}");
}

/// Outside of a phase, a program reads an instruction as any message.
#[tokio::test]
async fn an_instruction_outside_of_a_phase_begins_nothing_anew() {
    let world = World::builder(model()).tools(first_tools()).kinds(team()).program(&["ask_user"], |run| {
        async move {
            run.receive().await?;
            run.phase("before", |_| async { Ok(()) }.boxed()).await?;
            run.ask_user("colour", "Which colour?", &[]).await?;
            run.receive().await?;
            let wanted = wanted(run);
            Ok(run.say(wanted))
        }
        .boxed()
    });
    let world = world.start().await;
    let root = world.ask("Go.").await;
    world.question(root.id).await;
    world.asleep(&root).await;
    world.client().intervene(root.id, Action::Modify, Some("Dance.")).await.unwrap();
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let lines = plain(&world.client().items(root.id, 0, 100).await.unwrap());
    assert_eq!(lines.last().unwrap(), "turn: Dance.[]");
}

async fn nested(run: &mut Run<'_>) -> Result<String, Interrupt> {
    run.phase("inner", |_| async { Ok(String::new()) }.boxed()).await
}

#[tokio::test]
async fn a_phase_inside_another_one_is_a_fault_of_the_program() {
    let world = World::builder(model()).kinds(team()).program(&[], |run| {
        async move {
            run.receive().await?;
            run.phase("outer", |run| nested(run).boxed()).await
        }
        .boxed()
    });
    let world = world.start().await;
    let root = world.ask("Go.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Failed);
    let run = world.client().runs(root.id, Page::default()).await.unwrap().remove(0);
    let why = run.error.unwrap_or_default();
    assert!(why.contains("the phase `inner` inside another one"), "{why}");
}
