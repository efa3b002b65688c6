//! Threads that people open in a chat are siblings at its top; a chat is listed by its name, is
//! deleted as a whole, and a new chat may reuse its name.

use std::sync::{Arc, Mutex};

use crate::kit::{WorldBuilderExt, bare, eventually, first_tools};
use async_trait::async_trait;
use entourage_engine::{AcceptedMessage, ChatMessage, Error, Kinds};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{
    AgentQuery, Commit, Committed, Error as StoreError, Page, Result as StoreResult, Store, StoreLayer, Write,
};
use entourage_testkit::{Fault, Faults, World, WorldBuilder, plain};
use entourage_types::{Action, Agent, AgentId, Chat, Kind, Limits, Run, Scope, Status};
use serde_json::json;

fn speech(to: &str, text: &str) -> ChatMessage {
    ChatMessage { chat: "c".into(), to: to.into(), text: text.into(), ..ChatMessage::default() }
}

async fn say(world: &World, speech: ChatMessage) -> (AcceptedMessage, Run) {
    let spoken = world.client().speak(speech, None).await.unwrap();
    (spoken, wait_for_answer(world, &spoken).await)
}

/// Waits until the message has its answer.
async fn wait_for_answer(world: &World, spoken: &AcceptedMessage) -> Run {
    let client = world.client();
    let mut news = client.watch(spoken.root, None).await.unwrap();
    let ended = async {
        loop {
            if let Some(run) = client.run_of(spoken.agent, spoken.post).await.unwrap() {
                let run = client.run(run).await.unwrap();
                if run.status.is_terminal() {
                    return run;
                }
            }
            news.next().await.unwrap();
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), ended).await.expect("it is answered")
}

/// `ceo` delegates its messages to `dev`; both may send the user a message.
fn ceo_and_dev() -> WorldBuilder {
    let model = ScriptedModel::deciding(|request: &Request| {
        let is_ceo = request.system.contains("You are ceo.");
        Some(Ok(match request.messages.last() {
            Some(Message::User(text)) if is_ceo && text.starts_with("hand on") => {
                Script::call("send_message", json!({"recipient": "dev", "message": text}))
            }
            Some(Message::User(text)) if text == "tell me" => {
                Script::call("send_message", json!({"recipient": "user", "message": "told"}))
            }
            Some(Message::User(text)) if text == "ask me" => {
                Script::call("ask_user", json!({"question": "Which?"}))
            }
            _ => Script::text(format!("{} messages", request.messages.len())),
        }))
    });
    let kind = |name: &str, peers: &[&str]| Kind {
        instructions: format!("You are {name}."),
        tools: Some(vec!["send_message".into(), "ask_user".into()]),
        peers: peers.iter().map(ToString::to_string).collect(),
        conversational: true,
        limits: Limits { max_children: 1, ..Limits::default() },
        ..bare(name)
    };
    let kinds = Kinds::none().with(kind("ceo", &["dev"])).with(kind("dev", &[]));
    World::builder(model).tools(first_tools()).kinds(kinds)
}

async fn thread(world: &World, to: &str, from: Option<&str>) -> Agent {
    world.client().thread("c", to, from).await.unwrap().expect("there is such a thread")
}

async fn lines(world: &World, agent: AgentId) -> Vec<String> {
    plain(&world.client().items(agent, 0, 100).await.unwrap())
}

/// Each thread that a person opens has no parent, however many there are: it may send the user a
/// message, and uses none of the places for children. All share the tree of the chat.
#[tokio::test]
async fn threads_that_people_open_have_no_parent() {
    let world = ceo_and_dev().start().await;
    let (first, _) = say(&world, speech("ceo", "hello")).await;
    for name in ["Ann", "Bob", "Cid"] {
        say(&world, ChatMessage { from: Some(name.into()), ..speech("dev", "tell me") }).await;
        let thread = thread(&world, "dev", Some(name)).await;
        assert_eq!((thread.parent, thread.depth, thread.root), (None, 0, first.root));
        assert_eq!(lines(&world, thread.id).await[2..], ["output: delivered"], "it talks to the user");
    }
    // Three more threads, and there is still room for a child.
    let (_, run) = say(&world, speech("ceo", "hand on this")).await;
    assert_eq!(run.status, Status::Succeeded);
    let below = thread(&world, "dev", Some("ceo")).await;
    assert_eq!((below.parent, below.depth, below.root), (Some(first.agent), 1, first.root));

    let query = AgentQuery { roots: true, ..AgentQuery::default() };
    let tops = world.store().agents(&Scope::All, query).await.unwrap();
    assert_eq!(tops.len(), 4);
    assert_eq!(world.client().tree(below.id).await.unwrap().len(), 5);
    assert_eq!(world.audit().await, []);
}

/// A thread shows its own questions and those of its children, and none of its siblings.
#[tokio::test]
async fn a_thread_shows_no_question_of_another_thread() {
    let world = ceo_and_dev().start().await;
    let ceo = world.client().speak(speech("ceo", "ask me"), None).await.unwrap();
    let dev = world.client().speak(speech("dev", "ask me"), None).await.unwrap();
    let open = async || world.client().questions(Some(ceo.root), None, Page::default()).await.unwrap();
    eventually("both have asked", open, |open| open.len() == 2).await;
    for thread in [ceo.agent, dev.agent] {
        let own = world.client().questions_of(thread).await.unwrap();
        let shown = world.client().transcript(thread).await.unwrap();
        let shown: Vec<_> = shown.into_iter().filter_map(|entry| entry.question).collect();
        assert_eq!(shown, own.iter().map(|question| question.id).collect::<Vec<_>>());
        assert_eq!(shown.len(), 1);
    }
}

/// Deleting the thread that was opened first deletes its children, and none of its siblings.
#[tokio::test]
async fn deleting_the_first_thread_of_a_chat_keeps_its_siblings() {
    let world = ceo_and_dev().start().await;
    let (first, _) = say(&world, speech("ceo", "hand on this")).await;
    say(&world, speech("dev", "hello")).await;
    world.client().intervene(first.agent, Action::Delete, None).await.unwrap();
    assert!(world.client().thread("c", "ceo", None).await.unwrap().is_none());
    assert!(world.client().thread("c", "dev", Some("ceo")).await.unwrap().is_none());
    let (again, _) = say(&world, speech("dev", "still there?")).await;
    assert_eq!(lines(&world, again.agent).await.len(), 4, "it remembers");
    // A new agent replaces the first one, in the same chat.
    let (anew, _) = say(&world, speech("ceo", "hello")).await;
    assert_eq!(anew.root, first.root);
    assert_eq!(lines(&world, anew.agent).await, ["message: hello", "turn: 1 messages[]"]);
    assert_eq!(world.audit().await, []);
}

/// Chats are listed by name, a page at a time, for each owner separately; a deleted chat is not
/// listed.
#[tokio::test]
async fn chats_are_listed_by_name_until_they_are_deleted() {
    let world = ceo_and_dev().start().await;
    for chat in ["one", "two", "three"] {
        say(&world, ChatMessage { chat: chat.into(), ..speech("ceo", "hello") }).await;
        say(&world, ChatMessage { chat: chat.into(), ..speech("dev", "hello") }).await;
    }
    let names = async |page: Page| {
        let chats = world.client().chats(page).await.unwrap();
        chats.into_iter().map(|chat| chat.name).collect::<Vec<_>>()
    };
    let mut all = names(Page::default()).await;
    let first = world.client().chats(Page { limit: 1, ..Page::default() }).await.unwrap().remove(0);
    assert_eq!(first.name, all[0]);
    let rest = names(Page { after: Some(first.id), ..Page::default() }).await;
    assert_eq!(rest, all[1..]);
    world.client().delete_chat("two").await.unwrap();
    all.retain(|name| name != "two");
    assert_eq!(names(Page::default()).await, all);
    all.sort();
    assert_eq!(all, ["one", "three"]);
    let other = world.engine().client(entourage_types::Owner::new("eve"));
    assert_eq!(other.chats(Page::default()).await.unwrap(), []);
    assert!(matches!(other.delete_chat("one").await, Err(Error::NotFound { .. })));
    assert!(matches!(world.client().delete_chat("four").await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn an_unread_message_is_hidden_from_other_owners() {
    let world = ceo_and_dev().dispatchers([]).start().await;
    let sent = world.client().speak(speech("ceo", "hand on this"), None).await.unwrap();
    assert_eq!(world.client().last_message(sent.agent).await.unwrap(), Some(sent.post));
    let other = world.engine().client(entourage_types::Owner::new("eve"));
    assert!(matches!(other.last_message(sent.agent).await, Err(Error::NotFound { .. })));
}

/// A deleted chat's name begins a new chat without the old one's memory, any number of times.
/// Shows: S2-R084.
#[tokio::test]
async fn the_name_of_a_deleted_chat_starts_a_new_chat() {
    let world = ceo_and_dev().start().await;
    let mut roots = Vec::new();
    for _ in 0..3 {
        let (spoken, _) = say(&world, speech("ceo", "hand on this")).await;
        say(&world, speech("dev", "hello")).await;
        assert_eq!(lines(&world, spoken.agent).await[0], "message: hand on this");
        assert_eq!(world.client().tree(spoken.root).await.unwrap().len(), 3);
        world.client().delete_chat("c").await.unwrap();
        world.client().delete_chat("c").await.expect("it is deleted already");
        let tree = world.client().tree(spoken.root).await.unwrap();
        assert!(tree.iter().all(|agent| agent.status == Status::Cancelled), "{tree:?}");
        assert!(world.client().thread("c", "ceo", None).await.unwrap().is_none());
        roots.push(spoken.root);
    }
    roots.sort_unstable();
    roots.dedup();
    assert_eq!(roots.len(), 3, "each was a tree of its own");
    assert_eq!(world.audit().await, []);
}

/// A message sent under a key before its chat was deleted is the same message afterwards.
#[tokio::test]
async fn a_repeated_key_returns_its_message_after_the_chat_was_deleted() {
    let world = ceo_and_dev().start().await;
    let first = world.client().speak(speech("ceo", "hello"), Some("k")).await.unwrap();
    wait_for_answer(&world, &first).await;
    world.client().delete_chat("c").await.unwrap();
    let again = world.client().speak(speech("ceo", "hello"), Some("k")).await.unwrap();
    assert_eq!(again, AcceptedMessage { again: true, ..first });
    assert_eq!(world.client().chats(Page::default()).await.unwrap(), [], "nothing was said in a new one");
}

/// Waits until every agent of the tree is deleted.
async fn wait_until_all_deleted(world: &World, root: AgentId) {
    let client = world.client();
    let mut news = client.watch(root, None).await.unwrap();
    let deleted = async {
        while client.tree(root).await.unwrap().iter().any(|agent| agent.status != Status::Cancelled) {
            news.next().await.unwrap();
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), deleted).await.expect("they are deleted");
}

/// Once a chat is marked as deleted all its threads end by themselves, even if the program dies
/// right then; before that mark nothing of the deletion has happened.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_deletion_of_a_chat_survives_a_crash_at_every_commit() {
    let delete_with = async |at: u64, fault: Fault| {
        let world = ceo_and_dev().start_with(at, fault).await;
        let faults = world.faults().clone();
        let said = async {
            for speech in [speech("ceo", "hand on this"), speech("dev", "hello")] {
                let Ok(spoken) = world.client().speak(speech, None).await else { return false };
                wait_for_answer(&world, &spoken).await;
            }
            true
        };
        let begun = faults.unless_dead(said).await.unwrap_or_default();
        if begun {
            // If the program dies during the call, there is no answer.
            let _ = world.client().delete_chat("c").await;
        }
        let world = world.restart(Faults::default()).await;
        let client = world.client();
        let root = client.chat("c").await.unwrap();
        match client.chats(Page::default()).await.unwrap().as_slice() {
            [] if begun => wait_until_all_deleted(&world, root).await,
            [] => assert!(matches!(client.delete_chat("c").await, Err(Error::NotFound { .. }))),
            [_] => {
                client.delete_chat("c").await.unwrap();
                wait_until_all_deleted(&world, root).await;
            }
            more => panic!("{more:?}"),
        }
        let (anew, _) = say(&world, speech("ceo", "hello")).await;
        assert_eq!(lines(&world, anew.agent).await, ["message: hello", "turn: 1 messages[]"]);
        assert_eq!(world.audit().await, []);
        faults.commits()
    };
    let commits = delete_with(u64::MAX, Fault::DieBefore).await;
    for at in 1..=commits {
        for fault in [Fault::DieBefore, Fault::DieAfter] {
            delete_with(at, fault).await;
        }
    }
}

/// Commits a late thread just before its chat is marked as deleted, and dies right after that mark.
#[derive(Default)]
struct OpensLate(Mutex<Option<Commit>>);

#[async_trait]
impl StoreLayer for OpensLate {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> StoreResult<Committed> {
        let is_late = |write: &Write| matches!(write, Write::NewAgent(agent) if agent.title == "late");
        if commit.writes.iter().any(is_late) {
            *self.0.lock().unwrap() = Some(commit);
            return Ok(Committed::default());
        }
        let deletes = |write: &Write| write.as_record().is_some_and(|chat: Chat| chat.deleted);
        let deletes = commit.writes.iter().any(deletes);
        if !deletes {
            return store.commit(commit).await;
        }
        let late = self.0.lock().unwrap().take();
        if let Some(late) = late {
            store.commit(late).await?;
        }
        store.commit(commit).await?;
        Err(StoreError::Closed)
    }
}

#[tokio::test]
async fn a_thread_that_is_opened_while_its_chat_is_deleted_is_deleted_with_it() {
    let world = ceo_and_dev().between(OpensLate::default()).start().await;
    let (first, _) = say(&world, speech("ceo", "hello")).await;
    world.client().speak(speech("dev", "late"), None).await.unwrap();
    let died = world.client().delete_chat("c").await;
    assert!(matches!(died, Err(Error::Store(StoreError::Closed))), "{died:?}");
    wait_until_all_deleted(&world, first.root).await;
    assert_eq!(world.client().tree(first.root).await.unwrap().len(), 2);
}
