//! Agents and records that are forgotten while their tree lives on.

use crate::kit::{WorldBuilderExt, WorldExt, first_tools, insist};
use entourage_engine::{Error, RecordFilter, kinds::parse};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{MemoryStore, Page};
use entourage_testkit::{Fault, World, plain};
use entourage_types::{Agent, EventBody, Owner, Parent, Status, TaskResult, Tombstone};
use serde_json::json;

/// The person's engine, which has the faults of the current process.
fn person(world: &World) -> entourage_engine::Client {
    world.engine().client(Owner::local())
}

/// An assistant has each message looked up by a researcher, who writes a note of it and answers.
fn model() -> ScriptedModel {
    ScriptedModel::deciding(|request: &Request| {
        let is_researcher = request.system.contains("You are the Researcher");
        Some(Ok(match (is_researcher, request.messages.last()) {
            (false, Some(Message::User(text))) => {
                Script::call("send_message", json!({"recipient": "researcher", "message": text}))
            }
            (false, Some(Message::Output { text, .. })) => Script::text(format!("Found: {text}")),
            (true, Some(Message::User(text))) => {
                Script::call("create_note", json!({"title": text, "content": "a note"}))
            }
            (true, _) => Script::text(format!("{} messages", request.messages.len())),
            _ => Script::text("unexpected"),
        }))
    })
}

fn builder() -> entourage_testkit::WorldBuilder {
    const RESEARCHER: &str = "---\nname: researcher\ntools: [create_note]\n---\nYou are the Researcher.";
    let kinds = entourage_engine::Kinds::builtin().with(parse("researcher.md", RESEARCHER).0.unwrap());
    let kinds = entourage_testkit::quiet(kinds);
    World::builder(model()).tools(first_tools()).kinds(kinds).store(MemoryStore::default())
}

async fn numbers(world: &World, root: &Agent) -> Vec<u64> {
    world.client().events(root.id, 0, 1_000).await.unwrap().iter().map(|event| event.seq).collect()
}

/// A researcher is forgotten with this fault at this commit; then the assistant is asked again. Returns how many
/// commits there were.
async fn forget_with(at: u64, fault: Fault) -> u64 {
    let world = builder().start_with(at, fault).await;
    let faults = world.faults().clone();
    let root = world.ask("K2").await;
    let ended = async |world: &World| Ok(world.ended(root.id).await);
    let (world, _) = insist(world, ended).await;
    let child = world.client().tree(root.id).await.unwrap().pop().unwrap();
    let (world, ()) = insist(world, async |world| person(world).forget(child.id).await).await;
    let (world, _) =
        insist(world, async |world| person(world).send(root.id, "K3", Some("again")).await).await;
    let (world, last) = insist(world, ended).await;
    assert_eq!(last.status, Status::Succeeded);

    let client = world.client();
    let lines = plain(&client.items(root.id, 0, 100).await.unwrap());
    // The second researcher knows nothing of the first one's work.
    let found: Vec<_> = lines.iter().filter(|line| line.starts_with("turn: Found")).collect();
    assert_eq!(found, ["turn: Found: 3 messages[]", "turn: Found: 3 messages[]"]);
    let tree = client.tree(root.id).await.unwrap();
    assert!(tree.len() == 2 && tree[1].id != child.id, "{tree:?}");
    assert!(matches!(client.agent(child.id).await, Err(Error::NotFound { .. })));
    let left: Vec<Tombstone> = client.records(RecordFilter::default()).await.unwrap();
    assert_eq!(left.iter().map(|left| &left.of).collect::<Vec<_>>(), [&Parent::from(child.id)]);
    let tasks = client.tasks(Some(root.id), None, Page::default()).await.unwrap();
    let results: Vec<_> = tasks.iter().map(|task| (task.to, task.result.clone())).collect();
    assert_eq!(results[0], (child.id, Some(TaskResult::Text("3 messages".into()))));
    let notes = client.notes(Some(root.id), Page::default()).await.unwrap();
    assert_eq!(notes.iter().map(|note| note.agent).collect::<Vec<_>>(), [root.id, tree[1].id]);
    let seqs = numbers(&world, &root).await;
    assert!(seqs.iter().copied().eq(1..=seqs.len() as u64), "{seqs:?}");
    assert_eq!(world.audit().await, []);
    assert!(world.inconsistencies().await.is_empty());
    faults.commits()
}

/// Shows: INV-05.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forgetting_a_child_in_a_living_tree_survives_a_crash_at_every_commit() {
    let commits = forget_with(u64::MAX, Fault::DieBefore).await;
    assert!(commits > 10, "{commits}");
    for at in 1..=commits {
        for fault in Fault::ENDING {
            println!("{fault:?} at commit {at}");
            forget_with(at, fault).await;
        }
    }
}

/// Who is at work, at the top of a tree, or another owner's is not forgotten; who was forgotten is once.
#[tokio::test]
async fn only_an_ended_agent_below_another_is_forgotten() {
    let world = World::scripted(
        &ScriptedModel::deciding(|request: &Request| {
            let asks = request.system.contains("Researcher");
            Some(Ok(match request.messages.last() {
                Some(Message::User(_)) if asks => Script::call("ask_user", json!({"question": "Which?"})),
                Some(Message::User(_)) => {
                    Script::call("send_message", json!({"recipient": "researcher", "message": "look"}))
                }
                _ => Script::text("Done."),
            }))
        }),
        first_tools(),
    )
    .await;
    let root = world.ask("Go.").await;
    let question = world.question(root.id).await;
    let (client, child) = (world.client(), question.agent);
    let refused = client.forget(child).await;
    assert!(matches!(refused, Err(Error::NotNow { agent, .. }) if agent == child), "{refused:?}");
    let stranger = world.engine().client(Owner::new("eve"));
    assert!(matches!(stranger.forget(child).await, Err(Error::NotFound { .. })));
    client.answer(question.id, entourage_types::Answer::Text("red".into())).await.unwrap();
    world.ended(root.id).await;
    let refused = client.forget(root.id).await;
    assert!(matches!(refused, Err(Error::NotNow { agent, .. }) if agent == root.id), "{refused:?}");
    let before = numbers(&world, &root).await.len();
    let said = async || {
        let events = client.events(root.id, 0, 1_000).await.unwrap();
        let of_child = events.into_iter().filter(|event| event.agent == child);
        serde_json::to_string(&of_child.collect::<Vec<_>>()).unwrap()
    };
    let texts = ["Which?", "\"red\"", "look", "Done."];
    let before_it = said().await;
    assert!(texts.iter().all(|text| before_it.contains(text)), "{before_it}");
    for _ in 0..2 {
        client.forget(child).await.unwrap();
    }
    let after_it = said().await;
    assert!(texts.iter().all(|text| !after_it.contains(text)), "{after_it}");
    let past = client.tree_at(root.id, before as u64).await.unwrap();
    let titles: Vec<_> =
        past.agents.iter().map(|agent| (agent.id == child, agent.title.is_empty())).collect();
    assert_eq!(titles, [(false, false), (true, true)]);
    assert!(matches!(stranger.forget(child).await, Err(Error::NotFound { .. })));
    let events = client.events(root.id, before as u64, 10).await.unwrap();
    assert!(
        matches!(&events[..], [event] if event.agent == child
            && matches!(&event.body, EventBody::Record { kind, status, .. } if kind == "tombstone" && status == "forgotten")),
        "{events:?}"
    );
    assert_eq!(world.audit().await, []);
}
