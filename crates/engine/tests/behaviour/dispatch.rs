//! The embedded dispatcher passes the conformance suite for dispatchers.

use std::{sync::Arc, time::Duration};

use crate::kit::{WorldExt, first_tools, one_kind};
use entourage_engine::{
    Clock, NewAgent,
    dispatch::{Advance, Dispatcher, Due, Embedded, Settings, conformance::Subject},
    dispatcher_conformance,
};
use entourage_llm::{Script, ScriptedModel};
use entourage_store::{AgentQuery, Store};
use entourage_store_sqlite::{Durability, Settings as StoreSettings, SqliteStore};
use entourage_testkit::{FakeClock, HeldModel, World};
use entourage_types::{Action, Event, EventBody, Owner, Scope, ShownStatus, Status, WaitingOn};
use serde_json::json;

struct EmbeddedSubject {
    store: Arc<SqliteStore>,
    clock: FakeClock,
    _directory: tempfile::TempDir,
}

impl EmbeddedSubject {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let settings = StoreSettings { durability: Durability::Normal, ..StoreSettings::default() };
        let store = SqliteStore::open(directory.path().join("engine.sqlite"), settings).unwrap();
        Self { store: Arc::new(store), clock: FakeClock::default(), _directory: directory }
    }
}

impl Subject for EmbeddedSubject {
    fn store(&self) -> Arc<dyn Store> {
        Arc::<SqliteStore>::clone(&self.store)
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(self.clock.clone())
    }

    fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }

    fn dispatcher(&self, concurrency: usize) -> Arc<dyn Dispatcher> {
        let settings = Settings { concurrency, give_up_after: 3, ..Settings::default() };
        Arc::new(Embedded::new(settings))
    }
}

dispatcher_conformance!(Some(EmbeddedSubject::new()));

/// The dispatcher of one of several nodes, which each start makes another one.
mod shared {
    use entourage_engine::{LocalSignals, dispatch::Shared};
    use entourage_store::{MemoryNodes, MemoryStore};
    use tokio::sync::broadcast;

    use super::*;

    struct SharedSubject {
        store: MemoryStore,
        nodes: MemoryNodes,
        clock: FakeClock,
    }

    impl SharedSubject {
        fn new() -> Self {
            let (store, clock) = (MemoryStore::default(), FakeClock::default());
            let its_clock = clock.clone();
            Self { nodes: MemoryNodes::new(store.clone(), move || its_clock.now()), store, clock }
        }
    }

    impl Subject for SharedSubject {
        fn store(&self) -> Arc<dyn Store> {
            Arc::new(self.store.clone())
        }

        fn clock(&self) -> Arc<dyn Clock> {
            Arc::new(self.clock.clone())
        }

        fn pass(&self, time: Duration) {
            self.clock.advance(time);
        }

        fn dispatcher(&self, concurrency: usize) -> Arc<dyn Dispatcher> {
            let settings = Settings { concurrency, give_up_after: 3, ..Settings::default() };
            let (node, woken) = (Arc::new(self.nodes.another()), broadcast::Sender::new(Shared::HANDED_OVER));
            Arc::new(Shared::new(settings, node, Arc::new(LocalSignals), woken))
        }

        fn crowd(&self) -> usize {
            500
        }
    }

    dispatcher_conformance!(Some(SharedSubject::new()));
}

/// However much one owner has to do, there is a place for another's agent.
#[tokio::test]
async fn an_owner_takes_no_more_than_its_share_of_the_places() {
    let model = HeldModel::new(ScriptedModel::deciding(|_| Some(Ok(Script::text("Done.")))));
    let places = Settings { concurrency: 4, per_owner: Some(3), ..Settings::default() };
    let world = World::builder(model.clone()).kinds(one_kind(|_| {})).dispatchers([places]).start().await;
    for _ in 0..8 {
        world.ask("Go.").await;
    }
    for _ in 0..3 {
        model.begun().await;
    }
    let bob = world.engine().client(Owner::new("bob"));
    let message = Some("Go.".to_owned());
    bob.create(NewAgent { kind: None, title: None, message, parent: None }, None).await.unwrap();
    // The fourth call is that of the other owner: eight of the first would wait for as long as the model takes.
    model.begun().await;
    let at_work = async |owner: Owner| {
        let query = AgentQuery { status: Some(ShownStatus::Running), ..AgentQuery::default() };
        world.store().agents(&Scope::Owner(owner), query).await.unwrap().len()
    };
    assert_eq!((at_work(Owner::local()).await, at_work(Owner::new("bob")).await), (3, 1));
    model.let_go(100);
}

/// The wake-up of an agent that waits is delivered by a node whose clock is a minute ahead.
#[tokio::test]
async fn a_wake_up_is_due_by_the_clock_of_the_delivering_node() {
    let model =
        ScriptedModel::new([Script::call("wait", json!({"seconds": 60})), Script::text("It is time.")]);
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Wait a minute.").await;
    world.asleep(&root).await;
    let tomorrow = world.clock().now() + Duration::from_secs(86_400);
    let engine = world.engine();
    let deliver = async |due| Advance::advance(engine, root.id, Due { by: due }).await.unwrap();
    deliver(world.clock().now()).await;
    assert_eq!(world.client().agent(root.id).await.unwrap().waiting_on, Some(WaitingOn::Timer), "not yet");
    deliver(world.clock().now() + Duration::from_secs(60)).await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_eq!(world.store().due(tomorrow, None, 10).await.unwrap(), [], "it was served");
}

/// A paused agent leaves a wake-up in place that is due by the delivery's clock alone: the question that it is
/// for expires at its own time.
#[tokio::test]
async fn a_paused_agent_keeps_a_wake_up_not_yet_due_by_its_own_clock() {
    let kinds = one_kind(|kind| kind.limits.answer_seconds = Some(60));
    let model = ScriptedModel::new([
        Script::call("ask_user", json!({"question": "Which colour?"})),
        Script::text("Then blue."),
    ]);
    let world = World::builder(model).tools(first_tools()).kinds(kinds).start().await;
    let root = world.ask("Paint it.").await;
    world.question(root.id).await;
    world.asleep(&root).await;
    world.client().intervene(root.id, Action::Pause, None).await.unwrap();
    let on = Some(WaitingOn::Resume);
    let paused =
        |event: &Event| matches!(event.body, EventBody::AgentStatus { waiting_on, .. } if waiting_on == on);
    world.until(root.id, paused).await;
    let in_a_minute = Due { by: world.clock().now() + Duration::from_secs(60) };
    Advance::advance(world.engine(), root.id, in_a_minute).await.unwrap();
    world.client().intervene(root.id, Action::Resume, None).await.unwrap();
    world.asleep(&root).await;
    world.clock().advance(Duration::from_secs(60));
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
}
