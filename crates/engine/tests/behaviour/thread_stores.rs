//! Threads that a thread store keeps as well: whatever dies on the way, all of each is saved, in
//! order.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::kit::{FakeClockExt, WorldBuilderExt, bare, eventually, first_tools};
use async_trait::async_trait;
use entourage_engine::{AcceptedMessage, ChatMessage, Client, Kinds, ThreadStore, ThreadStoreError};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::EntityQuery;
use entourage_testkit::{Fault, Faults, World, WorldBuilder, crash_stride};
use entourage_types::{Item, ItemBody, Kind, Owner, PendingSave, Scope, ThreadKey, Time};
use futures::future::BoxFuture;
use serde_json::json;

/// The saved items of each thread, as they arrived.
#[derive(Default)]
struct MemoryThreadStore {
    saved: Mutex<BTreeMap<ThreadKey, Vec<Item>>>,
}

#[async_trait]
impl ThreadStore for MemoryThreadStore {
    async fn load(&self, thread: &ThreadKey) -> Result<Vec<ItemBody>, ThreadStoreError> {
        let saved = self.saved.lock().unwrap();
        let mut seen = BTreeSet::new();
        let first = saved.get(thread).into_iter().flatten().filter(|item| seen.insert((item.run, item.seq)));
        Ok(first.map(|item| item.body.clone()).collect())
    }

    async fn save(&self, thread: &ThreadKey, items: &[Item]) -> Result<(), ThreadStoreError> {
        self.saved.lock().unwrap().entry(thread.clone()).or_default().extend_from_slice(items);
        Ok(())
    }
}

/// A thread store whose first save panics before it returns a future.
#[derive(Default)]
struct CrashingThreadStore {
    memory: Arc<MemoryThreadStore>,
    has_crashed: AtomicBool,
}

impl ThreadStore for CrashingThreadStore {
    fn load<'s, 'k, 'f>(
        &'s self,
        thread: &'k ThreadKey,
    ) -> BoxFuture<'f, Result<Vec<ItemBody>, ThreadStoreError>>
    where
        's: 'f,
        'k: 'f,
        Self: 'f,
    {
        self.memory.load(thread)
    }

    fn save<'s, 'k, 'i, 'f>(
        &'s self,
        thread: &'k ThreadKey,
        items: &'i [Item],
    ) -> BoxFuture<'f, Result<(), ThreadStoreError>>
    where
        's: 'f,
        'k: 'f,
        'i: 'f,
        Self: 'f,
    {
        assert!(self.has_crashed.swap(true, Ordering::SeqCst), "planned");
        self.memory.save(thread, items)
    }
}

/// a asks b, and each repeats its input.
fn world<S: ThreadStore>(thread_store: &Arc<S>) -> WorldBuilder {
    let model = ScriptedModel::deciding(|request: &Request| {
        let is_a = request.system.starts_with("You are a.");
        Some(Ok(match (is_a, request.messages.last()) {
            (true, Some(Message::User(text))) => {
                Script::call("send_message", json!({"recipient": "b", "message": text}))
            }
            (_, Some(Message::User(text) | Message::Output { text, .. })) => {
                Script::text(format!("<{text}>"))
            }
            (_, other) => Script::text(format!("unexpected {other:?}")),
        }))
    });
    let kind = |name: &str, peers: &[&str]| Kind {
        instructions: format!("You are {name}."),
        peers: peers.iter().map(ToString::to_string).collect(),
        ..bare(name)
    };
    let thread_store: Arc<dyn ThreadStore> = Arc::<S>::clone(thread_store);
    let kinds = Kinds::none().with(kind("a", &["b"])).with(kind("b", &[]));
    World::builder(model)
        .tools(first_tools())
        .kinds(kinds)
        .engine(move |engine| engine.thread_store(Arc::clone(&thread_store)))
}

async fn say(client: &Client, text: &str) -> AcceptedMessage {
    let speech =
        ChatMessage { chat: "c".into(), to: "a".into(), text: text.into(), ..ChatMessage::default() };
    client.speak(speech, None).await.unwrap()
}

/// Returns once no work and no pending save is left.
async fn wait_until_saved(world: &World) {
    let is_saved = async || {
        let due = world.store().due(Time::from_micros(i64::MAX), None, 1).await.unwrap();
        let pending = EntityQuery::records::<PendingSave>();
        due.is_empty() && world.store().entities(&Scope::All, pending).await.unwrap().is_empty()
    };
    eventually("all is saved", is_saved, |is_saved| *is_saved).await;
}

/// Asserts that all items of all threads were saved, each for the first time in order.
async fn assert_saved(world: &World, thread_store: &MemoryThreadStore, owner: &Owner, context: &str) {
    let client = world.engine().client(owner.clone());
    for (recipient, sender) in [("a", "user"), ("b", "a")] {
        let thread = client.thread("c", recipient, Some(sender)).await.unwrap().unwrap();
        let items = client.items(thread.id, 0, 100).await.unwrap();
        let (chat, owner) = ("c".to_owned(), owner.clone());
        let key = ThreadKey { owner, chat, recipient: recipient.to_owned(), sender: sender.to_owned() };
        let came = thread_store.saved.lock().unwrap()[&key].clone();
        let mut first: Vec<Item> = Vec::new();
        for item in came {
            assert!(item.seq <= first.len() as u64, "{context}: {key:?} has a gap before {}", item.seq);
            if item.seq == first.len() as u64 {
                first.push(item);
            }
        }
        assert_eq!(first, items, "{context}");
    }
    assert_eq!(world.audit().await, [], "{context}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_are_saved_in_order_despite_a_crash_at_any_commit() {
    let mut told = 0;
    for (first, fault) in [Fault::DieBefore, Fault::DieAfter, Fault::LoseEpoch].into_iter().enumerate() {
        for at in (1 + first as u64..).step_by(crash_stride(3)) {
            let thread_store = Arc::<MemoryThreadStore>::default();
            let mut world = world(&thread_store).start_with(at, fault).await;
            for text in ["Go.", "More."] {
                say(&world.client(), text).await;
            }
            let faults = world.faults().clone();
            if faults.unless_dead(wait_until_saved(&world)).await.is_none() {
                world = world.restart(Faults::default()).await;
                wait_until_saved(&world).await;
            }
            assert_saved(&world, &thread_store, &Owner::local(), &format!("{fault:?} at {at}")).await;
            told += 1;
            if faults.commits() < at {
                break;
            }
        }
    }
    println!("{told} crash points");
    assert!(told > 20);
}

#[tokio::test]
async fn a_thread_whose_save_panics_is_saved_after_a_second() {
    let thread_store = Arc::<CrashingThreadStore>::default();
    let world = world(&thread_store).start().await;
    say(&world.client(), "Go.").await;
    world.clock().advance_to_sleeper(Duration::from_secs(1)).await;
    assert!(thread_store.has_crashed.load(Ordering::SeqCst));
    wait_until_saved(&world).await;
    assert_saved(&world, &thread_store.memory, &Owner::local(), "after a panic").await;
}

#[tokio::test]
async fn a_saved_thread_is_loaded_only_for_its_own_owner() {
    let thread_store = Arc::<MemoryThreadStore>::default();
    let [ada, bob] = ["ada", "bob"].map(Owner::new);
    let before = world(&thread_store).start().await;
    say(&before.engine().client(ada.clone()), "I am Ada.").await;
    wait_until_saved(&before).await;
    let after = world(&thread_store).start().await;
    for owner in [&ada, &bob] {
        say(&after.engine().client(owner.clone()), "Go.").await;
    }
    wait_until_saved(&after).await;
    let count = async |owner: &Owner| {
        let client = after.engine().client(owner.clone());
        client.thread("c", "b", Some("a")).await.unwrap().unwrap().items
    };
    assert_eq!((count(&ada).await, count(&bob).await), (4, 2));
    assert_saved(&after, &thread_store, &bob, "of bob").await;
}

/// The calls of a loaded thread are answered: a later run that fails before its first turn adds
/// nothing to it.
#[tokio::test]
async fn a_failed_run_does_not_answer_the_calls_of_a_loaded_thread_again() {
    let thread_store = Arc::<MemoryThreadStore>::default();
    let before = world(&thread_store).start().await;
    say(&before.client(), "Go.").await;
    wait_until_saved(&before).await;
    // The message that a conversational agent sent is the end of its thread.
    for items in thread_store.saved.lock().unwrap().values_mut() {
        items.retain(|item| item.seq < 3);
    }
    let kinds = Kinds::none().with(Kind { peers: vec!["b".into()], ..bare("a") }).with(bare("b"));
    let model = ScriptedModel::deciding(|_| {
        Some(Err(entourage_llm::Error::Refused { model: "m".into(), cause: "no".into() }))
    });
    let elsewhere: Arc<dyn ThreadStore> = Arc::<MemoryThreadStore>::clone(&thread_store);
    let after = World::builder(model)
        .tools(first_tools())
        .kinds(kinds)
        .engine(move |engine| engine.thread_store(Arc::clone(&elsewhere)))
        .start()
        .await;
    say(&after.client(), "Go on.").await;
    wait_until_saved(&after).await;
    let thread = after.client().thread("c", "a", Some("user")).await.unwrap().unwrap();
    let items = after.client().items(thread.id, 0, 100).await.unwrap();
    let outputs = items.iter().filter(|item| matches!(item.body, ItemBody::Output(_))).count();
    assert_eq!(outputs, 1, "{:#?}", entourage_testkit::plain(&items));
    assert_eq!(after.audit().await, []);
}
