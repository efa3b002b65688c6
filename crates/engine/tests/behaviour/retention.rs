//! Old records are deleted if the settings say so, and nothing else; numbers continue.

use std::{
    collections::HashSet,
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Duration,
};

use crate::kit::{WorldExt, first_tools, within};
use async_trait::async_trait;
use entourage_engine::{ChatMessage, Clock, Error, NewAgent, Pruned, Retention, Signal};
use entourage_llm::{Message as Said, Script, ScriptedModel};
use entourage_store::{
    Commit, Committed, Error as StoreError, Page, Result as StoreResult, Store, StoreLayer, Write,
};
use entourage_testkit::{Fault, Faults, World, plain};
use entourage_types::{
    Agent, Answer, Author, Entity, EntityKind, Item, ItemBody, Message, Owner, Post, PostBody, PostId, RunId,
    Status, WakeupId,
};
use serde_json::json;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Trees of three ages: one that ended, one that waits for a person, and one that ended recently.
struct Trees {
    world: World,
    ended: Agent,
    waits: Agent,
    young: Agent,
}

/// A message is its own script: `ask` asks the user, `tell` has the researcher write a note.
fn scripted_by_messages() -> ScriptedModel {
    ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.last() {
            Some(Said::User(text)) if text == "ask" => {
                Script::call("ask_user", json!({"question": "Which?"}))
            }
            Some(Said::User(text)) if text == "tell" => {
                Script::call("send_message", json!({"recipient": "researcher", "message": "note"}))
            }
            Some(Said::User(text)) if text == "note" => {
                Script::call("create_note", json!({"title": "t", "content": "c"}))
            }
            _ => Script::text("So be it."),
        }))
    })
}

async fn trees() -> Trees {
    let world = World::scripted(&scripted_by_messages(), first_tools()).await;
    let ended = world.ask("tell").await;
    let ended = world.ended(ended.id).await;
    let waits = world.ask("ask").await;
    world.question(waits.id).await;
    world.clock().advance(DAY * 40);
    let young = world.ask("tell").await;
    let young = world.ended(young.id).await;
    world.clock().advance(DAY);
    Trees { world, ended, waits, young }
}

async fn first_event_number(world: &World, root: &Agent) -> u64 {
    world.client().events(root.id, None, 1).await.unwrap()[0].seq
}

fn days(events: Option<u32>, trees: Option<u32>) -> Retention {
    let days = |days: Option<u32>| days.map(|days| DAY * days);
    Retention { events: days(events), trees: days(trees), ..Retention::default() }
}

#[tokio::test]
async fn prune_deletes_nothing_without_or_within_a_retention_period() {
    let Trees { world, ended, .. } = trees().await;
    assert_eq!(world.engine().prune(&Retention::default()).await.unwrap(), Pruned::default());
    assert_eq!(world.engine().prune(&days(Some(50), Some(50))).await.unwrap(), Pruned::default());
    assert_eq!(first_event_number(&world, &ended).await, 1);
}

#[tokio::test]
async fn pruning_old_events_keeps_everything_else() {
    let Trees { world, ended, waits, young } = trees().await;
    let (client, engine) = (world.client(), world.engine().clone());
    let all = client.events(ended.id, 0, 1000).await.unwrap();
    let before = plain(&client.items(ended.id, 0, 100).await.unwrap());
    let pruned = engine.prune(&days(Some(30), None)).await.unwrap();
    assert!(pruned.events > 10 && pruned.trees == 0, "{pruned:?}");
    assert_eq!(engine.prune(&days(Some(30), None)).await.unwrap(), Pruned::default(), "once is enough");

    // The last event of a tree stays, and a read of deleted events returns an error.
    assert_eq!(first_event_number(&world, &ended).await, all.len() as u64);
    assert_eq!(first_event_number(&world, &young).await, 1);
    for gone in [client.events(ended.id, 0, 10).await.map(drop), client.watch(ended.id, 3).await.map(drop)] {
        let Err(Error::CursorGone { first, .. }) = gone else { panic!("{gone:?}") };
        assert_eq!(first, all.len() as u64);
    }
    let mut watch = client.watch(ended.id, None).await.unwrap();
    let Signal::Event(event) = watch.next().await.unwrap() else { panic!("an event comes first") };
    assert_eq!(*event, *all.last().unwrap());

    // What people read is unchanged, waiting work continues, and no number is used twice.
    assert_eq!(plain(&client.items(ended.id, 0, 100).await.unwrap()), before);
    let open = client.questions(Some(waits.id), None, Page::default()).await.unwrap();
    let told = client.events(waits.id, None, 10).await.unwrap();
    client.answer(open[0].id, Answer::Text("red".into())).await.unwrap();
    let next = told.last().unwrap().seq + 1;
    within("the run ends", async {
        loop {
            let news = client.events(waits.id, next - 1, 100).await.unwrap();
            assert!(news.iter().zip(next..).all(|(event, seq)| event.seq == seq));
            if client.agent(waits.id).await.unwrap().status == Status::Succeeded {
                break;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn prune_deletes_old_ended_trees_whole() {
    let Trees { world, ended, waits, young } = trees().await;
    let (client, engine) = (world.client(), world.engine().clone());
    let pruned = engine.prune(&days(None, Some(30))).await.unwrap();
    assert_eq!(pruned, Pruned { trees: 1, ..Pruned::default() });
    assert!(matches!(client.agent(ended.id).await, Err(Error::NotFound { .. })));
    let left = client.agents(None, Page::default()).await.unwrap();
    assert!(left.iter().all(|agent| agent.root == waits.id || agent.root == young.id), "{left:?}");
    assert!(client.notes(Some(ended.id), Page::default()).await.unwrap().is_empty());
    assert_eq!(client.notes(Some(young.id), Page::default()).await.unwrap().len(), 1);
    assert_eq!(first_event_number(&world, &waits).await, 1);
}

/// A chat is found by its name: used again after its deletion, it is a new chat, although the
/// engine still holds messages of the old one.
#[tokio::test]
async fn a_pruned_chat_starts_again_without_its_old_messages() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::clone(&seen);
    let model = ScriptedModel::deciding(move |request| {
        asked.lock().unwrap().push(request.messages.clone());
        Some(Ok(Script::text("So be it.")))
    });
    let world = World::scripted(&model, first_tools()).await;
    let engine = world.engine().clone();
    let client = engine.client(Owner::local());
    let say = async |text: &str| {
        let speech = ChatMessage {
            chat: "c".into(),
            to: "assistant".into(),
            text: text.into(),
            ..ChatMessage::default()
        };
        let spoken = client.speak(speech, None).await.unwrap();
        world.ended(spoken.root).await
    };
    let before = say("The secret is red.").await;
    for n in 1..8 {
        say(&format!("Message {n}.")).await;
    }
    let old = client.items(before.id, 0, 100).await.unwrap();
    assert!(old.len() >= 16, "a shorter transcript is not held: {:?}", plain(&old));
    world.clock().advance(DAY * 40);
    assert_eq!(engine.prune(&days(None, Some(30))).await.unwrap().trees, 1);
    let after = say("What is the secret?").await;
    assert_eq!(before.id, after.id, "the name is the same");
    let items = client.items(after.id, 0, 100).await.unwrap();
    assert_eq!(plain(&items), ["message: What is the secret?", "turn: So be it.[]"]);
    let last = seen.lock().unwrap().pop().unwrap();
    assert!(format!("{last:?}").contains("What is the secret?"), "{last:?}");
    assert!(!format!("{last:?}").contains("red"), "{last:?}");
}

/// Deleting a tree of more agents than one commit deletes, if interrupted in the middle, leaves
/// readable events, and the next run deletes the rest.
#[tokio::test]
async fn a_partly_pruned_tree_keeps_readable_events() {
    let world = World::scripted(&scripted_by_messages(), first_tools()).await;
    let root = world.client().create(NewAgent::default(), None).await.unwrap();
    let (store, at) = (world.store(), root.created);
    let children: Vec<Agent> = (0..40).map(|_| root.child("researcher", "", None, at)).collect();
    let writes = children.iter().cloned().map(Write::NewAgent).collect();
    store.commit(Commit { writes, ..Commit::new(at) }).await.unwrap();
    // The last event of the tree is about an item of the first agent to be deleted.
    let mut agent = store.claim(children[0].id, 0).await.unwrap().unwrap().agent;
    let body = ItemBody::Message(Message::new(Author::User, "hello", None));
    let item =
        Item { agent: agent.id, seq: 0, run: RunId::new(), session: agent.session, at, step: None, body };
    (agent.items, agent.status) = (1, Status::Succeeded);
    store
        .commit(Commit::fenced(&agent, at).write(Write::Agent(agent.clone())).write(Write::Item(item)))
        .await
        .unwrap();
    world.clock().advance(DAY * 40);
    let (retention, mut parts, mut is_done) = (days(None, Some(30)), HashSet::new(), false);
    for _ in 0..20 {
        // One commit after the other fails.
        let faults = Faults::default().plan(2 + parts.len() as u64, Fault::DieBefore);
        let done = world.operator_with(&faults).prune(&retention).await;
        let left = world.client().tree(root.id).await.map_or(0, |tree| tree.len());
        if left > 0 {
            let events = world.client().events(root.id, None, 1_000).await.unwrap();
            assert_eq!(events.last().map(|event| event.seq), Some(43), "the last one stays");
        }
        parts.insert(left);
        is_done = done.is_ok();
        if is_done {
            break;
        }
    }
    assert!(is_done && parts.len() > 2 && parts.contains(&0), "{parts:?}");
}

/// Polls a future this many times, and drops it.
async fn cut_after<T>(polls: usize, future: impl Future<Output = T>) -> Option<T> {
    let (mut future, mut left) = (pin!(future), polls);
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        future.as_mut().poll(context).map(Some)
    })
    .await
}

/// Wherever the deletion is interrupted, the rest is consistent, and the next run completes it.
#[tokio::test]
async fn an_interrupted_prune_leaves_whole_trees_and_the_next_one_completes_it() {
    let retention = days(Some(30), Some(30));
    for polls in 1.. {
        let Trees { world, ended, waits, young } = trees().await;
        let done = cut_after(polls, world.engine().prune(&retention)).await.is_some();
        for tree in [&ended, &waits, &young] {
            let Ok(agents) = world.client().tree(tree.id).await else { continue };
            assert_eq!(agents.len(), 2 - usize::from(tree.id == waits.id), "a tree is whole or gone");
            let from = first_event_number(&world, tree).await;
            let events = world.client().events(tree.id, None, 1000).await.unwrap();
            assert!(events.iter().zip(from..).all(|(event, seq)| event.seq == seq));
        }
        world.engine().prune(&retention).await.unwrap();
        assert!(world.client().agent(ended.id).await.is_err());
        assert_eq!(first_event_number(&world, &young).await, 1);
        assert!(world.client().agent(waits.id).await.is_ok());
        if done {
            // A tree and its events go in one commit, so that there are few places to interrupt it.
            assert!(polls > 3, "{polls} polls");
            return;
        }
    }
}

#[tokio::test]
async fn an_idempotency_key_is_kept_for_the_retention_period() {
    let world = World::scripted(&scripted_by_messages(), first_tools()).await;
    let make = async |key: &str| {
        let new = NewAgent { message: Some("Hello.".into()), ..NewAgent::default() };
        world.client().create(new, Some(key)).await.unwrap().id
    };
    let (old, _) = (make("old").await, world.clock().advance(DAY));
    let young = make("young").await;
    let retention = Retention { requests: Some(DAY), ..Retention::default() };
    assert_eq!(world.engine().prune(&retention).await.unwrap(), Pruned::default(), "a day is not over yet");
    world.clock().advance(Duration::from_secs(1));
    let dying = Faults::default().plan(1, Fault::DieBefore);
    assert!(world.operator_with(&dying).prune(&retention).await.is_err());
    assert_eq!(make("old").await, old, "a death on the way has forgotten nothing");
    let forgot = Pruned { requests: 1, ..Pruned::default() };
    assert_eq!(world.engine().prune(&retention).await.unwrap(), forgot);
    assert_eq!(make("young").await, young);
    assert_ne!(make("old").await, old, "a new request by now");
    assert_eq!(world.client().agent(old).await.unwrap().id, old, "what it made stays");
}

/// There are more old records than one page has.
#[tokio::test]
async fn one_prune_deletes_more_records_than_a_page() {
    let world = World::scripted(&scripted_by_messages(), first_tools()).await;
    let request = |n: u32| Entity {
        kind: EntityKind::REQUEST,
        id: format!("key {n}"),
        owner: Owner::local(),
        root: None,
        parent: None,
        status: "done".into(),
        created: world.clock().now(),
        updated: world.clock().now(),
        version: 1,
        name: None,
        text: None,
        body: "{}".into(),
    };
    let writes = (0..1_001).map(|n| Write::entity(request(n))).collect();
    world.store().commit(Commit { writes, ..Commit::new(world.clock().now()) }).await.unwrap();
    world.clock().advance(DAY * 2);
    let retention = Retention { requests: Some(DAY), ..Retention::default() };
    let forgot = Pruned { requests: 1_001, ..Pruned::default() };
    assert_eq!(world.engine().prune(&retention).await.unwrap(), forgot);
}

/// Writes to a tree just before its root is deleted.
struct PostsBeforePrune;

#[async_trait]
impl StoreLayer for PostsBeforePrune {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> StoreResult<Committed> {
        if let Some(Write::PruneAgent(root)) = commit.writes.last() {
            let message = PostBody::Message {
                from: Author::User,
                text: "hello".into(),
                task: None,
                queued: false,
                options: None,
            };
            let (id, wakeup) = (PostId::new(), WakeupId::new());
            let mut said = Commit::new(commit.at);
            said.post(Post { id, agent: *root, at: commit.at, wakeup, body: message }, &Owner::local());
            store.commit(said).await?;
        }
        store.commit(commit).await
    }
}

#[tokio::test]
async fn a_tree_that_gets_a_message_during_pruning_keeps_its_events() {
    let world =
        World::builder(scripted_by_messages()).tools(first_tools()).between(PostsBeforePrune).start().await;
    let root = world.ask("hello").await;
    world.ended(root.id).await;
    world.clock().advance(DAY * 40);
    assert_eq!(world.engine().prune(&days(None, Some(30))).await.unwrap(), Pruned::default());
    assert_eq!(first_event_number(&world, &root).await, 1);
}

/// Refuses the first commit that deletes agents.
#[derive(Default)]
struct RefusesFirstPrune(AtomicBool);

#[async_trait]
impl StoreLayer for RefusesFirstPrune {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> StoreResult<Committed> {
        let prunes = matches!(commit.writes.first(), Some(Write::PruneAgent(_)));
        if prunes && !self.0.swap(true, Ordering::Relaxed) {
            return Err(StoreError::RuleViolation("an agent would lose its parent".into()));
        }
        store.commit(commit).await
    }
}

#[tokio::test]
async fn a_tree_that_the_store_refuses_to_delete_is_not_counted_and_the_others_are_deleted() {
    let layer = RefusesFirstPrune::default();
    let world = World::builder(scripted_by_messages()).tools(first_tools()).between(layer).start().await;
    let [refused, other] = [world.ask("hello").await, world.ask("hello").await];
    world.ended(refused.id).await;
    world.ended(other.id).await;
    world.clock().advance(DAY * 40);
    let one = Pruned { trees: 1, ..Pruned::default() };
    assert_eq!(world.engine().prune(&days(None, Some(30))).await.unwrap(), one);
    assert!(world.client().agent(refused.id).await.is_ok());
    assert_eq!(first_event_number(&world, &refused).await, 1);
    assert!(matches!(world.client().agent(other.id).await, Err(Error::NotFound { .. })));
    assert_eq!(world.engine().prune(&days(None, Some(30))).await.unwrap(), one);
}
