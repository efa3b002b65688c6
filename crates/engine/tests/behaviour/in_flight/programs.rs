//! A database of the version before budgets and schedules, left by a process that was killed while programs were at
//! work: a decision that is tried again, one under way, an open question, a join whose results are withheld, one of
//! them of a forgotten agent. All of it continues.

use std::time::Duration;

use entourage_engine::{DecisionRequest, Interrupt, Run};
use entourage_llm::{Deltas, Error as ModelError, Message, Model, Reply, Request, Script, ScriptedModel};
use entourage_store::{Page, RecordFilter};
use entourage_testkit::{World, WorldBuilder, audit, inexact_requests, plain};
use entourage_types::{Agent, AgentId, Answer, Status, Tombstone, WaitingOn};
use futures::{FutureExt, future::BoxFuture};
use serde_json::json;

use super::Migrated;
use crate::kit::{Database, WithProgram, WorldExt, conversation, first_tools, is_worker, team, work};

/// The schema version of the program that left the rows.
const VERSION: usize = 28;

/// Two decisions, a question, four children and a join. The rows were left by exactly this program: it does not change
/// with others.
fn whole<'r>(run: &'r mut Run<'_>) -> BoxFuture<'r, Result<String, Interrupt>> {
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

/// Answers; but not where a message says `busy` or `c`, and never where it says `held`, unless `is_free`.
struct Provider {
    inner: ScriptedModel,
    is_free: bool,
}

fn answered(request: &Request) -> Script {
    match (is_worker(request), &request.output_schema, conversation(request).last()) {
        (true, _, Some(Message::User(text))) if text == "b" => {
            Script::call("ask_user", json!({ "question": "Which b?" }))
        }
        (true, _, Some(Message::User(text))) => Script::text(format!("did {text}")),
        (true, _, Some(Message::Output { text, .. })) => Script::text(format!("did b: {text}")),
        (false, Some(_), _) => Script::text(r#"{"parts": 4}"#),
        _ => Script::text("main"),
    }
}

#[async_trait::async_trait]
impl Model for Provider {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> entourage_llm::Result<Reply> {
        let says = |what: &str| {
            // A decision reads the conversation as a document in the one message.
            let is_there = |message: &Message| match message {
                Message::User(text) if request.output_schema.is_some() => text.contains(what),
                Message::User(text) => text == what,
                _ => false,
            };
            !self.is_free && request.messages.iter().any(is_there)
        };
        if says("held") {
            return std::future::pending().await;
        }
        if says("busy") || (says("c") && is_worker(&request)) {
            return Err(ModelError::Unavailable {
                model: "compatible::fake".into(),
                cause: "HTTP 503: come back".into(),
                retry_after: None,
            });
        }
        self.inner.call(request, deltas).await
    }

    fn describe(&self) -> String {
        "compatible::fake".into()
    }
}

fn world(database: &Database, is_free: bool) -> WorldBuilder {
    let inner = ScriptedModel::deciding(|request| Some(Ok(answered(request))));
    let world = World::builder(Provider { inner, is_free }).tools(first_tools()).kinds(team());
    world.store(database.open()).program(&["ask_user"], whole)
}

struct OldDatabase {
    world: World,
    agents: Vec<Agent>,
    _database: Database,
}

impl OldDatabase {
    async fn open(migrated: Migrated) -> Self {
        let database = Database::new();
        migrated.write(&database.path(), include_str!("programs.sql"));
        let world = world(&database, true).start().await;
        let page = Page { limit: 100, ..Page::default() };
        let agents = world.client().agents(None, page).await.unwrap();
        Self { world, agents, _database: database }
    }

    fn of(&self, title: &str) -> AgentId {
        self.agents.iter().find(|agent| agent.title == title).unwrap().id
    }

    async fn answer(&self, agent: AgentId, text: &str) {
        let question = self.world.question(agent).await;
        self.world.client().answer(question.id, Answer::Text(text.into())).await.unwrap();
    }

    /// The leader's last text, once its tree has ended.
    async fn said(&self, leader: AgentId) -> String {
        assert_eq!(self.world.ended(leader).await.status, Status::Succeeded);
        plain(&self.world.client().items(leader, 0, 100).await.unwrap()).pop().unwrap()
    }
}

/// Whatever a program was at when its process was killed, it goes on from there after an upgrade.
#[tokio::test]
async fn programs_in_flight_in_schema_version_28_continue_after_an_upgrade() {
    for migrated in Migrated::all(VERSION) {
        println!("{migrated:?}");
        all_continues(&OldDatabase::open(migrated).await).await;
    }
}

async fn all_continues(left: &OldDatabase) {
    let (world, far) = (&left.world, left.of("far"));
    let waits = |title: &str| left.agents.iter().find(|agent| agent.title == title).unwrap().waiting_on;
    assert_eq!((waits("busy"), waits("c")), (Some(WaitingOn::Retry), Some(WaitingOn::Retry)));
    assert_eq!((waits("Go."), waits("b")), (Some(WaitingOn::User), Some(WaitingOn::User)));
    assert_eq!(waits("far"), Some(WaitingOn::Agent));
    let held = left.agents.iter().find(|agent| agent.title == "held").unwrap();
    assert_eq!(held.status, Status::Running);
    assert!(left.agents.iter().all(|agent| agent.title != "a"), "it was forgotten");
    let forgotten: Vec<Tombstone> = world.client().records(RecordFilter::default()).await.unwrap();
    assert_eq!(forgotten.len(), 1);

    // The one that was at work goes on at once.
    world.question(held.id).await;
    world.asleep(held).await;
    world.clock().advance(Duration::from_secs(3600));
    // The leader that was at its join asks no more, and its worker does.
    left.answer(far, "red").await;
    let all = |colour: &str, b: &str| {
        format!(r#"turn: {{"parts":4}} {colour} {{"parts":4}} main: did a, did b: {b}, did c, did d[]"#)
    };
    assert_eq!(left.said(far).await, all("blue", "red"));
    for title in ["busy", "Go.", "held"] {
        let leader = left.of(title);
        left.answer(leader, "green").await;
        left.answer(leader, "white").await;
        assert_eq!(left.said(leader).await, all("green", "white"), "{title}");
    }
    // Decisions of that version do not say how they were asked; those since do.
    let found = audit(&**world.store(), None).await.unwrap();
    let says = |what: &str| found.iter().filter(|violation| violation.what.contains(what)).count();
    let of_decisions = says("does not say how its model was asked");
    // Nor did it take the texts out of the events about what it forgot.
    let of_events = says("was forgotten, and event ");
    assert_eq!((of_decisions, of_events, found.len()), (3, 3, 6), "{found:?}");
    assert_eq!(inexact_requests(world.engine()).await, []);
}
