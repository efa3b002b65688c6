//! What is old is forgotten where the settings say so, and nothing else; numbers go on.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};

use entourage_engine::{Error, NewAgent, Pruned, Retention, Signal};
use entourage_llm::{Message, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::{Fault, Faults, World};
use entourage_tests::{first_tools, plain};
use entourage_types::{Agent, Answer, Status};
use serde_json::json;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Trees of three ages: one that ended, one that waits for a person, and one that ended lately.
struct Trees {
    world: World,
    ended: Agent,
    waits: Agent,
    young: Agent,
}

/// A message is its own script: `ask` asks the user, `tell` has the researcher note something.
fn speaking() -> ScriptedModel {
    ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(text)) if text == "ask" => {
                Script::call("ask_user", json!({"question": "Which?"}))
            }
            Some(Message::User(text)) if text == "tell" => {
                Script::call("send_message", json!({"recipient": "researcher", "message": "note"}))
            }
            Some(Message::User(text)) if text == "note" => {
                Script::call("create_note", json!({"title": "t", "content": "c"}))
            }
            _ => Script::text("So be it."),
        }))
    })
}

async fn trees() -> Trees {
    let world = World::scripted(&speaking(), first_tools()).await;
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

async fn first(world: &World, root: &Agent) -> u64 {
    world.client().events(root.id, None, 1).await.unwrap()[0].seq
}

fn days(events: Option<u32>, trees: Option<u32>) -> Retention {
    let days = |days: Option<u32>| days.map(|days| DAY * days);
    Retention { events: days(events), trees: days(trees), ..Retention::default() }
}

#[tokio::test]
async fn nothing_is_forgotten_unless_asked() {
    let Trees { world, ended, .. } = trees().await;
    assert_eq!(world.house().prune(&Retention::default()).await.unwrap(), Pruned::default());
    assert_eq!(world.house().prune(&days(Some(50), Some(50))).await.unwrap(), Pruned::default());
    assert_eq!(first(&world, &ended).await, 1);
}

#[tokio::test]
async fn old_events_go_and_everything_else_stays() {
    let Trees { world, ended, waits, young } = trees().await;
    let (client, house) = (world.client(), world.house().clone());
    let all = client.events(ended.id, 0, 1000).await.unwrap();
    let before = plain(&client.items(ended.id, 0, 100).await.unwrap());
    let pruned = house.prune(&days(Some(30), None)).await.unwrap();
    assert!(pruned.events > 10 && pruned.trees == 0, "{pruned:?}");
    assert_eq!(house.prune(&days(Some(30), None)).await.unwrap(), Pruned::default(), "once is enough");

    // The last of a tree stays, and who asks for what is gone is told so.
    assert_eq!(first(&world, &ended).await, all.len() as u64);
    assert_eq!(first(&world, &young).await, 1);
    for gone in [client.events(ended.id, 0, 10).await.map(drop), client.watch(ended.id, 3).await.map(drop)] {
        let Err(Error::CursorGone { first, .. }) = gone else { panic!("{gone:?}") };
        assert_eq!(first, all.len() as u64);
    }
    let mut watch = client.watch(ended.id, None).await.unwrap();
    let Signal::Event(event) = watch.next().await.unwrap() else { panic!("an event comes first") };
    assert_eq!(*event, *all.last().unwrap());

    // What people read is as it was, what waits goes on, and numbers are never given twice.
    assert_eq!(plain(&client.items(ended.id, 0, 100).await.unwrap()), before);
    let open = client.questions(Some(waits.id), None, Page::default()).await.unwrap();
    let told = client.events(waits.id, None, 10).await.unwrap();
    client.answer(open[0].id, Answer::Text("red".into())).await.unwrap();
    let next = told.last().unwrap().seq + 1;
    loop {
        let news = client.events(waits.id, next - 1, 100).await.unwrap();
        assert!(news.iter().zip(next..).all(|(event, seq)| event.seq == seq));
        if client.agent(waits.id).await.unwrap().status == Status::Succeeded {
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn old_trees_at_rest_go_whole() {
    let Trees { world, ended, waits, young } = trees().await;
    let (client, house) = (world.client(), world.house().clone());
    let pruned = house.prune(&days(None, Some(30))).await.unwrap();
    assert_eq!(pruned, Pruned { trees: 1, ..Pruned::default() });
    assert!(matches!(client.agent(ended.id).await, Err(Error::NotFound { .. })));
    let left = client.agents(false, None, Page::default()).await.unwrap();
    assert!(left.iter().all(|agent| agent.root == waits.id || agent.root == young.id), "{left:?}");
    assert!(client.notes(Some(ended.id), Page::default()).await.unwrap().is_empty());
    assert_eq!(client.notes(Some(young.id), Page::default()).await.unwrap().len(), 1);
    assert_eq!(first(&world, &waits).await, 1);
}

/// Runs a future through so many polls, and drops it.
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

/// Wherever forgetting is cut off, what is left is whole, and the next time does the rest.
#[tokio::test]
async fn forgetting_survives_being_cut_off_anywhere() {
    let retention = days(Some(30), Some(30));
    for polls in 1.. {
        let Trees { world, ended, waits, young } = trees().await;
        let done = cut_after(polls, world.house().prune(&retention)).await.is_some();
        for tree in [&ended, &waits, &young] {
            let Ok(agents) = world.client().tree(tree.id).await else { continue };
            assert_eq!(agents.len(), 2 - usize::from(tree.id == waits.id), "a tree is whole or gone");
            let from = first(&world, tree).await;
            let events = world.client().events(tree.id, None, 1000).await.unwrap();
            assert!(events.iter().zip(from..).all(|(event, seq)| event.seq == seq));
        }
        world.house().prune(&retention).await.unwrap();
        assert!(world.client().agent(ended.id).await.is_err());
        assert_eq!(first(&world, &young).await, 1);
        assert!(world.client().agent(waits.id).await.is_ok());
        if done {
            assert!(polls > 5, "{polls} polls");
            return;
        }
    }
}

#[tokio::test]
async fn a_key_is_remembered_for_as_long_as_the_settings_say() {
    let world = World::scripted(&speaking(), first_tools()).await;
    let make = async |key: &str| {
        let new = NewAgent { message: Some("Hello.".into()), ..NewAgent::default() };
        world.client().create(new, Some(key)).await.unwrap().id
    };
    let (old, _) = (make("old").await, world.clock().advance(DAY));
    let young = make("young").await;
    let retention = Retention { requests: Some(DAY), ..Retention::default() };
    assert_eq!(world.house().prune(&retention).await.unwrap(), Pruned::default(), "a day is not over yet");
    world.clock().advance(Duration::from_secs(1));
    let dying = Faults::at_any(1, Fault::DieBefore);
    assert!(world.beside_with(&dying).prune(&retention).await.is_err());
    assert_eq!(make("old").await, old, "a death on the way has forgotten nothing");
    let forgot = Pruned { requests: 1, ..Pruned::default() };
    assert_eq!(world.house().prune(&retention).await.unwrap(), forgot);
    assert_eq!(make("young").await, young);
    assert_ne!(make("old").await, old, "a new request by now");
    assert_eq!(world.client().agent(old).await.unwrap().id, old, "what it made stays");
}
