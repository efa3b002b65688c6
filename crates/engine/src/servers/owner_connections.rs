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
use entourage_store::{Error as StoreError, Result as StoreResult};
use entourage_tools::Tool;
use entourage_types::{Backoff, Kind, Owner, Scope, Secret, SecretName, Sha256, Switches, Time};
use futures::future::join_all;
use lru::LruCache;
use secrecy::{ExposeSecret, SecretString};

use super::ToolServer;
use crate::{Engine, digest::sha256};

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
    /// It is not, for this reason.
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
    why: String,
}

/// What is known of a server for an owner.
enum Known {
    Connected(Connection),
    /// It fails, for this reason; whether another attempt is due.
    Fails {
        why: String,
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
        let key = (owner.clone(), server.to_owned());
        if let Some(connection) = self.connected().peek(&key) {
            return Some(connection.shown(server));
        }
        let failure = self.failed().peek(&key).cloned()?;
        Some(OwnerServer::away(server, failure.why))
    }

    /// Ends the connection of a server for an owner if it was made with these secrets. Returns its number.
    fn forget_if_given(&self, key: &Key, given: Sha256) -> Option<u64> {
        let mut connected = self.connected();
        connected.peek(key).filter(|connection| connection.given == given)?;
        connected.pop(key).map(|connection| connection.number)
    }

    /// Ends what is known of a server for an owner. Returns the number of the connection, if there was one.
    fn forget(&self, owner: &Owner, server: &str) -> Option<u64> {
        let key = (owner.clone(), server.to_owned());
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
        (since < TELLS).then_some(Known::Fails { why: failure.why, is_due })
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
        let key = (owner.clone(), name.clone());
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
        if let Some(known) = connections.known(&key, given, self.now()) {
            return Ok(match known {
                Known::Connected(connection) => connection.shown(name),
                Known::Fails { why, is_due } => {
                    if is_due {
                        self.try_again(key, given, values);
                    }
                    OwnerServer::away(name, why)
                }
            });
        }
        let turn = connections.turn(&key);
        let _turn = turn.lock.lock().await;
        // Whoever had the turn before has tried it.
        Ok(match connections.known(&key, given, self.now()) {
            Some(Known::Connected(connection)) => connection.shown(name),
            Some(Known::Fails { why, .. }) => OwnerServer::away(name, why),
            None => self.connect_now(key, given, &values).await,
        })
    }

    /// Has a server that fails tried again in the background, unless somebody tries it now.
    fn try_again(&self, key: Key, given: Sha256, values: BTreeMap<SecretName, SecretString>) {
        let engine = self.clone();
        tokio::spawn(async move {
            let connections = engine.inner.servers.connections();
            let turn = connections.turn(&key);
            if let Ok(_turn) = turn.lock.try_lock() {
                // Whoever had the turn before may have tried it since.
                let known = connections.known(&key, given, engine.now());
                if !matches!(known, Some(Known::Fails { is_due: true, .. })) {
                    return;
                }
                tokio::select! {
                    _ = engine.connect_now(key.clone(), given, &values) => {}
                    () = engine.stopping().cancelled() => {}
                }
            }
        });
    }

    /// Connects a server for an owner, and notes what came of it.
    async fn connect_now(
        &self,
        key: Key,
        given: Sha256,
        values: &BTreeMap<SecretName, SecretString>,
    ) -> OwnerServer {
        let connections = self.inner.servers.connections();
        let (owner, name) = key.clone();
        let connected = match &connections.connector {
            Some(connector) => connector.connect(&name, values).await,
            None => Err(format!("the MCP server `{name}` cannot be connected for an owner here")),
        };
        match connected {
            Ok(tools) => {
                let number = connections.last.fetch_add(1, Relaxed) + 1;
                let connection = Connection { number, given, tools: tools.into() };
                let shown = connection.shown(&name);
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
                // One that was made with other secrets meanwhile stays.
                if let Some(ended) = connections.forget_if_given(&key, given) {
                    self.inner.toolsets.forget_connection(ended);
                }
                let attempts = before.map_or(0, |before| before.attempts) + 1;
                let failure = Failure { given, at: self.now(), attempts, why: why.clone() };
                connections.failed().push(key, failure);
                OwnerServer::away(&name, why)
            }
        }
    }

    /// Ends what this node knows of a server for an owner: its connection, once no activation has its tools any more, and
    /// why it could not be connected.
    pub(crate) fn end_connection(&self, owner: &Owner, server: &str) {
        if let Some(ended) = self.inner.servers.connections().forget(owner, server) {
            self.inner.toolsets.forget_connection(ended);
        }
    }

    /// The values of the secrets that a server needs.
    async fn values_of(
        &self,
        owner: &Owner,
        server: &ToolServer,
    ) -> Result<BTreeMap<SecretName, SecretString>, NoValues> {
        let (mut values, server_name) = (BTreeMap::new(), &server.name);
        for name in &server.secrets {
            let id = Secret::id_of(owner, name);
            let Some(secret) = self.store().record::<Secret>(&Scope::from(owner), id).await? else {
                return Err(NoValues::Unusable(not_set(server_name, name)));
            };
            match self.secret_keys().and_then(|keys| keys.open(&secret)) {
                Ok(value) => drop(values.insert(name.clone(), value)),
                Err(error) => {
                    let why = format!("the MCP server `{server_name}` cannot be connected: {error}");
                    return Err(NoValues::Unusable(why));
                }
            }
        }
        Ok(values)
    }
}

/// Why there are no values for a server.
enum NoValues {
    /// One is not set, or cannot be opened: the server cannot be used.
    Unusable(String),
    /// They could not be read.
    Store(StoreError),
}

impl From<StoreError> for NoValues {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Why a server cannot be used whose owner has not set a secret.
pub(crate) fn not_set(server: &str, secret: &SecretName) -> String {
    format!(
        "the MCP server `{server}` needs the secret `{secret}` of its user, which is not set: `entourage secrets set \
         {secret}`, or PUT /v1/secrets/{secret}"
    )
}

/// The digest of secrets, by which others are told from them.
fn digest_of(values: &BTreeMap<SecretName, SecretString>) -> Sha256 {
    let parts = values.iter().map(|(name, value)| {
        let value = value.expose_secret();
        format!("{name} {} {value}\n", value.len())
    });
    let all = SecretString::from(parts.collect::<String>());
    sha256(all.expose_secret())
}
