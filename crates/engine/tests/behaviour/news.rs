//! News of all that an owner has: which hints come, also when some were lost or another node has them.

use std::{sync::Arc, time::Duration};

use entourage_engine::{
    Client, Engine, Kinds, NewAgent, NewProject, News, NewsFeed, NodeSignal, ServerNews, TreeNews,
};
use entourage_llm::{Script, ScriptedModel};
use entourage_store::{Commit, MemoryStore, Store, Write};
use entourage_testkit::FakeClock;
use entourage_types::{Agent, AgentId, Owner, Time};
use futures::FutureExt as _;
use serde_json::json;

use crate::kit::{FakeClockExt, bare, first_tools, one_kind, within};

/// For how long hints are gathered.
const MOMENT: Duration = Duration::from_millis(250);
/// So many pieces of news wait for a follower.
const BACKLOG: u64 = 64;
/// So many hints of the store wait for an engine.
const HINTS: usize = 1024;

/// An engine on a store handle of its own.
fn node(rows: &MemoryStore, clock: &FakeClock, model: ScriptedModel) -> Engine {
    let store: Arc<dyn Store> = Arc::new(rows.handle());
    let builder = Engine::builder(store, Arc::new(model)).kinds(one_kind(|_| {})).tools(first_tools());
    builder.clock(Arc::new(clock.clone())).build()
}

/// One engine, and its clock.
fn alone() -> (Engine, FakeClock) {
    let clock = FakeClock::default();
    (node(&MemoryStore::default(), &clock, ScriptedModel::new([])), clock)
}

async fn create(client: &Client) -> AgentId {
    client.create(NewAgent::default(), None).await.unwrap().id
}

/// Lets a moment pass once hints are there, and returns the news that come of them.
async fn next(feed: &mut NewsFeed, clock: &FakeClock) -> Arc<News> {
    assert!(clock.advance_to_sleeper(MOMENT).await <= MOMENT);
    heard(feed).await
}

/// The news that are there.
async fn heard(feed: &mut NewsFeed) -> Arc<News> {
    within("news", feed.next()).await.expect("the engine goes on")
}

/// The roots of the trees that news name; none if they say to read everything again.
fn roots(news: &News) -> Option<Vec<AgentId>> {
    Some(news.trees.as_ref()?.iter().map(|tree| tree.root).collect())
}

/// What another node has committed, this one does not see: whose it is and where stands in the store.
#[tokio::test]
async fn a_signal_of_another_node_says_to_read_everything_again() {
    let (rows, clock) = (MemoryStore::default(), FakeClock::default());
    let here = node(&rows, &clock, ScriptedModel::new([]));
    let there = node(&rows, &clock, ScriptedModel::new([])).client(Owner::local());
    let mut feed = here.client(Owner::local()).news().await.unwrap();
    let mut others = here.client(Owner::new("else")).news().await.unwrap();
    let root = create(&there).await;
    for signal in [NodeSignal::Tree(root), NodeSignal::Behind] {
        here.on_signal(signal);
        assert_eq!(roots(&*next(&mut feed, &clock).await), None);
        assert_eq!(roots(&*heard(&mut others).await), None, "it may be anybody's");
    }
    // Its own hints are exact again.
    let own = create(&here.client(Owner::local())).await;
    assert_eq!(roots(&*next(&mut feed, &clock).await), Some(vec![own]));
    assert!(others.next().now_or_never().is_none(), "that was nobody else's");
}

/// The number of open questions comes with the news, wherever they were asked.
#[tokio::test]
async fn a_signal_of_another_node_counts_its_questions() {
    let (rows, clock) = (MemoryStore::default(), FakeClock::default());
    let here = node(&rows, &clock, ScriptedModel::new([]));
    let asks = ScriptedModel::new([Script::call("ask_user", json!({ "question": "Which?" }))]);
    let there = node(&rows, &clock, asks);
    let mut feed = here.client(Owner::local()).news().await.unwrap();
    assert_eq!(feed.open_questions(), 0);
    let new = NewAgent { message: Some("Ask.".into()), ..NewAgent::default() };
    let agent = there.client(Owner::local()).create(new, None).await.unwrap();
    there.advance(agent.id).await.unwrap();
    here.on_signal(NodeSignal::Tree(agent.id));
    assert_eq!(next(&mut feed, &clock).await.open_questions, 1);
    assert_eq!(feed.open_questions(), 1);
}

/// Who reads too slowly loses the oldest news, is told so once, and gets those that are still there.
#[tokio::test]
async fn a_follower_that_falls_behind_is_told_once_to_read_everything_again() {
    let (engine, clock) = alone();
    let client = engine.client(Owner::local());
    let (mut slow, mut fast) = (client.news().await.unwrap(), client.news().await.unwrap());
    let mut created = Vec::new();
    for _ in 0..BACKLOG + 2 {
        created.push(create(&client).await);
        let news = next(&mut fast, &clock).await;
        assert_eq!(roots(&news).as_deref(), created.last().map(std::slice::from_ref));
    }
    assert_eq!(roots(&*heard(&mut slow).await), None);
    for root in &created[2..] {
        assert_eq!(roots(&*heard(&mut slow).await), Some(vec![*root]));
    }
    assert!(slow.next().now_or_never().is_none());
}

/// An engine that falls behind its store cannot say what it has missed.
#[tokio::test]
async fn more_hints_than_wait_for_the_engine_say_to_read_everything_again() {
    let (engine, clock) = alone();
    let mut feed = engine.client(Owner::local()).news().await.unwrap();
    let at = Time::from_micros(1);
    let root = Agent::root(Owner::local(), "assistant", "", at);
    let children = (0..HINTS).map(|_| root.child("assistant", "", None, at));
    for agent in std::iter::once(root.clone()).chain(children) {
        let commit = Commit::new(at).write(Write::NewAgent(agent));
        // It never waits, so that nothing reads the hints meanwhile.
        engine.store().commit(commit).now_or_never().expect("a store in memory commits at once").unwrap();
    }
    assert_eq!(roots(&*next(&mut feed, &clock).await), None, "more hints wait than {HINTS}");
}

/// No event of a tree tells of what people do with documents.
/// No event of the tree says so before the agent reads it.
#[tokio::test]
async fn an_owner_hears_of_a_message_that_waits_to_be_read() {
    let (engine, clock) = alone();
    let client = engine.client(Owner::local());
    let root = create(&client).await;
    let mut feed = client.news().await.unwrap();
    client.send(root, "Hello.", None).await.unwrap();
    let news = next(&mut feed, &clock).await;
    let hint = TreeNews { root, seq: 0, agents: Some(vec![root]) };
    assert_eq!(news.trees, Some(vec![hint]));
}

#[tokio::test]
async fn an_owner_hears_of_documents_that_changed_here_or_at_another_node() {
    let (engine, clock) = alone();
    let client = engine.client(Owner::local());
    let (mut feed, mut others) =
        (client.news().await.unwrap(), engine.client(Owner::new("else")).news().await.unwrap());
    let new = NewProject { name: "Rome".into(), ..NewProject::default() };
    client.create_project(new).await.unwrap();
    let news = next(&mut feed, &clock).await;
    assert_eq!((news.documents, roots(&news)), (true, Some(Vec::new())));
    engine.on_signal(NodeSignal::Documents(Owner::local()));
    assert!(next(&mut feed, &clock).await.documents);
    assert!(others.next().now_or_never().is_none(), "they are nobody else's");
}

/// Kinds are of all owners.
#[tokio::test]
async fn all_who_follow_hear_of_reloaded_kinds() {
    let (engine, clock) = alone();
    let mut feeds = Vec::new();
    for owner in [Owner::local(), Owner::new("else")] {
        feeds.push(engine.client(owner).news().await.unwrap());
    }
    engine.renew(Kinds::none().with(bare("cook")), Vec::new()).unwrap();
    clock.advance_to_sleeper(MOMENT).await;
    for feed in &mut feeds {
        let news = heard(feed).await;
        assert_eq!((&news.server[..], roots(&news)), (&[ServerNews::Kinds][..], Some(Vec::new())));
    }
}
