//! Servers of owners that cannot be connected: who reads why, and what becomes of connections with secrets that are no
//! longer set.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use entourage_engine::{ConnectForOwner, Engine, ToolServer};
use entourage_llm::{Message, Script, ScriptedModel};
use entourage_store::MemoryStore;
use entourage_testkit::{World, plain};
use entourage_tools::{Effect, Tool};
use entourage_types::{Owner, SecretName};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::{
    kit::{Effects, TestTool, eventually, first_tools, one_kind},
    owner_servers::told,
    secrets::{asked, key, keys, name, set_secret},
};

const WHY: &str = "the MCP server `bank` cannot be reached (/srv/bank/run): No such file or directory";

/// Connects the server `bank`, whose one tool is named by the secret; with `wrong_one` it fails. Attempts with `first_one`
/// wait until a test lets them go on.
#[derive(Clone)]
struct ByValue {
    begun: Arc<Semaphore>,
    let_go: Arc<Semaphore>,
}

impl ByValue {
    fn new(let_go: usize) -> Self {
        Self { begun: Arc::new(Semaphore::new(0)), let_go: Arc::new(Semaphore::new(let_go)) }
    }
}

#[async_trait]
impl ConnectForOwner for ByValue {
    async fn connect(
        &self,
        _: &str,
        secrets: &BTreeMap<SecretName, SecretString>,
    ) -> Result<Vec<Arc<dyn Tool>>, String> {
        let value = secrets[&name("token")].expose_secret();
        if value == "first_one" {
            self.begun.add_permits(1);
            self.let_go.acquire().await.expect("it is never closed").forget();
        }
        match value {
            "wrong_one" => Err(WHY.to_owned()),
            value => Ok(vec![Arc::new(TestTool::new(
                &format!("bank__{value}"),
                Effect::Pure,
                &Effects::default(),
            ))]),
        }
    }
}

/// A model that calls the tool of the first secret once.
fn calling() -> ScriptedModel {
    ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(_)) => Script::call("bank__first_one", json!({ "n": 1 })),
            _ => Script::text("So."),
        }))
    })
}

/// A world with the server, and the key that seals its secrets.
async fn start(model: &ScriptedModel, connector: &ByValue) -> (World, String) {
    let (connector, set) = (connector.clone(), key());
    let bank = ToolServer { secrets: vec![name("token")], ..ToolServer::shared("bank") };
    let sealing = set.clone();
    let builder = World::builder(model.clone())
        .store(MemoryStore::default())
        .tools(first_tools())
        .kinds(one_kind(|kind| kind.tools = Some(vec!["mcp".into()])))
        .engine(move |engine| {
            engine
                .tool_servers(vec![bank.clone()])
                .connect_for_owner(Arc::new(connector.clone()))
                .secret_keys(Some(keys(&sealing)))
        });
    (builder.start().await, set)
}

/// The servers of an owner at this node, as the owner or the operator sees them: whether the one is connected, and why
/// not.
async fn shown(engine: &Engine, owner: &str, is_operator: bool) -> (bool, Option<String>) {
    let client = engine.client(Owner::new(owner)).operating(is_operator);
    let server = client.servers(None).await.unwrap().remove(0);
    (server.is_connected, server.problem)
}

/// Shows: INV-09.
#[tokio::test]
async fn how_an_owners_server_is_reached_is_the_operators_alone() {
    let model = calling();
    let (world, _) = start(&model, &ByValue::new(0)).await;
    set_secret(&world, "ann", "wrong_one").await;
    let (_, lines) = asked(&world, "ann").await;
    let away = "the MCP server `bank` cannot be reached now with the secrets of its user";
    assert_eq!(lines[2], format!("output!: {away}"), "{lines:#?}");
    assert_eq!(shown(world.engine(), "ann", false).await, (false, Some(away.to_owned())));
    assert_eq!(shown(world.engine(), "ann", true).await, (false, Some(WHY.to_owned())));
}

/// A secret is set at another node, and the server cannot be connected with it: the connection with the one before is
/// used by nobody, and ends.
#[tokio::test]
async fn a_connection_ends_whose_secret_was_replaced_by_one_that_fails() {
    let (model, connector) = (calling(), ByValue::new(1));
    let (world, key) = start(&model, &connector).await;
    set_secret(&world, "ann", "first_one").await;
    let (_, lines) = asked(&world, "ann").await;
    assert!(lines[2].starts_with("output: bank__first_one"), "{lines:#?}");
    let there =
        Engine::builder(Arc::clone(world.store()), Arc::new(model)).secret_keys(Some(keys(&key))).build();
    let of_ann = there.client(Owner::new("ann"));
    of_ann.set_secret(name("token"), &"wrong_one".into()).await.unwrap();
    assert_eq!(shown(world.engine(), "ann", false).await, (true, None), "it has not heard of it");
    let (_, lines) = asked(&world, "ann").await;
    assert!(lines[2].starts_with("output!: the MCP server `bank` cannot be reached now"), "{lines:#?}");
    assert!(!shown(world.engine(), "ann", false).await.0);
}

/// An attempt that began with a secret that was replaced meanwhile comes to nothing: who waited for it has the server as
/// it is with the new one.
#[tokio::test]
async fn a_late_success_with_an_earlier_secret_is_not_used() {
    let (model, connector) = (calling(), ByValue::new(0));
    let (world, _) = start(&model, &connector).await;
    set_secret(&world, "ann", "first_one").await;
    let (client, agent) = told(&world, "ann", "Look.").await;
    connector.begun.acquire().await.unwrap().forget();
    set_secret(&world, "ann", "second_one").await;
    connector.let_go.add_permits(1);
    let look = async || client.agent(agent.id).await.unwrap();
    eventually("it has ended", look, |agent| agent.status.is_terminal()).await;
    let offered = model.requests()[0].tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    assert!(offered.iter().any(|name| name == "bank__second_one"), "{offered:?}");
    let lines = plain(&client.items(agent.id, 0, 100).await.unwrap());
    assert!(lines[2].contains("there is no tool `bank__first_one`"), "{lines:#?}");
}
