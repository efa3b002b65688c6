//! Servers that are connected for each owner apart, with the owner's secrets: when an agent of the owner may use one.

use std::{
    collections::{BTreeMap, HashMap},
    num::NonZeroUsize,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_store::Result as StoreResult;
use entourage_tools::Tool;
use entourage_types::{Kind, Owner, Scope, Secret, SecretName, Switches, Time};
use futures::future::join_all;
use lru::LruCache;
use secrecy::SecretString;

use super::ToolServer;
use crate::Engine;

/// Connects a server for one owner, with the owner's secrets.
#[async_trait]
pub trait ConnectForOwner: Send + Sync {
    /// Connects the server of this name and lists its tools. Dropping the tools ends the connection.
    ///
    /// # Errors
    /// Why it cannot be used, in a sentence without secrets.
    async fn connect(
        &self,
        server: &str,
        secrets: &BTreeMap<SecretName, SecretString>,
    ) -> Result<Vec<Arc<dyn Tool>>, String>;
}

/// How many connections of owners are kept at once. Beyond that, the one that was not used for the longest time ends.
const MOST_CONNECTIONS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(63);
/// The pause before a server that could not be connected for an owner is tried again.
const PAUSE: Duration = Duration::from_secs(60);

/// A server for one owner.
type Key = (Owner, String);

/// The connections of owners.
pub(crate) struct OwnersServers {
    connect: Option<Arc<dyn ConnectForOwner>>,
    found: Mutex<LruCache<Key, Found>>,
    /// Held while a server is connected for an owner, so that it is connected once.
    turns: Mutex<HashMap<Key, Arc<tokio::sync::Mutex<()>>>>,
    /// The number of the last connection.
    last: AtomicU64,
}

/// What an attempt to connect a server for an owner came to.
#[derive(Clone)]
struct Found {
    /// The writes of the secrets that it was made with: a later one makes it void.
    secrets: Vec<Option<Written>>,
    at: Time,
    state: OfOwner,
    tools: Arc<[Arc<dyn Tool>]>,
}

/// When a secret was written for how many-eth time.
type Written = (u64, Time);

/// The state of a server for one owner.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum OfOwner {
    /// It is connected; connections are numbered.
    Connected(u64),
    /// It is not, for this reason.
    Away(String),
}

impl OwnersServers {
    pub(super) fn new(connect: Option<Arc<dyn ConnectForOwner>>) -> Self {
        Self {
            connect,
            found: Mutex::new(LruCache::new(MOST_CONNECTIONS)),
            turns: Mutex::default(),
            last: AtomicU64::new(0),
        }
    }

    /// The state of a server for an owner, and the names of its tools; none before an agent of the owner was to use it.
    pub(crate) fn peek(&self, owner: &Owner, server: &str) -> Option<(OfOwner, Vec<String>)> {
        let found = self.found();
        let found = found.peek(&(owner.clone(), server.to_owned()))?;
        let tools = found.tools.iter().map(|tool| tool.name().to_owned());
        Some((found.state.clone(), tools.collect()))
    }

    /// The tools of a server for an owner, and its state.
    pub(crate) fn tools(&self, owner: &Owner, server: &str) -> Option<(OfOwner, Arc<[Arc<dyn Tool>]>)> {
        let mut found = self.found();
        let found = found.get(&(owner.clone(), server.to_owned()))?;
        Some((found.state.clone(), Arc::clone(&found.tools)))
    }

    /// Keeps what an attempt came to. Returns the number of the connection that ends for it.
    fn keep(&self, key: Key, found: Found) -> Option<u64> {
        let ended = self.found().push(key, found).map(|(_, ended)| ended.state);
        match ended {
            Some(OfOwner::Connected(number)) => Some(number),
            _ => None,
        }
    }

    fn found(&self) -> MutexGuard<'_, LruCache<Key, Found>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turns(&self) -> MutexGuard<'_, HashMap<Key, Arc<tokio::sync::Mutex<()>>>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Connects the servers of this owner alone that an agent of this kind may use, unless they are connected with the
    /// secrets as they are now.
    pub(crate) async fn connect_for_owner(
        &self,
        owner: &Owner,
        kind: &Kind,
        switches: &Switches,
    ) -> StoreResult<()> {
        let servers = self.inner.servers.serving(owner).filter(|server| {
            server.is_of_owners() && server.concerns(kind) && switches.allow_any(&server.name)
        });
        let connected = join_all(servers.map(|server| self.connect_one(owner, server))).await;
        connected.into_iter().collect()
    }

    async fn connect_one(&self, owner: &Owner, server: &ToolServer) -> StoreResult<()> {
        let of_owners = self.inner.servers.of_owners();
        let key = (owner.clone(), server.name.clone());
        let turn = Arc::clone(of_owners.turns().entry(key.clone()).or_default());
        let done = {
            let _turn = turn.lock().await;
            self.connect_in_turn(owner, server, &key).await
        };
        // The map and this function hold it, unless others wait for it.
        let mut turns = of_owners.turns();
        if Arc::strong_count(&turn) == 2 {
            turns.remove(&key);
        }
        done
    }

    async fn connect_in_turn(&self, owner: &Owner, server: &ToolServer, key: &Key) -> StoreResult<()> {
        let of_owners = self.inner.servers.of_owners();
        let (mut secrets, mut written) = (Vec::new(), Vec::new());
        for name in &server.secrets {
            let id = Secret::id_of(owner, name);
            let found = self.store().versioned::<Secret>(&Scope::from(owner), id).await?;
            written.push(found.as_ref().map(|found| (found.version, found.record.updated)));
            secrets.push((name, found.map(|found| found.record)));
        }
        let now = self.now();
        let is_current = |found: &Found| {
            let is_tried = matches!(found.state, OfOwner::Connected(_)) || now.since(found.at) < PAUSE;
            found.secrets == written && is_tried
        };
        if of_owners.found().get(key).is_some_and(is_current) {
            return Ok(());
        }
        let connected = match self.values_of(&server.name, secrets) {
            Ok(values) => match &of_owners.connect {
                Some(connect) => connect.connect(&server.name, &values).await,
                None => {
                    Err(format!("the MCP server `{}` cannot be connected for an owner here", server.name))
                }
            },
            Err(why) => Err(why),
        };
        let (state, tools) = match connected {
            Ok(tools) => (OfOwner::Connected(of_owners.last.fetch_add(1, Relaxed) + 1), tools.into()),
            Err(why) => {
                tracing::warn!(%owner, server = server.name, "{why}; continuing without its tools");
                (OfOwner::Away(why), Vec::new().into())
            }
        };
        if let Some(ended) = of_owners.keep(key.clone(), Found { secrets: written, at: now, state, tools }) {
            self.inner.toolsets.forget_connection(ended);
        }
        Ok(())
    }

    /// The values of the secrets that a server needs, or why there are none.
    fn values_of(
        &self,
        server: &str,
        secrets: Vec<(&SecretName, Option<Secret>)>,
    ) -> Result<BTreeMap<SecretName, SecretString>, String> {
        let value = |(name, secret): (&SecretName, Option<Secret>)| {
            let secret = secret.ok_or_else(|| {
                format!(
                    "the MCP server `{server}` needs the secret `{name}` of its user, which is not set: \
                     `entourage secrets set {name}`"
                )
            })?;
            let value = self.secret_keys().and_then(|keys| keys.open(&secret));
            let value =
                value.map_err(|error| format!("the MCP server `{server}` cannot be connected: {error}"))?;
            Ok((name.clone(), value))
        };
        secrets.into_iter().map(value).collect()
    }
}
