//! What programs do survives a crash at any commit, and agents that end at the same moment.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use entourage_engine::{DecisionRequest, Interrupt, Run};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{
    Commit, Committed, MemoryStore, Page, Result as StoreResult, Store, StoreLayer, Write,
};
use entourage_testkit::{Fault, Story, World, WorldBuilder, plain};
use entourage_types::{EntityKind, Status};
use futures::{FutureExt, future::BoxFuture};
use serde_json::json;
use tokio::sync::Barrier;

use crate::kit::{
    WithProgram, WorldBuilderExt, WorldExt, at_once, eventually, first_tools, insist, is_worker, programmed,
    team, within, work,
};

type Outcome<'r> = BoxFuture<'r, Result<String, Interrupt>>;

/// Two decisions, a question, four children and a join.
fn whole<'r>(run: &'r mut Run<'_>) -> Outcome<'r> {
    async move {
        let schema = json!({ "type": "object", "properties": { "parts": { "type": "integer" } }, "required": ["parts"] });
        run.receive().await?;
        let clear = run.decide("clear", DecisionRequest::new("Is it clear?", schema.clone())).await??;
        let colour = run.ask_user("colour", "Which colour?", &[]).await?.answer().unwrap_or_default();
        let parts = run.decide("parts", DecisionRequest::new("Into how many parts?", schema)).await??;
        let started = run.spawn("parts", work(&["a", "b", "c", "d"])).await?;
        let main = run.call_model().await?.text;
        let joined = run.join(&started).await?;
        let text: Vec<&str> = joined.iter().map(|part| part.text.as_str()).collect();
        Ok(run.say(format!("{clear} {colour} {parts} {main}: {}", text.join(", "))))
    }
    .boxed()
}

fn whole_story() -> Story {
    let model = |request: &Request| {
        let text = match (is_worker(request), &request.output_schema, request.messages.last()) {
            (true, _, Some(Message::User(text))) => format!("did {text}"),
            (false, Some(_), _) => r#"{"parts": 4}"#.to_owned(),
            (false, None, _) => "main".to_owned(),
            (_, _, other) => format!("unexpected {other:?}"),
        };
        Some(Ok(Script::text(text)))
    };
    Story::new(["Go."], move |_| {
        let world = World::builder(ScriptedModel::deciding(model)).tools(first_tools());
        world.kinds(team()).store(MemoryStore::default()).program(&["ask_user"], whole)
    })
    .agents_in_any_order()
}

/// Shows: INV-03.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_survives_a_crash_at_every_commit() {
    let undisturbed = whole_story().run(1, &[]).await;
    let said = undisturbed.transcripts[0].last().unwrap();
    assert!(said.ends_with(" main: did a, did b, did c, did d[]"), "{said}");
    let points = whole_story().survives([1], 1).await;
    assert!(points >= 100, "{points}");
}

/// Asks the model twice in a row.
fn asks_twice<'r>(run: &'r mut Run<'_>) -> Outcome<'r> {
    async move {
        run.receive().await?;
        let first = run.call_model().await?.text;
        let second = run.call_model().await?.text;
        Ok(run.say(format!("{first}, {second}")))
    }
    .boxed()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_model_calls_in_a_row_survive_a_crash_at_every_commit() {
    let story = Story::new(["Go.", "Again."], |_| {
        let model = |request: &Request| Some(Ok(Script::text(format!("{} read", request.messages.len()))));
        let world = World::builder(ScriptedModel::deciding(model)).kinds(programmed(|_| {}));
        world.store(MemoryStore::default()).program(&[], asks_twice)
    });
    let points = story.survives([1], 1).await;
    assert!(points >= 20, "{points}");
}

/// Starts two workers and ends without them.
fn leaves<'r>(run: &'r mut Run<'_>) -> Outcome<'r> {
    async move {
        run.receive().await?;
        run.spawn("parts", work(&["a", "b"])).await?;
        let text = run.call_model().await?.text;
        Ok(run.say(text))
    }
    .boxed()
}

/// Workers that wait for a person, and a leader that ends without them.
fn world_of_leavers() -> WorldBuilder {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match is_worker(request) {
            true => Script::call("ask_user", json!({ "question": "Which?" })),
            false => Script::text("enough"),
        }))
    });
    let world = World::builder(model).tools(first_tools()).kinds(team());
    world.store(MemoryStore::default()).program(&[], leaves)
}

/// Returns how many commits the first process began.
async fn leave(at: u64, fault: Fault) -> u64 {
    let world = world_of_leavers().start_with(at, fault).await;
    let faults = world.faults().clone();
    let new = || entourage_engine::NewAgent { message: Some("Go.".into()), ..Default::default() };
    let (world, root) = insist(world, async |world| world.client().create(new(), Some("once")).await).await;
    let (world, ended) = insist(world, async |world| Ok(world.ended(root.id).await)).await;
    assert_eq!(ended.status, Status::Succeeded);
    // A process may die after the end, and before the workers hear of it.
    let world = world.restart(Default::default()).await;
    let workers = async || {
        let tasks = world.client().tasks(Some(root.id), None, Page::default()).await.unwrap();
        let mut workers = Vec::new();
        for task in &tasks {
            workers.push((task.status, world.client().agent(task.to).await.unwrap().status));
        }
        workers
    };
    let cancelled = (Status::Cancelled, Status::Cancelled);
    eventually("the workers are deleted", workers, |workers| workers[..] == [cancelled; 2]).await;
    let lines = plain(&world.client().items(root.id, 0, 100).await.unwrap());
    assert_eq!(
        lines.iter().filter(|line| *line == "turn: enough[]").count(),
        2,
        "asked and said once: {lines:?}"
    );
    assert_eq!(world.inconsistencies().await, Vec::<String>::new());
    assert_eq!(world.audit().await, []);
    faults.commits()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_ends_before_its_join_survives_a_crash_at_every_commit() {
    let commits = leave(u64::MAX, Fault::DieBefore).await;
    assert!(commits > 5, "{commits}");
    for at in 1..=commits {
        for fault in [Fault::DieBefore, Fault::DieAfter, Fault::LoseEpoch] {
            within(&format!("{fault:?} at commit {at}"), leave(at, fault)).await;
        }
    }
}

/// Holds the first end of a task until another one is about to be committed, too.
#[derive(Clone)]
struct BothAtOnce {
    ends: Arc<AtomicUsize>,
    met: Arc<Barrier>,
}

#[async_trait]
impl StoreLayer for BothAtOnce {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> StoreResult<Committed> {
        let is_end = |write: &Write| matches!(write, Write::Record(record, _) if record.kind == EntityKind::TASK && record.status == Status::Succeeded.as_str());
        if commit.writes.iter().any(is_end) && self.ends.fetch_add(1, Ordering::SeqCst) < 2 {
            self.met.wait().await;
        }
        store.commit(commit).await
    }
}

/// Each of them has seen the other one at work, and would leave it to the other to wake the agent that joins them.
#[tokio::test]
async fn two_agents_that_end_at_the_same_moment_wake_the_agent_that_joins_them() {
    let model = ScriptedModel::deciding(|request| match request.messages.last() {
        Some(Message::User(text)) => Some(Ok(Script::text(format!("did {text}")))),
        _ => None,
    });
    let layer = BothAtOnce { ends: Arc::default(), met: Arc::new(Barrier::new(2)) };
    let world = World::builder(model).kinds(team()).between(layer.clone()).dispatchers(at_once(4));
    let world = world.program(&[], |run| {
        async move {
            run.receive().await?;
            let nothing = run.spawn("nothing", work(&[])).await?;
            assert_eq!(run.join(&nothing).await?, []);
            let started = run.spawn("parts", work(&["a", "b"])).await?;
            let joined = run.join(&started).await?;
            let text: Vec<&str> = joined.iter().map(|part| part.text.as_str()).collect();
            Ok(run.say(text.join(", ")))
        }
        .boxed()
    });
    let world = world.start().await;
    let root = world.ask("Go.").await;
    assert_eq!(within("it is woken", world.ended(root.id)).await.status, Status::Succeeded);
    let lines = plain(&world.client().items(root.id, 0, 100).await.unwrap());
    assert_eq!(lines.last().unwrap(), "turn: did a, did b[]");
    assert_eq!(layer.ends.load(Ordering::SeqCst), 3, "the second one is committed again");
}

/// A program's own names are no names of the engine, whatever they are: its last text is said once.
#[tokio::test(flavor = "multi_thread")]
async fn names_that_a_program_gives_are_none_of_the_engines_own() {
    let story = Story::new(["Go."], |_| {
        let model = ScriptedModel::deciding(|_| Some(Ok(Script::text("So it is."))));
        World::builder(model).kinds(programmed(|_| {})).store(MemoryStore::default()).program(&[], |run| {
            async move {
                run.receive().await?;
                run.tell("last text", "It begins.").await?;
                run.progress("remark", "looking").await?;
                let last = run.say("It is done.");
                run.call_model().await?;
                Ok(last)
            }
            .boxed()
        })
    });
    let told = story.run(1, &[]).await.transcripts.remove(0);
    let notice = "notice progress: looking";
    assert_eq!(
        told,
        ["message: Go.", "turn: It begins.[]", notice, "turn: It is done.[]", "turn: So it is.[]"]
    );
    let points = story.survives([1], 1).await;
    assert!(points >= 12, "{points}");
}
