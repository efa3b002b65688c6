//! Connections of servers that need secrets of their owner: each is one owner's alone, made when an agent of the owner is
//! to use it.

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
use entourage_types::{Backoff, Kind, Owner, SecretName, Sha256, Switches, Time};
use futures::future::join_all;
use lru::LruCache;
use secrecy::SecretString;

use super::{
    ToolServer, cannot_be_reached,
    owner_secrets::{NoValues, digest_of},
};
use crate::Engine;

/// Connects a server for one owner, with the owner's secrets.
#[async_trait]
pub trait ConnectForOwner: Send + Sync {
    /// Connects the server of this name and lists its tools. Dropping the tools ends the connection.
    ///
    /// # Errors
    /// Why it cannot be used, in a sentence without secrets. Only the operator reads it: it may name a program or an address.
    async fn connect(
        &self,
        server: &str,
        secrets: &BTreeMap<SecretName, SecretString>,
    ) -> Result<Vec<Arc<dyn Tool>>, String>;
}

/// How many connections a node keeps. Beyond that, the one that was not used for the longest time ends, once no run that
/// is at work has its tools.
const MOST_CONNECTIONS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(63);
/// Of how many attempts that failed a node knows.
const MOST_FAILURES: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1023);
/// The pauses before a server that could not be connected for an owner is tried again.
const PAUSES: Backoff = Backoff::new(Duration::from_secs(60), Duration::from_secs(600));

/// How long a failure tells that a server fails. After that an agent waits for an attempt as for the first one: it may be
/// the only one at work this day.
const TELLS: Duration = Duration::from_secs(3600);

/// A server for one owner.
type Key = (Owner, String);

fn key_of(owner: &Owner, server: &str) -> Key {
    (owner.clone(), server.to_owned())
}

/// A server as it is for an owner: what a run of the owner's agents is offered from.
#[derive(Clone)]
pub(crate) struct OwnerServer {
    pub(crate) name: String,
    pub(crate) state: ConnectionState,
    /// Its tools; none if it is not connected.
    pub(crate) tools: Arc<[Arc<dyn Tool>]>,
}

/// Whether a server is connected for an owner.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum ConnectionState {
    /// It is; connections are numbered.
    Connected(u64),
    /// It is not, for this reason, which an agent and its owner may read.
    Away(String),
}

/// The connections of all owners at this node.
pub(crate) struct OwnerConnections {
    connector: Option<Arc<dyn ConnectForOwner>>,
    connected: Mutex<LruCache<Key, Connection>>,
    failed: Mutex<LruCache<Key, Failure>>,
    /// Held while a server is connected for an owner, so that it is connected once.
    turns: Mutex<HashMap<Key, Arc<tokio::sync::Mutex<()>>>>,
    /// The number of the last connection.
    last: AtomicU64,
}

#[derive(Clone)]
struct Connection {
    number: u64,
    /// The digest of the secrets that it was made with: others make it void.
    given: Sha256,
    tools: Arc<[Arc<dyn Tool>]>,
}

/// Attempts that failed with the same secrets.
#[derive(Clone)]
struct Failure {
    given: Sha256,
    /// When the last one ended.
    at: Time,
    attempts: u32,
    /// Why, for the operator.
    why: String,
}

/// What is known of a server for an owner.
enum Known {
    Connected(Connection),
    /// It fails; whether another attempt is due.
    Fails {
        is_due: bool,
    },
}

impl OwnerConnections {
    pub(super) fn new(connector: Option<Arc<dyn ConnectForOwner>>) -> Self {
        Self {
            connector,
            connected: Mutex::new(LruCache::new(MOST_CONNECTIONS)),
            failed: Mutex::new(LruCache::new(MOST_FAILURES)),
            turns: Mutex::default(),
            last: AtomicU64::new(0),
        }
    }

    /// The state of a server for an owner, as far as it is known, and its tools. Does not count as a use of it.
    pub(crate) fn peek(&self, owner: &Owner, server: &str) -> Option<OwnerServer> {
        let key = key_of(owner, server);
        if let Some(connection) = self.connected().peek(&key) {
            return Some(connection.shown(server));
        }
        self.failed().contains(&key).then(|| OwnerServer::failing(server))
    }

    /// Why a server could not be connected for an owner, for the operator.
    pub(crate) fn why_away(&self, owner: &Owner, server: &str) -> Option<String> {
        self.failed().peek(&key_of(owner, server)).map(|failure| failure.why.clone())
    }

    /// Ends what is known of a server for an owner. Returns the number of the connection, if there was one.
    fn forget(&self, owner: &Owner, server: &str) -> Option<u64> {
        let key = key_of(owner, server);
        self.failed().pop(&key);
        self.connected().pop(&key).map(|connection| connection.number)
    }

    fn connected(&self) -> MutexGuard<'_, LruCache<Key, Connection>> {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self) -> MutexGuard<'_, LruCache<Key, Failure>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turns(&self) -> MutexGuard<'_, HashMap<Key, Arc<tokio::sync::Mutex<()>>>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the attempts with these secrets came to, if that tells what the next one will come to.
    fn known(&self, key: &Key, given: Sha256, now: Time) -> Option<Known> {
        let connection = self.connected().get(key).filter(|found| found.given == given).cloned();
        if let Some(connection) = connection {
            return Some(Known::Connected(connection));
        }
        let failure = self.failed().get(key).filter(|failure| failure.given == given).cloned()?;
        let since = now.since(failure.at);
        let is_due = since >= PAUSES.after(failure.attempts);
        (since < TELLS).then_some(Known::Fails { is_due })
    }

    fn turn(&self, key: &Key) -> Turn<'_> {
        let lock = Arc::clone(self.turns().entry(key.clone()).or_default());
        Turn { of: self, key: key.clone(), lock }
    }
}

/// A place in the line of those who want the same server for the same owner.
struct Turn<'c> {
    of: &'c OwnerConnections,
    key: Key,
    lock: Arc<tokio::sync::Mutex<()>>,
}

impl Drop for Turn<'_> {
    /// The last one removes the line, also if it was cut off while it waited.
    fn drop(&mut self) {
        let mut turns = self.of.turns();
        // The map and this place hold it.
        if Arc::strong_count(&self.lock) == 2 {
            turns.remove(&self.key);
        }
    }
}

impl Connection {
    fn shown(&self, server: &str) -> OwnerServer {
        let state = ConnectionState::Connected(self.number);
        OwnerServer { name: server.to_owned(), state, tools: Arc::clone(&self.tools) }
    }
}

impl OwnerServer {
    /// One that could not be connected, whatever the reason.
    fn failing(server: &str) -> Self {
        let why = cannot_be_reached(server);
        Self::away(server, format!("{why} with the secrets of its user"))
    }

    fn away(server: &str, why: String) -> Self {
        let (state, tools) = (ConnectionState::Away(why), Vec::new().into());
        Self { name: server.to_owned(), state, tools }
    }
}

impl Engine {
    /// The servers of this owner alone, as far as their state is known here.
    pub(crate) fn owner_servers(&self, owner: &Owner) -> Vec<OwnerServer> {
        let connections = self.inner.servers.connections();
        let servers = self.inner.servers.serving(owner).filter(|server| server.is_of_owners());
        servers.filter_map(|server| connections.peek(owner, &server.name)).collect()
    }

    /// Connects the servers of this owner alone that an agent of this kind may use, unless they are connected with the
    /// secrets as they are now.
    pub(crate) async fn connect_for_owner(
        &self,
        owner: &Owner,
        kind: &Kind,
        switches: &Switches,
    ) -> StoreResult<Vec<OwnerServer>> {
        let servers = self.inner.servers.serving(owner).filter(|server| {
            server.is_of_owners() && server.concerns(kind) && switches.allow_any(&server.name)
        });
        let connected = join_all(servers.map(|server| self.connect_one(owner, server))).await;
        connected.into_iter().collect()
    }

    /// A server that is not known to fail is waited for; one that is, is tried again in the background, and who asks has
    /// none of its tools.
    async fn connect_one(&self, owner: &Owner, server: &ToolServer) -> StoreResult<OwnerServer> {
        let (connections, name) = (self.inner.servers.connections(), &server.name);
        let key = key_of(owner, name);
        let turn = connections.turn(&key);
        let mut held = None;
        loop {
            let values = match self.values_of(owner, server).await {
                Ok(values) => values,
                Err(NoValues::Store(error)) => return Err(error),
                Err(NoValues::Unusable(why)) => {
                    // An owner without the secret does not use the server: that is worth no warning.
                    tracing::debug!(%owner, server = name, "{why}");
                    self.end_connection(owner, name);
                    return Ok(OwnerServer::away(name, why));
                }
            };
            let given = digest_of(&values);
            match connections.known(&key, given, self.now()) {
                Some(Known::Connected(connection)) => return Ok(connection.shown(name)),
                Some(Known::Fails { is_due }) => {
                    if is_due {
                        tokio::spawn(self.clone().try_again(key, given, values));
                    }
                    return Ok(OwnerServer::failing(name));
                }
                // The holder of the turn may be trying it now, and the secrets may be others after that.
                None if held.is_none() => held = Some(turn.lock.lock().await),
                None => {
                    if let Some(shown) = self.connect_now(owner, server, given, &values).await? {
                        return Ok(shown);
                    }
                }
            }
        }
    }

    /// Tries a server that fails again, unless somebody tries it now.
    async fn try_again(self, key: Key, given: Sha256, values: BTreeMap<SecretName, SecretString>) {
        let (owner, name) = &key;
        let connections = self.inner.servers.connections();
        let Some(server) = self.inner.servers.serving(owner).find(|server| server.name == *name) else {
            return;
        };
        let turn = connections.turn(&key);
        let Ok(_turn) = turn.lock.try_lock() else { return };
        // The previous holder of the turn may have tried it since.
        if !matches!(connections.known(&key, given, self.now()), Some(Known::Fails { is_due: true })) {
            return;
        }
        tokio::select! {
            tried = self.connect_now(owner, server, given, &values) => {
                if let Err(error) = tried {
                    tracing::warn!(%owner, server = name, "whether it may be used is not known: {error}");
                }
            }
            () = self.stopping().cancelled() => {}
        }
    }

    /// Connects a server for an owner, and notes what came of it; nothing came of it if the owner's secrets are others by
    /// then.
    async fn connect_now(
        &self,
        owner: &Owner,
        server: &ToolServer,
        given: Sha256,
        values: &BTreeMap<SecretName, SecretString>,
    ) -> StoreResult<Option<OwnerServer>> {
        let (connections, name) = (self.inner.servers.connections(), &server.name);
        let key = key_of(owner, name);
        let connected = match &connections.connector {
            Some(connector) => connector.connect(name, values).await,
            None => Err(format!("the MCP server `{name}` cannot be connected for an owner here")),
        };
        let now_set = match self.values_of(owner, server).await {
            Ok(values) => Some(digest_of(&values)),
            Err(NoValues::Unusable(_)) => None,
            Err(NoValues::Store(error)) => return Err(error),
        };
        if now_set != Some(given) {
            return Ok(None);
        }
        Ok(Some(match connected {
            Ok(tools) => {
                let number = connections.last.fetch_add(1, Relaxed) + 1;
                let connection = Connection { number, given, tools: tools.into() };
                let shown = connection.shown(name);
                connections.failed().pop(&key);
                // The earlier one of the same owner, or the one that was not used for the longest time.
                let ended = connections.connected().push(key, connection);
                if let Some((_, ended)) = ended {
                    self.inner.toolsets.forget_connection(ended.number);
                }
                shown
            }
            Err(why) => {
                tracing::warn!(%owner, server = name, "{why}; continuing without its tools");
                let before = connections.failed().peek(&key).filter(|before| before.given == given).cloned();
                // One that is there was made with secrets that are set no more, perhaps at another node.
                self.end_connection(&key.0, name);
                let attempts = before.map_or(0, |before| before.attempts) + 1;
                let failure = Failure { given, at: self.now(), attempts, why };
                connections.failed().push(key, failure);
                OwnerServer::failing(name)
            }
        }))
    }

    /// Ends what this node knows of a server for an owner: its connection, once no activation has its tools any more, and
    /// why it could not be connected.
    pub(crate) fn end_connection(&self, owner: &Owner, server: &str) {
        if let Some(ended) = self.inner.servers.connections().forget(owner, server) {
            self.inner.toolsets.forget_connection(ended);
        }
    }
}

#[cfg(test)]
mod tests;
