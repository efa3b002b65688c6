//! The tree that people hold in their hands: named agents, active ones, overrides and answers.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use entourage_engine::{
    ActiveTree, Client, Clock as _, EarlierMessage, Error, ExplorationInput, NewExploration, Overrides,
    Signal, Speaker,
};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{MemoryStore, StoreLayer};
use entourage_testkit::{Fault, World, plain};
use entourage_types::{
    Action, AgentState, Answer, EventBody, InterventionStatus, Owner, Status, WaitingOn, WorksFor,
};
use futures::future::{BoxFuture, join_all};
use serde_json::json;

use crate::kit::{WorldBuilderExt, eventually, first_tools, insist, one_kind};

/// An agent that asks the person about each message that begins with `Ask`, and repeats what it reads last.
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

async fn world() -> World {
    World::builder(asking()).tools(first_tools()).kinds(one_kind(|_| {})).start().await
}

/// An agent of the only kind that explores this, under this name.
fn named(name: &str, prompt: &str) -> NewExploration {
    let (name, kind) = (Some(name.to_owned()), Some("assistant".to_owned()));
    NewExploration { name, kind, ..NewExploration::of(prompt) }
}

fn below(parent: &str, name: &str) -> NewExploration {
    NewExploration { parent: Some(parent.to_owned()), ..named(name, "Ask.") }
}

fn comment(text: &str) -> Overrides {
    Overrides { comment: Some(text.to_owned()), ..Overrides::default() }
}

/// Waits until an agent waits for the person.
async fn asks(world: &World, name: &str) {
    let state = async || world.client().shown_agent(name).await.unwrap();
    eventually("it asks", state, |shown| {
        shown.state == AgentState::AwaitingUser && shown.agent.waiting_on == Some(WaitingOn::User)
    })
    .await;
}

fn names(tree: &ActiveTree) -> Vec<&str> {
    tree.agents.iter().map(|active| active.name.as_str()).collect()
}

/// A store in which other work is done between two calls.
#[derive(Clone, Default)]
struct Meanwhile(Arc<Mutex<Option<Due>>>);

/// Work, and before which call from now on it is done.
type Due = (u32, BoxFuture<'static, ()>);

impl Meanwhile {
    /// Does this before the nth call from now on.
    fn before(&self, nth: u32, work: impl Future<Output = ()> + Send + 'static) {
        *self.0.lock().unwrap() = Some((nth, Box::pin(work)));
    }

    fn is_done(&self) -> bool {
        self.0.lock().unwrap().is_none()
    }
}

#[async_trait]
impl StoreLayer for Meanwhile {
    async fn pass(&self) -> entourage_store::Result<()> {
        let due = self.0.lock().unwrap().take_if(|(left, _)| {
            *left -= 1;
            *left == 0
        });
        if let Some((_, work)) = due {
            work.await;
        }
        Ok(())
    }
}

/// Whenever an agent takes up its work: whoever asks meanwhile finds it active.
///
/// Shows: S3-R007.
#[tokio::test]
async fn a_name_is_not_free_while_its_agent_takes_up_its_work() {
    let mut moments = 0;
    loop {
        moments += 1;
        let meanwhile = Meanwhile::default();
        let world = World::builder(asking()).tools(first_tools()).kinds(one_kind(|_| {}));
        let world =
            world.store(MemoryStore::default()).between(meanwhile.clone()).dispatchers([]).start().await;
        let (engine, client) = (world.engine().clone(), world.engine().client(Owner::local()));
        let first = client.explore(named("scout", "Ask."), None).await.unwrap();
        meanwhile.before(moments, async move { engine.advance(first.id).await.unwrap() });
        let second = client.explore(named("scout", "Ask."), None).await;
        assert!(
            matches!(&second, Err(Error::NameTaken { agent, .. }) if *agent == first.id),
            "{moments}: {second:?}"
        );
        if !meanwhile.is_done() {
            break;
        }
        assert_eq!(client.agent(first.id).await.unwrap().status, Status::Waiting);
    }
    assert!(moments > 3, "{moments}");
}

/// Shows: S3-R002, S3-R007, S3-R078.
#[tokio::test]
async fn a_name_belongs_to_one_active_agent_and_is_free_again_when_that_has_ended() {
    let world = world().await;
    let client = world.client();
    let tries = join_all((0..16).map(|_| client.explore(named("scout", "Ask."), None))).await;
    let (made, refused): (Vec<_>, Vec<_>) = tries.into_iter().partition(Result::is_ok);
    assert_eq!((made.len(), refused.len()), (1, 15));
    assert!(refused.iter().all(|refused| matches!(refused, Err(Error::NameTaken { .. }))), "{refused:?}");
    let first = client.named_agent("scout").await.unwrap();
    asks(&world, "scout").await;
    let refused = client.explore(named("scout", "Go."), None).await;
    assert!(matches!(refused, Err(Error::NameTaken { agent, .. }) if agent == first.id), "{refused:?}");
    client.answer_agent("scout", None, Some("red")).await.unwrap();
    world.ended(first.id).await;
    assert_eq!(client.named_agent("scout").await.unwrap().id, first.id, "it stays readable");
    let second = client.explore(named("scout", "Ask again."), Some("once")).await.unwrap();
    assert_ne!(second.id, first.id);
    assert_eq!(client.explore(named("scout", "Ask again."), Some("once")).await.unwrap().id, second.id);
    assert_eq!(client.named_agent("scout").await.unwrap().id, second.id);
    // The older one begins again: it is known by its id.
    client.send(first.id, "Ask.", None).await.unwrap();
    let tree = client.active_tree(None).await.unwrap();
    assert_eq!(names(&tree), [first.id.to_string().as_str(), "scout"]);
    // Another owner has names of their own.
    let eve = world.engine().client(Owner::new("eve"));
    assert!(matches!(eve.named_agent("scout").await, Err(Error::NotFound { .. })));
    assert_ne!(eve.explore(named("scout", "Ask."), None).await.unwrap().id, second.id);
    let unnamed = NewExploration { name: None, ..named("", "Ask.") };
    let unnamed = client.explore(unnamed, None).await.unwrap();
    assert_eq!(client.shown_agent(&unnamed.id.to_string()).await.unwrap().name, unnamed.id.to_string());
    assert_eq!(world.audit().await, []);
}

/// Shows: S3-R079, S3-R100.
#[tokio::test]
async fn what_cannot_be_explored_is_refused_and_changes_nothing() {
    let world = world().await;
    let client = world.client();
    let known = client.explore(named("known", "Ask."), None).await.unwrap();
    let said = |role, content: &str| EarlierMessage { role, content: content.to_owned() };
    let of = |messages| NewExploration { input: ExplorationInput::Messages(messages), ..named("new", "") };
    let too_large = json!({"a": "x".repeat(70_000)}).as_object().unwrap().clone();
    for (new, why) in [
        (named("new", " \n"), "blank"),
        (of(vec![]), "neither a prompt nor a message"),
        (of(vec![said(Speaker::User, "Go."), said(Speaker::Assistant, "Gone.")]), "not the user's"),
        (of(vec![said(Speaker::Assistant, ""), said(Speaker::User, "Go.")]), "message 0 is blank"),
        (NewExploration { metadata: too_large, ..named("new", "Go.") }, "at most 65536"),
        (named("", "Go."), "0 bytes"),
        (named(&"n".repeat(201), "Go."), "201 bytes"),
        (named("a/b", "Go."), "`/`"),
        (named("a b", "Go."), "blank"),
        (named("tree", "Go."), "stands for something else"),
        (named("stream", "Go."), "stands for something else"),
        (named("stream-token", "Go."), "stands for something else"),
        (named("ws", "Go."), "stands for something else"),
        (named(&known.id.to_string(), "Go."), "as its own id"),
        (NewExploration { kind: Some("oracle".into()), ..named("new", "Go.") }, "no kind `oracle`"),
    ] {
        let refused = client.explore(new.clone(), None).await.unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}: {new:?}");
    }
    assert_eq!(names(&client.active_tree(None).await.unwrap()), ["known"]);
}

/// Shows: S3-R003, S3-R008.
#[tokio::test]
async fn an_agent_is_put_below_an_active_one_works_for_the_person_and_ends_with_its_parent() {
    let world = world().await;
    let client = world.client();
    let top = client.explore(named("top", "Ask."), None).await.unwrap();
    let child = client.explore(below("top", "child"), None).await.unwrap();
    assert_eq!((child.parent, child.works_for), (Some(top.id), WorksFor::Person));
    asks(&world, "top").await;
    asks(&world, "child").await;
    let tree = client.active_tree(None).await.unwrap();
    assert_eq!(tree.agents[0].subagents, ["child"]);
    assert_eq!((tree.agents[0].parent.as_deref(), tree.agents[1].parent.as_deref()), (None, Some("top")));
    let unknown = client.explore(below("nobody", "x"), None).await;
    assert!(matches!(unknown, Err(Error::NotFound { .. })), "{unknown:?}");
    let eve = world.engine().client(Owner::new("eve"));
    assert!(matches!(eve.explore(below("top", "x"), None).await, Err(Error::NotFound { .. })));
    client.answer_agent("child", None, Some("red")).await.unwrap();
    world.ended(child.id).await;
    let resting = client.explore(below("child", "x"), None).await;
    assert!(matches!(resting, Err(Error::NotNow { agent, .. }) if agent == child.id), "{resting:?}");
    let second = client.explore(below("top", "second"), None).await.unwrap();
    assert!(client.user_intervention("top", &comment("delete")).await.unwrap());
    assert_eq!(client.agent(second.id).await.unwrap().status, Status::Cancelled, "deleted with its parent");
    assert!(client.active_tree(None).await.unwrap().agents.is_empty());
    assert_eq!(client.shown_agent("top").await.unwrap().subagents, ["child", "second"]);
    assert_eq!(world.audit().await, []);
}

/// Shows: S3-R009, S3-R011, S3-R013, S3-R014, S3-R015, S3-R020, S3-R021.
#[tokio::test]
async fn comment_content_and_state_are_set_together_or_any_of_them() {
    let world = world().await;
    let client = world.client();
    let agent = client.explore(named("scout", "Ask."), None).await.unwrap();
    asks(&world, "scout").await;
    let shown = async || client.shown_agent("scout").await.unwrap();
    let before = shown().await;
    assert_eq!((before.content.as_str(), before.comment.as_str()), ("Ask.", "unchanged"));
    let set = |overrides: Overrides| {
        let client = client.clone();
        async move { client.user_intervention("scout", &overrides).await.unwrap() }
    };
    assert!(set(Overrides::default()).await);
    assert_eq!(shown().await, before, "what is left out stays");
    assert!(set(comment("look at this")).await);
    assert!(set(Overrides { content: Some("Later.".into()), ..Overrides::default() }).await);
    assert!(set(Overrides { state: Some(AgentState::Completed), ..Overrides::default() }).await);
    let noted = shown().await;
    assert_eq!((noted.content.as_str(), noted.comment.as_str()), ("Later.", "look at this"));
    assert_eq!(noted.state, AgentState::Completed, "what is shown");
    assert_eq!(noted.agent, before.agent, "it works on undisturbed");
    // All three at once: it drops its question, and works on what is new.
    let all = Overrides {
        comment: Some("modify".into()),
        content: Some("Begin anew.".into()),
        state: Some(AgentState::Modified),
    };
    assert!(set(all).await);
    assert_eq!(world.ended(agent.id).await.status, Status::Succeeded);
    let after = shown().await;
    assert_eq!((after.content.as_str(), after.comment.as_str()), ("Begin anew.", "unchanged"));
    assert_eq!(after.state, AgentState::Completed, "its own state has changed since");
    let lines = plain(&client.items(agent.id, 0, 50).await.unwrap());
    assert_eq!(lines.last().unwrap(), "turn: <Begin anew.>[]");
    let interventions = client.interventions(agent.id, entourage_store::Page::default()).await.unwrap();
    assert_eq!(interventions.len(), 2, "the note and the instruction: {interventions:?}");
    assert!(interventions.iter().all(|done| done.status == InterventionStatus::Applied));
    assert!("asleep".parse::<AgentState>().is_err(), "one of six words");
    assert_eq!(world.audit().await, []);
}

/// Shows: S3-R010, S3-R016.
#[tokio::test]
async fn an_agent_that_is_unknown_or_has_finished_is_left_as_it_is() {
    let world = world().await;
    let client = world.client();
    let modify = Overrides { content: Some("More.".into()), ..comment("modify") };
    assert!(!client.user_intervention("nobody", &modify).await.unwrap());
    let agent = client.explore(named("scout", "Go."), None).await.unwrap();
    world.ended(agent.id).await;
    let (before, items) =
        (client.shown_agent("scout").await.unwrap(), client.items(agent.id, 0, 9).await.unwrap());
    for overrides in [&modify, &comment("a note"), &comment("delete")] {
        assert!(!client.user_intervention("scout", overrides).await.unwrap(), "{overrides:?}");
    }
    assert_eq!(client.shown_agent("scout").await.unwrap(), before);
    assert_eq!(client.items(agent.id, 0, 9).await.unwrap(), items);
    let eve = world.engine().client(Owner::new("eve"));
    client.explore(named("other", "Ask."), None).await.unwrap();
    assert!(!eve.user_intervention("other", &comment("delete")).await.unwrap());
    let blank = client.user_intervention("other", &comment(" ")).await;
    assert!(matches!(blank, Err(Error::Invalid(_))), "{blank:?}");
    let deleted = Overrides { state: Some(AgentState::Deleted), ..Overrides::default() };
    assert!(client.user_intervention("other", &deleted).await.unwrap());
    let gone = client.shown_agent("other").await.unwrap();
    assert_eq!((gone.state, gone.comment.as_str()), (AgentState::Deleted, "delete"));
    assert!(!client.user_intervention("other", &deleted).await.unwrap());
}

/// Shows: S3-R001, S3-R004, S3-R024, S3-R025, S3-R081, S3-R083, S3-R084.
#[tokio::test]
async fn the_tree_has_the_active_agents_and_goes_on_from_its_last_event_without_a_gap() {
    let world = world().await;
    let client = world.client();
    assert_eq!(client.active_tree(None).await.unwrap(), ActiveTree::default());
    let mut made = BTreeMap::new();
    for (name, prompt) in [("one", "Ask."), ("two", "Ask."), ("three", "Go.")] {
        made.insert(name, client.explore(named(name, prompt), None).await.unwrap());
    }
    world.ended(made["three"].id).await;
    asks(&world, "one").await;
    asks(&world, "two").await;
    let mut tree = client.active_tree(None).await.unwrap();
    assert_eq!(names(&tree), ["one", "two"]);
    assert!(tree.agents.iter().all(|active| active.state == AgentState::AwaitingUser));
    let only = client.active_tree(Some(made["two"].id)).await.unwrap();
    assert_eq!(names(&only), ["two"]);
    // What is handed out is a copy.
    tree.agents[0].content = "changed".into();
    assert_eq!(client.active_tree(None).await.unwrap().agents[0].content, "Ask.");
    let [one, _] = &client.active_nodes(tree.agents.clone()).await.unwrap()[..] else { panic!("two nodes") };
    assert_eq!(one.question.as_ref().unwrap().text, "Which?");
    assert_eq!((one.subtree.open_questions, one.used.calls, one.retry_due), (1, 1, None));
    client.answer_agent("one", None, Some("red")).await.unwrap();
    world.ended(made["one"].id).await;
    let mut watch = client.watch(made["one"].root, Some(tree.last_events[&made["one"].root])).await.unwrap();
    let mut states = Vec::new();
    while let Signal::Event(event) = watch.next().await.unwrap() {
        if let EventBody::AgentStatus { status, .. } = event.body {
            states.push(status);
        }
    }
    assert_eq!(states, [Status::Running, Status::Succeeded]);
    assert_eq!(names(&client.active_tree(None).await.unwrap()), ["two"]);
}

/// What a person sets by any other way than overrides is shown alike: both are the same thing.
///
/// Shows: S3-R010, S3-R012, S3-R082.
#[tokio::test]
async fn an_intervention_shows_as_the_overrides_that_it_is() {
    let world = world().await;
    let client = world.engine().client(Owner::local());
    let shown = async || {
        let shown = client.shown_agent("scout").await.unwrap();
        (shown.content, shown.comment)
    };
    let agent = client.explore(named("scout", "Ask."), None).await.unwrap();
    asks(&world, "scout").await;
    client.intervene(agent.id, Action::Comment, Some("Fine.")).await.unwrap();
    assert_eq!(shown().await, ("Ask.".to_owned(), "Fine.".to_owned()));
    client.intervene(agent.id, Action::Modify, Some("Ask again.")).await.unwrap();
    assert_eq!(shown().await, ("Ask again.".to_owned(), "unchanged".to_owned()));
    // Two at the same moment are both kept.
    let [one, two] = [1, 2].map(|number| format!("Remark {number}."));
    let both = [&one, &two].map(|text| client.intervene(agent.id, Action::Comment, Some(text)));
    assert!(join_all(both).await.iter().all(Result::is_ok));
    assert!([one, two].contains(&shown().await.1));
    client.intervene(agent.id, Action::Delete, None).await.unwrap();
    assert_eq!(shown().await, ("Ask again.".to_owned(), "delete".to_owned()));
    assert_eq!(world.audit().await, []);
}

/// Of an owner's many stream tokens, those of ended agents make room for new ones.
#[tokio::test]
async fn tokens_of_ended_agents_make_room() {
    let world = world().await;
    let client = world.client();
    for _ in 0..200 {
        let (token, _) = client.stream_token(None, None).await.unwrap();
        let token = world.engine().stream_token(&token).await.unwrap().unwrap();
        let agent =
            client.explore_by(token, NewExploration { name: None, ..named("", "Go.") }).await.unwrap();
        world.ended(agent.id).await;
    }
    for _ in 0..3 {
        client.stream_token(None, None).await.unwrap();
    }
}

/// Shows: S3-R077, S3-R085, S3-R095.
#[tokio::test]
async fn an_agent_goes_on_with_a_history_and_keeps_its_callers_metadata() {
    let model = asking();
    let builder = World::builder(model.clone()).tools(first_tools()).kinds(one_kind(|_| {}));
    let world = builder.start().await;
    let client = world.client();
    let said = |role, content: &str| EarlierMessage { role, content: content.to_owned() };
    let messages = vec![
        said(Speaker::User, "Hello."),
        said(Speaker::Assistant, "Hello, too."),
        said(Speaker::User, "Ask."),
    ];
    let metadata = json!({"team": "blue", "tags": [1, 2]}).as_object().unwrap().clone();
    let new = NewExploration {
        input: ExplorationInput::Messages(messages),
        metadata: metadata.clone(),
        ..named("scout", "")
    };
    let agent = client.explore(new, None).await.unwrap();
    asks(&world, "scout").await;
    assert_eq!(client.shown_agent("scout").await.unwrap().metadata, metadata);
    let declined = client.answer_agent("scout", None, None).await.unwrap();
    assert_eq!(declined.answer, Some(Answer::Declined));
    let closed = client.answer_agent("scout", Some(declined.id), Some("late")).await;
    assert!(matches!(closed, Err(Error::NotNow { .. })), "{closed:?}");
    world.ended(agent.id).await;
    let lines = plain(&client.items(agent.id, 0, 50).await.unwrap());
    assert_eq!(lines[..3], ["message: Hello.", "turn: Hello, too.[]", "message: Ask."]);
    assert_eq!(model.requests()[0].messages.len(), 3);
    assert_eq!(world.audit().await, []);
}

/// A name leads to one agent, and an agent is known by a name only while it leads to it.
#[tokio::test]
async fn an_agent_whose_name_another_has_taken_is_known_by_its_id() {
    let world = world().await;
    let client = world.client();
    let older = client.explore(named("scout", "Go."), None).await.unwrap();
    world.ended(older.id).await;
    let newer = client.explore(named("scout", "Go."), None).await.unwrap();
    world.ended(newer.id).await;
    client.send(older.id, "Ask.", None).await.unwrap();
    asks(&world, &older.id.to_string()).await;
    let id = older.id.to_string();
    assert_eq!(names(&client.active_tree(None).await.unwrap()), [id.as_str()]);
    assert_eq!(client.shown_agent(&id).await.unwrap().name, id);
    assert_eq!(client.named_agent("scout").await.unwrap().id, newer.id);
    let child = client.explore(below(&id, "child"), None).await.unwrap();
    assert_eq!(client.shown_agent("child").await.unwrap().parent, Some(id.clone()));
    client.answer_agent(&id, None, Some("red")).await.unwrap();
    world.ended(older.id).await;
    let tree = client.active_tree(None).await.unwrap();
    assert_eq!(
        (names(&tree), &tree.agents[0].parent),
        (vec!["child"], &Some(id)),
        "also once its parent has ended"
    );
    assert_eq!(child.parent, Some(older.id));
}

/// Shows: S3-R096.
#[tokio::test]
async fn a_stream_token_starts_an_agent_within_a_minute_and_follows_no_other() {
    let world = world().await;
    let client = world.client();
    let known = async |token: &str| world.engine().stream_token(token).await.unwrap().unwrap();
    let (late, made) = client.stream_token(None, None).await.unwrap();
    world.clock().advance(std::time::Duration::from_secs(61));
    let refused = client.explore_by(known(&late).await, named("scout", "Ask.")).await;
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("too late")), "{refused:?}");
    assert!(made.starts_until < world.clock().now());
    let (token, _) = client.stream_token(None, None).await.unwrap();
    assert!(world.engine().stream_token(&late).await.unwrap().is_none(), "the late one is removed");
    let agent = client.explore_by(known(&token).await, named("scout", "Ask.")).await.unwrap();
    world.clock().advance(std::time::Duration::from_secs(3_600));
    assert_eq!(client.explore_by(known(&token).await, named("scout", "Go.")).await.unwrap().id, agent.id);
    client.explore(named("other", "Ask."), None).await.unwrap();
    for name in ["other", "nobody"] {
        let refused = client.explore_by(known(&token).await, named(name, "Ask.")).await;
        assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains(name)), "{refused:?}");
    }
    let until = world.clock().now() + std::time::Duration::from_secs(5);
    let (expiring, _) = client.stream_token(Some("scout"), Some(until)).await.unwrap();
    assert_eq!(known(&expiring).await.record.agent, Some(agent.id), "it is active");
    world.clock().advance(std::time::Duration::from_secs(5));
    assert!(world.engine().stream_token(&expiring).await.unwrap().is_none());
    for _ in 0..199 {
        client.stream_token(None, None).await.unwrap();
    }
    let full = client.stream_token(None, None).await;
    assert!(matches!(full, Err(Error::TooMany(_))), "{full:?}");
    world.clock().advance(std::time::Duration::from_secs(61));
    client.stream_token(None, None).await.unwrap();
    assert!(world.engine().stream_token(&token).await.unwrap().is_some(), "its agent is active");
}

/// An agent that asks is modified and answered, with this fault at this commit; returns how many commits there were.
async fn modified_with(at: u64, fault: Fault) -> u64 {
    let builder = World::builder(asking()).tools(first_tools()).kinds(one_kind(|_| {}));
    let world = builder.store(MemoryStore::default()).start_with(at, fault).await;
    let faults = world.faults().clone();
    let person = |world: &World| -> Client { world.engine().client(Owner::local()) };
    let start = async |world: &World| person(world).explore(named("scout", "Ask."), Some("start")).await;
    let (world, agent) = insist(world, start).await;
    let (world, _) = insist(world, async |world| Ok(world.question(agent.id).await)).await;
    let modify = Overrides { content: Some("Begin anew.".into()), ..comment("modify") };
    let modify = async |world: &World| person(world).user_intervention("scout", &modify).await;
    let (world, _) = insist(world, modify).await;
    let (world, ended) = insist(world, async |world| Ok(world.ended(agent.id).await)).await;
    assert_eq!(ended.status, Status::Succeeded);
    let shown = world.client().shown_agent("scout").await.unwrap();
    assert_eq!((shown.content.as_str(), shown.comment.as_str()), ("Begin anew.", "unchanged"));
    let lines = plain(&world.client().items(agent.id, 0, 50).await.unwrap());
    assert_eq!(lines.last().unwrap(), "turn: <Begin anew.>[]");
    assert_eq!(world.audit().await, []);
    faults.commits()
}

/// Shows: INV-03.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_sets_is_set_whole_or_not_at_all_whatever_commit_the_process_dies_at() {
    let commits = modified_with(u64::MAX, Fault::DieBefore).await;
    assert!(commits >= 5, "{commits}");
    for at in 1..=commits {
        for fault in Fault::ENDING {
            println!("{fault:?} at commit {at}");
            modified_with(at, fault).await;
        }
    }
}
