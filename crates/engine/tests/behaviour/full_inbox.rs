//! How much an inbox takes from people, and what gets through all the same.

use std::{collections::HashSet, sync::Arc};

use entourage_engine::{Client, Engine, Error, Kinds, NewAgent, NewSchedule};
use entourage_llm::ScriptedModel;
use entourage_store::{Commit, MemoryStore, Page, Store, Write};
use entourage_types::{Action, Agent, Author, Owner, Post, PostBody, Recurrence, Time, Trigger};
use serde_json::json;

/// How many unread posts an inbox takes.
const MOST: usize = 1_000;

/// An agent that nobody sets to work, so that it reads nothing.
async fn at_rest() -> (Arc<dyn Store>, Client, Agent) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let model = Arc::new(ScriptedModel::new([]));
    let engine = Engine::builder(Arc::clone(&store), model).kinds(Kinds::builtin()).build();
    let client = engine.client(Owner::local());
    let new = NewAgent { kind: None, title: None, message: Some("Go.".into()), parent: None };
    let agent = client.create(new, None).await.unwrap();
    (store, client, agent)
}

/// Fills the inbox up to this many posts in one commit.
async fn fill(store: &Arc<dyn Store>, agent: &Agent, up_to: usize) {
    let there = store.inbox(agent.id).await.unwrap().len();
    let body =
        PostBody::Message { from: Author::User, text: "x".into(), task: None, queued: false, options: None };
    let posts = (there..up_to).map(|_| Write::Post(Post::new(agent.id, Time::from_micros(1), body.clone())));
    store.commit(Commit { writes: posts.collect(), ..Commit::new(Time::from_micros(1)) }).await.unwrap();
}

fn is_full<T>(refused: Result<T, Error>) -> bool {
    matches!(refused, Err(Error::NotNow { why, .. }) if why.contains("its inbox is full"))
}

#[tokio::test]
async fn of_two_messages_at_once_one_takes_the_last_place_of_an_inbox() {
    let (store, client, agent) = at_rest().await;
    fill(&store, &agent, MOST - 1).await;
    let (one, other) = tokio::join!(client.send(agent.id, "one", None), client.send(agent.id, "other", None));
    assert!(one.is_ok() != other.is_ok(), "{one:?}, {other:?}");
    assert_eq!(store.inbox(agent.id).await.unwrap().len(), MOST);
    assert!(is_full(client.send(agent.id, "x", None).await));
    let trigger = || Trigger { name: "morning".into(), payload: json!({}), schedule: None };
    assert!(is_full(client.trigger(agent.id, trigger(), "Good morning.", None).await));
    let new = NewSchedule {
        agent: agent.id,
        text: "Good morning.".into(),
        trigger: trigger(),
        first: None,
        recurrence: Recurrence::Every { seconds: 60 },
    };
    let schedule = client.schedule(new, None).await.unwrap();
    assert!(is_full(client.fire_schedule(schedule.id, None).await), "by hand");
    assert_eq!(store.inbox(agent.id).await.unwrap().len(), MOST);
}

/// A message that was taken under its key is not refused when it comes again.
#[tokio::test]
async fn a_message_that_filled_an_inbox_is_answered_again_under_its_key() {
    let (store, client, agent) = at_rest().await;
    fill(&store, &agent, MOST - 1).await;
    let first = client.send(agent.id, "the last one", Some("key")).await.unwrap();
    assert_eq!(client.send(agent.id, "the last one", Some("key")).await.unwrap(), first);
}

#[tokio::test]
async fn a_full_inbox_takes_no_pause_and_one_stop_however_often_it_is_sent() {
    let (store, client, agent) = at_rest().await;
    for _ in 0..2 {
        client.intervene(agent.id, Action::Pause, None).await.unwrap();
    }
    fill(&store, &agent, MOST).await;
    assert!(is_full(client.intervene(agent.id, Action::Pause, None).await));
    assert!(is_full(client.intervene(agent.id, Action::Steer, Some("On.")).await));
    for action in [Action::Stop, Action::Resume] {
        let first = client.intervene(agent.id, action, None).await.unwrap();
        for _ in 0..3 {
            assert_eq!(client.intervene(agent.id, action, None).await.unwrap(), first);
        }
    }
    assert_eq!(store.inbox(agent.id).await.unwrap().len(), MOST + 2);
    assert_eq!(client.interventions(agent.id, Page::all()).await.unwrap().len(), 4);
    client.intervene(agent.id, Action::Delete, None).await.unwrap();
    assert!(matches!(client.send(agent.id, "x", None).await, Err(Error::Gone(_))));
}

/// Who knows what is unread has only what is new read.
#[tokio::test]
async fn what_is_unread_is_read_once() {
    let (_store, client, agent) = at_rest().await;
    let (known, first) = client.unread_beyond(agent.id, &HashSet::new()).await.unwrap();
    assert_eq!((known.len(), first[0].text.as_str()), (1, "Go."));
    assert_eq!(client.unread_beyond(agent.id, &known).await.unwrap(), (known.clone(), Vec::new()));
    client.send(agent.id, "one", None).await.unwrap();
    client.send(agent.id, "two", None).await.unwrap();
    let (known, new) = client.unread_beyond(agent.id, &known).await.unwrap();
    assert_eq!(known.len(), 3);
    assert_eq!(new.iter().map(|entry| entry.text.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert!(client.is_at_work(&agent).await.unwrap());
}
