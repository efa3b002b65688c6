//! Secrets of owners: sealed, given to the servers that need them, and sealed anew.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use entourage_engine::{
    ConnectForOwner, Engine, Error, NewAgent, Page, Resealed, SecretKeys, ToolServer, new_secret_key,
};
use entourage_llm::{Script, ScriptedModel};
use entourage_store::MemoryStore;
use entourage_testkit::{Fault, World, plain};
use entourage_tools::{Effect, Tool};
use entourage_types::{Agent, EntityKind, Owner, Scope, Secret, SecretName};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::kit::{Effects, TestTool, eventually, first_tools, insist, one_kind};

/// Connects the server `bank`, whose one tool is named by the secret.
#[derive(Clone, Default)]
struct Bank(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl ConnectForOwner for Bank {
    async fn connect(
        &self,
        _: &str,
        secrets: &BTreeMap<SecretName, SecretString>,
    ) -> Result<Vec<Arc<dyn Tool>>, String> {
        let value = secrets[&name("token")].expose_secret().to_owned();
        self.0.lock().unwrap().push(value.clone());
        if value == "wrong_one" {
            return Err("the MCP server `bank` refused it".into());
        }
        let tool = format!("bank__{value}");
        Ok(vec![Arc::new(TestTool::new(&tool, Effect::Pure, &Effects::default()))])
    }
}

impl Bank {
    fn given(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

pub(crate) fn name(name: &str) -> SecretName {
    name.parse().unwrap()
}

/// Keys as they are set.
pub(crate) fn key() -> String {
    new_secret_key().unwrap().expose_secret().to_owned()
}

pub(crate) fn keys(text: &str) -> SecretKeys {
    SecretKeys::parse(&text.into()).unwrap()
}

/// A world with a server that needs a secret, and with these keys by the time that an engine is built.
async fn start(model: &ScriptedModel, bank: &Bank, set: &Arc<Mutex<String>>) -> World {
    let (bank, set) = (bank.clone(), Arc::clone(set));
    let kinds = one_kind(|kind| kind.tools = Some(vec!["mcp".into()]));
    let server = ToolServer { secrets: vec![name("token")], ..ToolServer::shared("bank") };
    World::builder(model.clone())
        .store(MemoryStore::default())
        .tools(first_tools())
        .kinds(kinds)
        .engine(move |engine| {
            let keys = keys(&set.lock().unwrap());
            engine
                .tool_servers(vec![server.clone()])
                .connect_for_owner(Arc::new(bank.clone()))
                .secret_keys(Some(keys))
        })
        .start()
        .await
}

/// Asks a new agent of this owner, and returns its transcript once it has ended.
pub(crate) async fn asked(world: &World, owner: &str) -> (Agent, Vec<String>) {
    let client = world.engine().client(Owner::new(owner));
    let kind = world.engine().kinds().iter().next().map(|kind| kind.name.to_string());
    let new = NewAgent { kind, message: Some("Look.".into()), ..NewAgent::default() };
    let agent = client.create(new, None).await.unwrap();
    let look = async || client.agent(agent.id).await.unwrap();
    let agent = eventually("it has ended", look, |agent| agent.status.is_terminal()).await;
    let items = client.items(agent.id, 0, 100).await.unwrap();
    (agent, plain(&items))
}

pub(crate) async fn set_secret(world: &World, owner: &str, value: &str) -> Secret {
    let client = world.engine().client(Owner::new(owner));
    client.set_secret(name("token"), &value.into()).await.unwrap().1
}

/// Shows: INV-09, S4-R089.
#[tokio::test]
async fn a_server_is_connected_for_each_owner_with_their_own_secret() {
    let model = ScriptedModel::deciding(|request| {
        let own = request.tools.iter().find(|tool| tool.name.starts_with("bank__"));
        let is_first = request.messages.len() == 1;
        Some(Ok(match own {
            Some(tool) if is_first => Script::call(&tool.name, json!({ "n": 1 })),
            None if is_first => Script::call("bank__look", json!({})),
            _ => Script::text("So."),
        }))
    });
    let (bank, set) = (Bank::default(), Arc::new(Mutex::new(key())));
    let world = start(&model, &bank, &set).await;
    set_secret(&world, "ann", "of_ann_1").await;
    set_secret(&world, "bob", "of_bob_1").await;
    for (owner, own) in [("ann", "bank__of_ann_1"), ("bob", "bank__of_bob_1"), ("ann", "bank__of_ann_1")] {
        let (_, lines) = asked(&world, owner).await;
        assert_eq!(lines[2], format!("output: {own}: {{\"n\":1}}"));
    }
    assert_eq!(bank.given(), ["of_ann_1", "of_bob_1"], "it is connected once for each");
    let missing = "output!: the MCP server `bank` needs the secret `token` of its user, which is not set: `entourage \
                   secrets set token`, or PUT /v1/secrets/token";
    assert_eq!(asked(&world, "eve").await.1[2], missing);
    // A new value is used from the next run on, a refused one costs the tools alone, a deleted one ends them.
    set_secret(&world, "ann", "newer_one").await;
    assert_eq!(asked(&world, "ann").await.1[2], "output: bank__newer_one: {\"n\":1}");
    // Another process with the same store sets one, too.
    let keys = keys(&set.lock().unwrap());
    let other =
        Engine::builder(world.store().clone(), Arc::new(model.clone())).secret_keys(Some(keys)).build();
    let elsewhere = other.client(Owner::new("ann"));
    elsewhere.set_secret(name("token"), &"elsewhere".into()).await.unwrap();
    assert_eq!(asked(&world, "ann").await.1[2], "output: bank__elsewhere: {\"n\":1}");
    set_secret(&world, "ann", "wrong_one").await;
    for _ in 0..2 {
        assert_eq!(
            asked(&world, "ann").await.1[2],
            "output!: the MCP server `bank` cannot be reached now with the secrets of its user"
        );
    }
    assert_eq!(
        bank.given(),
        ["of_ann_1", "of_bob_1", "newer_one", "elsewhere", "wrong_one"],
        "it is not tried again at once"
    );
    let ann = world.engine().client(Owner::new("ann"));
    ann.delete_secret(&name("token")).await.unwrap();
    assert_eq!(asked(&world, "ann").await.1[2], missing);
    assert_eq!(world.audit().await, []);
}

#[tokio::test]
async fn secrets_are_their_owners_and_are_refused_by_name() {
    let (model, bank, set) = (ScriptedModel::new([]), Bank::default(), Arc::new(Mutex::new(key())));
    let world = start(&model, &bank, &set).await;
    let [ann, eve] = ["ann", "eve"].map(|owner| world.engine().client(Owner::new(owner)));
    let first = set_secret(&world, "ann", "canary-1").await;
    let listed = ann.secrets(Page::default()).await.unwrap().rows;
    assert_eq!(listed, std::slice::from_ref(&first));
    assert!(eve.secrets(Page::default()).await.unwrap().rows.is_empty());
    assert!(matches!(eve.delete_secret(&name("token")).await, Err(Error::NotFound { .. })));
    for value in ["", " \n", "short", "       short", "a\0b-and-more", &"x".repeat(65 * 1024)] {
        let refused = ann.set_secret(name("token"), &value.into()).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
    assert!(matches!(eve.reseal_secrets().await, Err(Error::Reserved(_))));
    // Nothing of its value is on record but what is sealed.
    let id = Secret::id_of(&first.owner, &first.name);
    let kept = world.store().entity(&Scope::All, EntityKind::SECRET, &id).await.unwrap().unwrap();
    assert!(!format!("{kept:?}").contains("canary-1") && kept.text.is_none());

    let without = Engine::builder(Arc::new(MemoryStore::default()), Arc::new(model)).build();
    let refused = without.client(Owner::local()).set_secret(name("token"), &"canary-1".into()).await;
    assert!(matches!(&refused, Err(Error::NoSecretKey(_))), "{refused:?}");
}

/// Seals five secrets with one key, replaces the key, and seals them anew with this fault on the way. Returns how many
/// commits that took.
async fn rotation(fault: Option<(u64, Fault)>) -> u64 {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match (request.messages.len(), request.tools.first()) {
            (1, Some(tool)) => Script::call(&tool.name, json!({})),
            _ => Script::text("So."),
        }))
    });
    let (bank, old, new) = (Bank::default(), key(), key());
    let set = Arc::new(Mutex::new(old.clone()));
    let world = start(&model, &bank, &set).await;
    let owners = ["ann", "bob", "cat", "dan", "eve"];
    for owner in owners {
        set_secret(&world, owner, &format!("{owner}_secret")).await;
    }
    *set.lock().unwrap() = format!("{new},{old}");
    let world = world.restart(Default::default()).await;
    if let Some((at, fault)) = fault {
        world.faults().plan(at, fault);
    }
    let faults = world.faults().clone();
    let reseal = async |world: &World| {
        let client = world.engine().client(Owner::local());

        match client.reseal_secrets().await {
            // The connection was lost: it is tried again.
            Err(Error::Store(_)) => client.reseal_secrets().await,
            done => done,
        }
    };
    let (world, done) = insist(world, reseal).await;
    assert_eq!((done.resealed + done.current, done.unreadable), (5, 0), "{fault:?}: {done:?}");
    let commits = faults.commits();
    // The old key is gone for good, and every value is what it was.
    *set.lock().unwrap() = new;
    let world = world.restart(Default::default()).await;
    for owner in owners {
        let (_, lines) = asked(&world, owner).await;
        assert_eq!(lines[2], format!("output: bank__{owner}_secret: {{}}"), "{fault:?}");
    }
    let again = world.engine().client(Owner::local()).reseal_secrets().await.unwrap();
    assert_eq!(again, Resealed { current: 5, ..Resealed::default() });
    commits
}

#[tokio::test]
async fn secrets_are_sealed_anew_despite_a_fault_at_any_commit() {
    let commits = rotation(None).await;
    assert_eq!(commits, 5, "one for each secret");
    for at in 1..=commits {
        for fault in [Fault::DieBefore, Fault::DieAfter, Fault::ENDING[2 + at as usize % 3]] {
            rotation(Some((at, fault))).await;
        }
    }
}
