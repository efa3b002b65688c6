//! Attempts to connect a server for an owner, at the same moment.

use std::sync::atomic::AtomicUsize;

use entourage_llm::ScriptedModel;
use entourage_store::MemoryStore;

use super::*;
use crate::{SecretKeys, new_secret_key};

/// Connects nobody, and counts the attempts.
#[derive(Default)]
struct Closed(AtomicUsize);

#[async_trait]
impl ConnectForOwner for Closed {
    async fn connect(
        &self,
        _: &str,
        _: &BTreeMap<SecretName, SecretString>,
    ) -> Result<Vec<Arc<dyn Tool>>, String> {
        self.0.fetch_add(1, Relaxed);
        Err("it is closed".to_owned())
    }
}

/// Two agents found the same server due for another attempt, before either attempt began.
#[tokio::test]
async fn what_is_due_for_two_is_tried_once() {
    let (closed, secret) = (Arc::new(Closed::default()), "token".parse::<SecretName>().unwrap());
    let bank = ToolServer { secrets: vec![secret.clone()], ..ToolServer::shared("bank") };
    let engine = Engine::builder(Arc::new(MemoryStore::default()), Arc::new(ScriptedModel::new([])))
        .tool_servers(vec![bank.clone()])
        .connect_for_owner(Arc::<Closed>::clone(&closed))
        .secret_keys(Some(SecretKeys::parse(&new_secret_key().unwrap()).unwrap()))
        .build();
    let owner = Owner::new("ann");
    engine.client(owner.clone()).set_secret(secret, &"secret of ann".into()).await.unwrap();
    engine.connect_one(&owner, &bank).await.unwrap();
    assert_eq!(closed.0.load(Relaxed), 1);
    let (key, connections) = ((owner.clone(), "bank".to_owned()), engine.inner.servers.connections());
    let given = connections.failed().peek(&key).unwrap().given;
    connections.failed().get_mut(&key).unwrap().at = Time::from_micros(engine.now().micros() - 61_000_000);
    let Ok(values) = engine.values_of(&owner, &bank).await else { panic!("they are set") };
    let attempt = || engine.clone().try_again(key.clone(), given, values.clone());
    tokio::join!(attempt(), attempt());
    assert_eq!(closed.0.load(Relaxed), 2, "it was tried once more");
}
