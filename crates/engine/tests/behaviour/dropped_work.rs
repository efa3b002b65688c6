//! What becomes of the agents that a program has started, when their work is dropped before it is joined.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_engine::{Interrupt, Run};
use entourage_llm::{Deltas, Message, Model, Reply, Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::{World, plain};
use entourage_types::{Action, Agent, QuestionStatus, Status, StopReason};
use futures::{FutureExt, future::BoxFuture};
use serde_json::json;
use tokio::sync::Notify;

use crate::kit::{WithProgram, WorldExt, eventually, first_tools, is_worker, team, work};

/// The work of three workers: one ends it, one asks a person, one is in a call of its model that has no end.
const PARTS: [&str; 3] = ["end", "ask", "call"];

/// The model of the workers and of their leader.
#[derive(Clone)]
struct NeverEnding {
    inner: ScriptedModel,
    begun: Arc<Notify>,
}

impl NeverEnding {
    fn new() -> Self {
        let inner = ScriptedModel::deciding(|request| {
            Some(Ok(match request.messages.last() {
                Some(Message::User(part)) if is_worker(request) && part == "ask" => {
                    Script::call("ask_user", json!({ "question": "Which?" }))
                }
                _ => Script::text("done"),
            }))
        });
        Self { inner, begun: Arc::default() }
    }
}

#[async_trait]
impl Model for NeverEnding {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> entourage_llm::Result<Reply> {
        if is_worker(&request) && request.messages.last() == Some(&Message::User("call".into())) {
            self.begun.notify_one();
            return std::future::pending().await;
        }
        self.inner.call(request, deltas).await
    }

    fn describe(&self) -> String {
        "never ends some calls".into()
    }
}

fn joins<'r>(run: &'r mut Run<'_>) -> BoxFuture<'r, Result<String, Interrupt>> {
    async move {
        run.receive().await?;
        let started = run.spawn("parts", work(&PARTS)).await?;
        let joined = run.join(&started).await?;
        run.receive().await?;
        let text: Vec<String> = joined.iter().map(|part| part.status.to_string()).collect();
        Ok(run.say(text.join(", ")))
    }
    .boxed()
}

/// The workers, in the order of [`PARTS`].
async fn workers(world: &World, root: &Agent) -> Vec<Agent> {
    let mut tree = world.client().tree(root.id).await.unwrap();
    tree.retain(|agent| agent.parent == Some(root.id));
    tree.sort_by_key(|agent| agent.id);
    tree
}

async fn statuses(world: &World, root: &Agent) -> Vec<Status> {
    workers(world, root).await.iter().map(|worker| worker.status).collect()
}

/// A leader that waits until it can join its workers, each of which is where its part brings it.
async fn waiting_leader() -> (World, Agent) {
    let model = NeverEnding::new();
    let builder = World::builder(model.clone()).tools(first_tools()).kinds(team());
    let world = builder.program(&[], joins).start().await;
    let root = world.ask("Go.").await;
    model.begun.notified().await;
    world.question(root.id).await;
    let are_there = [Status::Succeeded, Status::Waiting, Status::Running];
    eventually("all are there", async || statuses(&world, &root).await, |now| *now == are_there).await;
    world.asleep(&root).await;
    (world, root)
}

/// The statuses of the three tasks, by their work, and whether the question of one of them is open still.
async fn left(world: &World, root: &Agent) -> (Vec<Status>, bool) {
    let client = world.client();
    let mut tasks = client.tasks(Some(root.id), None, Page::default()).await.unwrap();
    tasks.sort_by_key(|task| task.to);
    let asked = client.questions(Some(root.id), Some(QuestionStatus::Open), Page::default()).await.unwrap();
    (tasks.iter().map(|task| task.status).collect(), !asked.is_empty())
}

/// What was done before is done: its worker stays.
const DROPPED: [Status; 3] = [Status::Succeeded, Status::Cancelled, Status::Cancelled];

#[tokio::test]
async fn a_new_instruction_deletes_the_workers_that_were_at_the_dropped_work() {
    let (world, root) = waiting_leader().await;
    world.client().intervene(root.id, Action::Modify, Some("Go elsewhere.")).await.unwrap();
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let items = plain(&world.client().items(root.id, 0, 100).await.unwrap());
    assert_eq!(items.last().unwrap(), "turn: succeeded, cancelled, cancelled[]");
    eventually("they are deleted", async || statuses(&world, &root).await, |now| *now == DROPPED).await;
    assert_eq!(left(&world, &root).await, (DROPPED.to_vec(), false));
    assert_eq!(world.audit().await, []);
}

#[tokio::test]
async fn a_stop_stops_the_workers_that_were_at_the_dropped_work() {
    let (world, root) = waiting_leader().await;
    world.client().intervene(root.id, Action::Stop, None).await.unwrap();
    let ended = world.ended(root.id).await;
    assert_eq!((ended.status, ended.stop_reason), (Status::Failed, Some(StopReason::Cancelled)));
    let stopped = [Status::Succeeded, Status::Failed, Status::Failed];
    eventually("they are stopped", async || statuses(&world, &root).await, |now| *now == stopped).await;
    let reasons: Vec<_> = workers(&world, &root).await.iter().map(|worker| worker.stop_reason).collect();
    assert_eq!(reasons[1..], [Some(StopReason::Cancelled); 2]);
    assert_eq!(left(&world, &root).await, (DROPPED.to_vec(), false));
    assert_eq!(world.audit().await, []);
}
