//! Agents that a person puts below another agent: they work for the person, and belong to the tree.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;

use crate::kit::{WorldBuilderExt, WorldExt, first_tools, insist, one_kind};
use entourage_engine::{Client, Error, Kinds, NewAgent};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{
    Commit, Committed, Error as StoreError, Expect, MemoryStore, Page, Store, StoreLayer, Write,
};
use entourage_testkit::{Fault, World, plain};
use entourage_types::{Action, Agent, AgentId, Answer, Kind, Limits, Owner, Reply, Status, Time, WorksFor};
use serde_json::json;

fn person(world: &World) -> Client {
    world.engine().client(Owner::local())
}

fn below(parent: AgentId, text: &str) -> NewAgent {
    NewAgent { message: Some(text.into()), parent: Some(parent), ..NewAgent::default() }
}

/// An agent that asks the person about each message, and answers with the reply.
fn asking() -> ScriptedModel {
    ScriptedModel::deciding(|request: &Request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(text)) if text.starts_with("Ask") => {
                Script::call("ask_user", json!({"question": "Which?"}))
            }
            Some(Message::User(text) | Message::Output { text, .. }) => Script::text(format!("<{text}>")),
            _ => Script::text("unexpected"),
        }))
    })
}

/// Its counterpart is the person: it is given what it sends with `send_message`, its end is reported to no agent, and the
/// agent above reads nothing of it. It is in the tree, with the depth and the events of a child.
#[tokio::test]
async fn an_agent_that_a_person_puts_below_another_works_for_the_person() {
    let model = ScriptedModel::deciding(|request: &Request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(text)) if text == "Tell me." => {
                Script::call("send_message", json!({"recipient": "user", "message": "This."}))
            }
            _ => Script::text("Done."),
        }))
    });
    let kinds = one_kind(|kind| (kind.reply, kind.conversational) = (Reply::SendMessage, true));
    let world = World::builder(model.clone()).tools(first_tools()).kinds(kinds).start().await;
    let root = world.ask("Tell me.").await;
    let root = world.ended(root.id).await;
    let child = world.client().create(below(root.id, "Tell me."), None).await.unwrap();
    assert_eq!((child.parent, child.root, child.depth), (Some(root.id), root.id, 1));
    assert_eq!(child.works_for, WorksFor::Person);
    let child = world.ended(child.id).await;
    assert_eq!(child.status, Status::Succeeded);
    let shown = world.client().transcript(child.id).await.unwrap();
    assert_eq!(shown.iter().map(|entry| entry.text.as_str()).collect::<Vec<_>>(), ["Tell me.", "This."]);
    assert_eq!(world.client().agent(root.id).await.unwrap(), root, "the agent above is untouched");
    assert!(world.client().tasks(Some(root.id), None, Page::default()).await.unwrap().is_empty());
    world.client().intervene(child.id, Action::CloseSession, None).await.unwrap();
    let created = world.until(root.id, |event| event.agent == child.id).await;
    assert_eq!(created.last().unwrap().root, root.id);
    assert_eq!(world.audit().await, []);
}

/// The agent above sets the limits; one that was deleted, or is another owner's, takes none below it.
#[tokio::test]
async fn an_agent_below_another_is_bounded_by_the_limits_of_the_one_above() {
    let limits = Limits { max_children: 2, max_tree: 4, max_depth: 2, ..Limits::default() };
    let kinds = one_kind(|kind| kind.limits = limits);
    let world = World::builder(asking()).tools(first_tools()).kinds(kinds).start().await;
    let root = world.ask("Hello.").await;
    world.ended(root.id).await;
    let client = world.client();
    let put = async |parent| client.create(below(parent, "Ask."), None).await;
    let [first, second] = [put(root.id).await.unwrap(), put(root.id).await.unwrap()];
    let is_full = |refused: &Result<Agent, Error>| matches!(refused, Err(Error::NotNow { .. }));
    let refused = put(root.id).await;
    assert!(is_full(&refused), "two children live: {refused:?}");
    for asks in [&first, &second] {
        let question = world.question(root.id).await;
        assert!([first.id, second.id].contains(&question.agent), "{asks:?}");
        client.answer(question.id, Answer::Text("red".into())).await.unwrap();
        world.ended(question.agent).await;
    }
    let third = put(root.id).await.expect("the first two have ended");
    let under = put(third.id).await.unwrap();
    assert_eq!(under.depth, 2);
    let refused = put(under.id).await;
    assert!(is_full(&refused), "it is deep enough: {refused:?}");
    let stranger = world.engine().client(Owner::new("eve"));
    assert!(matches!(stranger.create(below(root.id, "Hi."), None).await, Err(Error::NotFound { .. })));
    client.intervene(third.id, Action::Delete, None).await.unwrap();
    assert!(matches!(put(third.id).await, Err(Error::Gone(gone)) if gone == third.id));
    assert_eq!(client.agent(under.id).await.unwrap().status, Status::Cancelled, "deleted with its parent");
    assert_eq!(world.audit().await, []);
}

/// An agent is put below another, asks the person, is answered, and is deleted with the one above, with this fault at
/// this commit. Returns how many commits there were.
async fn put_below_with(at: u64, fault: Fault) -> u64 {
    let builder = World::builder(asking()).tools(first_tools()).kinds(one_kind(|_| {}));
    let world = builder.store(MemoryStore::default()).start_with(at, fault).await;
    let faults = world.faults().clone();
    let root = world.ask("Hello.").await;
    let (world, _) = insist(world, async |world| Ok(world.ended(root.id).await)).await;
    let put = async |world: &World| person(world).create(below(root.id, "Ask."), Some("put")).await;
    let (world, child) = insist(world, put).await;
    let (world, question) = insist(world, async |world| Ok(world.question(root.id).await)).await;
    assert_eq!(question.agent, child.id);
    let answer =
        async |world: &World| match person(world).answer(question.id, Answer::Text("red".into())).await {
            Err(Error::NotOpen { .. }) => Ok(()),
            done => done.map(drop),
        };
    let (world, ()) = insist(world, answer).await;
    let (world, ended) = insist(world, async |world| Ok(world.ended(child.id).await)).await;
    assert_eq!(ended.status, Status::Succeeded);
    let lines = plain(&world.client().items(child.id, 0, 10).await.unwrap());
    assert_eq!(lines.last().unwrap(), "turn: <red>[]");
    let above = plain(&world.client().items(root.id, 0, 10).await.unwrap());
    assert_eq!(above, ["message: Hello.", "turn: <Hello.>[]"]);
    let delete = async |world: &World| match person(world).intervene(root.id, Action::Delete, None).await {
        Err(Error::Gone(_)) => Ok(()),
        done => done.map(drop),
    };
    let (world, ()) = insist(world, delete).await;
    let (world, _) = insist(world, async |world| Ok(world.ended(root.id).await)).await;
    let tree = world.client().tree(root.id).await.unwrap();
    assert_eq!(tree.len(), 2);
    assert!(tree.iter().all(|agent| agent.status == Status::Cancelled), "{tree:?}");
    assert_eq!(world.audit().await, []);
    assert!(world.inconsistencies().await.is_empty());
    faults.commits()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_put_below_another_survives_a_crash_at_every_commit() {
    let commits = put_below_with(u64::MAX, Fault::DieBefore).await;
    assert!(commits > 8, "{commits}");
    for at in 1..=commits {
        for fault in Fault::ENDING {
            println!("{fault:?} at commit {at}");
            put_below_with(at, fault).await;
        }
    }
}

/// Puts an agent below another while that is deleted: after its children were read, and before it is marked.
#[derive(Clone)]
struct PutsBelow {
    late: Arc<Mutex<Option<Agent>>>,
    /// The process ends once this agent is marked: its caller learns no more.
    ends_after: Option<AgentId>,
}

#[async_trait]
impl StoreLayer for PutsBelow {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> entourage_store::Result<Committed> {
        let marked = commit.writes.iter().find_map(|write| match write {
            Write::Agent(row) if row.status == Status::Cancelled => Some(row.id),
            _ => None,
        });
        let late = if marked.is_some() { self.late.lock().unwrap().take() } else { None };
        if let Some(child) = late {
            let above = child.parent.unwrap();
            let put = Commit::new(commit.at).expect(Expect::NotDeleted(above)).write(Write::NewAgent(child));
            store.commit(put).await.unwrap();
        }
        let committed = store.commit(commit).await?;
        if marked.is_some() && marked == self.ends_after { Err(StoreError::Closed) } else { Ok(committed) }
    }
}

/// Deletes a root while an agent is put below it, in a process that may end once the root is marked. All are deleted.
async fn delete_while_one_is_put_below(ends: bool) {
    let root = Agent::root(Owner::local(), "assistant", "above", Time::from_micros(0));
    let child = Agent { works_for: WorksFor::Person, ..root.child("assistant", "late", None, root.updated) };
    let late = Arc::new(Mutex::new(Some(child)));
    let layer = PutsBelow { late: Arc::clone(&late), ends_after: ends.then_some(root.id) };
    let store = MemoryStore::default();
    store.commit(Commit::new(root.created).write(Write::NewAgent(root.clone()))).await.unwrap();
    // Nothing works beside: an activation that claims the agent would have it deleted twice.
    let builder = World::builder(asking()).tools(first_tools()).kinds(one_kind(|_| {}));
    let world = builder.store(store).between(layer).dispatchers([]).start().await;
    let deleted = person(&world).intervene(root.id, Action::Delete, None).await;
    assert_eq!(deleted.is_err(), ends, "{deleted:?}");
    assert!(late.lock().unwrap().is_none(), "it was put there");
    let tree = world.client().tree(root.id).await.unwrap();
    assert_eq!(tree.iter().map(|agent| agent.status).collect::<Vec<_>>(), [Status::Cancelled; 2]);
    assert_eq!(world.audit().await, []);
}

/// Shows: INV-05.
#[tokio::test]
async fn an_agent_put_below_one_that_is_being_deleted_is_deleted_too() {
    delete_while_one_is_put_below(false).await;
}

/// A process that ends then looks no second time.
///
/// Shows: INV-05.
#[tokio::test]
async fn no_crash_leaves_an_agent_below_one_that_is_deleted() {
    delete_while_one_is_put_below(true).await;
}

/// A helper that has ended leaves its place to the next one, also under a limit of one; a person's agent takes one.
#[tokio::test]
async fn helpers_that_have_ended_leave_their_places() {
    let names = ["one", "two", "three"];
    let model = ScriptedModel::deciding(move |request: &Request| {
        let asked =
            request.messages.iter().filter(|message| matches!(message, Message::Output { .. })).count();
        Some(Ok(match request.system.starts_with("above: ") {
            true if asked < names.len() => {
                Script::call("send_message", json!({"recipient": names[asked], "message": "hello"}))
            }
            true => Script::text("All were asked."),
            false => Script::text("here"),
        }))
    });
    let kind = |name: &str, peers: &[&str]| Kind {
        instructions: format!("{name}: answers."),
        peers: peers.iter().map(ToString::to_string).collect(),
        limits: Limits { max_children: 1, ..Limits::default() },
        ..Kind::bare(name)
    };
    let kinds = names
        .iter()
        .fold(Kinds::none().with(kind("above", &names)), |kinds, name| kinds.with(kind(name, &[])));
    let world = World::builder(model).tools(first_tools()).kinds(kinds).start().await;
    let root = world.ask_kind(Some("above"), "Ask them.").await;
    world.ended(root.id).await;
    let outputs = plain(&world.client().items(root.id, 0, 20).await.unwrap());
    assert_eq!(outputs.iter().filter(|line| *line == "output: here").count(), 3, "{outputs:?}");
    assert_eq!(world.client().tree(root.id).await.unwrap().len(), 4);
    assert_eq!(world.audit().await, []);
}
