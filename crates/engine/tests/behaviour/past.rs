//! A tree as it was after one of its events.

use std::{collections::HashMap, time::Duration};

use crate::kit::{WorldExt, first_tools};
use entourage_engine::{Error, PastAgent, PastTree, Retention};
use entourage_llm::{Message as Said, Script, ScriptedModel};
use entourage_testkit::World;
use entourage_types::{
    Agent, AgentId, Answer, Cost, Event, EventBody, Owner, ShownStatus, Status, Usage, WaitingOn,
};
use serde_json::json;

/// A message is its own script: `ask` asks the user, `tell X` has the researcher do X.
fn scripted_by_messages() -> ScriptedModel {
    ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.last() {
            Some(Said::User(text)) if text == "ask" => {
                Script::call("ask_user", json!({"question": "Which?"}))
            }
            Some(Said::User(text)) if text.starts_with("tell ") => {
                Script::call("send_message", json!({"recipient": "researcher", "message": &text[5..]}))
            }
            _ => Script::text("So be it."),
        }))
    })
}

/// What both the present and the past of an agent tell.
type Standing = (AgentId, Option<AgentId>, u16, String, String, ShownStatus, Option<WaitingOn>, Usage, Cost);

fn then(past: &PastTree) -> Vec<Standing> {
    let standing = |agent: &PastAgent| {
        let (kind, title) = (agent.kind.clone(), agent.title.clone());
        let PastAgent { id, parent, depth, status, waiting_on, usage, cost, .. } = *agent;
        (id, parent, depth, kind, title, status, waiting_on, usage, cost)
    };
    past.agents.iter().map(standing).collect()
}

/// The tree as it is. At rest its events tell all of it.
async fn now(world: &World, root: AgentId) -> Vec<Standing> {
    let client = world.client();
    let used = client.tree_usage(root).await.unwrap().by_agent;
    let standing = |agent: Agent| {
        let used = used.get(&agent.id).copied().unwrap_or_default();
        let shown = agent.shown();
        let Agent { id, parent, depth, kind, title, waiting_on, .. } = agent;
        (id, parent, depth, kind, title, shown, waiting_on, used.usage, used.cost)
    };
    client.tree(root).await.unwrap().into_iter().map(standing).collect()
}

/// A tree whose researcher waits for the person.
async fn waiting(world: &World) -> Agent {
    let agent = world.ask("tell ask").await;
    world.question(agent.id).await;
    for agent in world.client().tree(agent.id).await.unwrap() {
        world.asleep(&agent).await;
    }
    agent
}

/// Whether an event says that this agent has ended its run.
fn is_end_of(agent: AgentId, event: &Event) -> bool {
    let has_ended = matches!(event.body, EventBody::AgentStatus { status: Status::Succeeded, .. });
    has_ended && event.agent == agent
}

#[tokio::test]
async fn the_past_of_a_tree_at_rest_is_what_its_present_was_then() {
    let world = World::scripted(&scripted_by_messages(), first_tools()).await;
    let (root, client) = (waiting(&world).await.id, world.client());
    let (slept, asleep) = (client.last_event(root).await.unwrap(), now(&world, root).await);
    assert_eq!(asleep.len(), 2);
    let question = world.question(root).await;
    client.answer(question.id, Answer::Text("red".into())).await.unwrap();
    world.ended(root).await;
    let (ended, end) = (client.last_event(root).await.unwrap(), now(&world, root).await);
    assert_ne!(asleep, end);
    // Another run of the same agent adds to what the first used.
    client.send(root, "tell so", None).await.unwrap();
    world.until(root, |event| event.seq > ended && is_end_of(root, event)).await;
    for (at, expected) in [(slept, asleep), (ended, end)] {
        let past = client.tree_at(root, at).await.unwrap();
        assert_eq!(then(&past), expected, "after event {at}");
        assert_eq!((past.root, past.at), (root, at));
    }
    let last = client.last_event(root).await.unwrap();
    let past = client.tree_at(root, last).await.unwrap();
    assert_eq!((then(&past), past.last), (now(&world, root).await, last));
    // Any agent of the tree stands for it.
    let child = past.agents[1].id;
    assert_eq!(client.tree_at(child, slept).await.unwrap().agents.len(), 2);
}

/// After each event the agents are those created by then, each with the status that was last reported.
#[tokio::test]
async fn every_event_has_a_past_that_agrees_with_the_events_up_to_it() {
    let world = World::scripted(&scripted_by_messages(), first_tools()).await;
    let (root, client) = (waiting(&world).await.id, world.client());
    let (mut created, mut reported) = (Vec::new(), HashMap::new());
    for event in client.events(root, 0, 1000).await.unwrap() {
        match event.body {
            EventBody::AgentCreated { .. } => created.push(event.agent),
            EventBody::AgentStatus { status, stop_reason, .. } => {
                reported.insert(event.agent, (ShownStatus::of(status, stop_reason), event.at));
            }
            _ => {}
        }
        let past = client.tree_at(root, event.seq).await.unwrap();
        assert_eq!(past.time, event.at);
        assert_eq!(past.agents.iter().map(|agent| agent.id).collect::<Vec<_>>(), created);
        for agent in &past.agents {
            let idle = (ShownStatus::Idle, agent.created);
            assert_eq!((agent.status, agent.since), *reported.get(&agent.id).unwrap_or(&idle));
        }
    }
    assert_eq!(created.len(), 2);
}

#[tokio::test]
async fn a_number_without_an_event_is_refused() {
    let world = World::scripted(&scripted_by_messages(), first_tools()).await;
    let (root, client) = (waiting(&world).await.id, world.client());
    let last = client.last_event(root).await.unwrap();
    for at in [0, last + 1, u64::MAX] {
        let refused = client.tree_at(root, at).await;
        let Err(Error::Invalid(why)) = refused else { panic!("{refused:?}") };
        assert!(why.contains(&format!("1 to {last}")), "{why}");
    }
}

#[tokio::test]
async fn a_past_whose_events_were_pruned_is_gone() {
    let world = World::scripted(&scripted_by_messages(), first_tools()).await;
    let (root, client) = (waiting(&world).await.id, world.client());
    let last = client.last_event(root).await.unwrap();
    world.clock().advance(Duration::from_secs(60));
    let retention = Retention { events: Some(Duration::from_secs(1)), ..Retention::default() };
    assert!(world.engine().prune(&retention).await.unwrap().events > 0);
    // The last event is kept, and does not tell what the others did.
    for at in [1, last] {
        let gone = client.tree_at(root, at).await;
        let Err(Error::PastGone { first, .. }) = gone else { panic!("{gone:?}") };
        assert_eq!(first, last);
    }
}

#[tokio::test]
async fn a_past_is_seen_by_the_owner_of_the_tree_alone() {
    let world = World::scripted(&scripted_by_messages(), first_tools()).await;
    let root = waiting(&world).await.id;
    let stranger = world.engine().client(Owner::new("stranger"));
    assert!(matches!(stranger.tree_at(root, 1).await, Err(Error::NotFound { .. })));
}

/// A forgotten agent is in the past up to the event that forgot it, without its title.
#[tokio::test]
async fn an_agent_that_was_forgotten_is_in_the_past_before_that_alone() {
    let world = World::scripted(&scripted_by_messages(), first_tools()).await;
    let root = world.ask("tell so").await.id;
    world.ended(root).await;
    let (client, person) = (world.client(), world.engine().client(Owner::local()));
    let child = client.tree(root).await.unwrap()[1].id;
    let mut before = (client.last_event(root).await.unwrap(), now(&world, root).await);
    before.1[1].4.clear();
    person.forget(child).await.unwrap();
    let after = (client.last_event(root).await.unwrap(), now(&world, root).await);
    assert_eq!((before.1.len(), after.1.len()), (2, 1));
    for (at, expected) in [before, after] {
        assert_eq!(then(&client.tree_at(root, at).await.unwrap()), expected, "after event {at}");
    }
}
