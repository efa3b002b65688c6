//! The server of these tests, and a database of its own for each.

use std::{
    io::Write as _,
    sync::{
        Once,
        atomic::{AtomicU32, Ordering},
    },
};

use entourage_store::{Result, Store};
use entourage_store_postgres::{PostgresDatabase, PostgresStore, Settings};
use entourage_types::{Agent, Author, Owner, Post, PostBody, PostId, Scope, Time, WakeupId};
use tokio_postgres::{NoTls, types::FromSql};

/// How many databases this process has made.
static MADE: AtomicU32 = AtomicU32::new(0);

/// Whether it was said that there is no server.
static SAID: Once = Once::new();

/// A moment.
pub(crate) const NOW: Time = Time::from_micros(1_790_000_000_000_000);

/// The URL of the server; none if there is none.
pub(crate) fn url() -> Option<String> {
    let url = std::env::var("ENTOURAGE_TEST_POSTGRES").ok();
    assert!(
        url.is_some() || std::env::var_os("POSTGRES").is_none(),
        "ENTOURAGE_TEST_POSTGRES has no URL of a PostgreSQL server"
    );
    if url.is_none() {
        // Past what the test's harness keeps to itself of tests that succeed.
        SAID.call_once(|| {
            let said = "SKIPPED: the tests of the store on PostgreSQL need ENTOURAGE_TEST_POSTGRES, the URL of a server, as \
                        `tests/services/postgres.sh start` prints it; POSTGRES=1 demands one\n";
            std::io::stderr().write_all(said.as_bytes()).unwrap();
        });
    }
    url
}

/// An empty database, which is dropped with this.
pub(crate) struct Scratch {
    server: String,
    name: String,
}

/// Runs statements on a database, each by itself.
pub(crate) async fn run(url: &str, statements: &[String]) {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    for statement in statements {
        client.batch_execute(statement).await.unwrap();
    }
    drop(client);
    connection.await.unwrap().unwrap();
}

/// Runs something from a thread that may be at work for a runtime.
fn apart(work: impl Future<Output = ()> + Send) {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    std::thread::scope(|scope| scope.spawn(|| runtime().block_on(work)).join().unwrap());
}

impl Scratch {
    /// Creates a database, if there is a server.
    pub(crate) fn new() -> Option<Self> {
        let server = url()?;
        let name = format!("test_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        apart(run(&server, &[format!("CREATE DATABASE {name}")]));
        Some(Self { server, name })
    }

    /// Its URL.
    pub(crate) fn url(&self) -> String {
        let mut url = url::Url::parse(&self.server).unwrap();
        url.set_path(&self.name);
        url.into()
    }

    /// Its URL with these parameters alone.
    pub(crate) fn with(&self, parameters: &str) -> String {
        let mut url = url::Url::parse(&self.url()).unwrap();
        url.set_query(Some(parameters));
        url.into()
    }

    /// The URL by another port, that of a proxy which does not know TLS.
    pub(crate) fn by_port(&self, port: u16) -> String {
        let mut url = url::Url::parse(&self.url()).unwrap();
        url.set_port(Some(port)).unwrap();
        url.set_query(Some("sslmode=disable"));
        url.into()
    }

    /// Makes it that of a role which may have this many connections. Returns the URL for that role.
    pub(crate) async fn limited(&self, connections: u32) -> String {
        let role = format!("{}_few", self.name);
        let made = [
            format!("CREATE ROLE {role} LOGIN CONNECTION LIMIT {connections}"),
            format!("ALTER DATABASE {} OWNER TO {role}", self.name),
        ];
        run(&self.server, &made).await;
        let mut url = url::Url::parse(&self.url()).unwrap();
        url.set_username(&role).unwrap();
        url.into()
    }

    /// The address of the server.
    pub(crate) fn server(&self) -> (String, u16) {
        let url = url::Url::parse(&self.server).unwrap();
        (url.host_str().unwrap().to_owned(), url.port().unwrap_or(5432))
    }

    /// Opens it.
    pub(crate) async fn open(&self, settings: Settings) -> Result<PostgresStore> {
        PostgresDatabase::new(&self.url(), settings)?.connect().await
    }

    /// The answer to a query, one value.
    async fn value<T: for<'r> FromSql<'r>>(&self, query: &str) -> T {
        let (client, connection) = tokio_postgres::connect(&self.url(), NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        let found = client.query_one(query, &[]).await.unwrap().get(0);
        drop(client);
        connection.await.unwrap().unwrap();
        found
    }

    /// The answer to a query, one number.
    pub(crate) async fn number(&self, query: &str) -> i64 {
        self.value(query).await
    }

    /// The answer to a query, one word.
    pub(crate) async fn word(&self, query: &str) -> String {
        self.value(query).await
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let drop = [
            format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name),
            format!("DROP ROLE IF EXISTS {}_few", self.name),
        ];
        apart(run(&self.server, &drop));
    }
}

/// A new agent at the top of a tree.
pub(crate) fn root() -> Agent {
    Agent::root(Owner::new("ann"), "helper", "helps", NOW)
}

/// A post of a person to an agent.
pub(crate) fn post(agent: &Agent) -> Post {
    let body = PostBody::Message {
        from: Author::User,
        text: "hello".to_owned(),
        task: None,
        queued: false,
        options: None,
    };
    Post { id: PostId::new(), agent: agent.id, at: NOW, wakeup: WakeupId::new(), body }
}

/// How many events a tree has.
pub(crate) async fn events(store: &PostgresStore, agent: &Agent) -> usize {
    store.events(&Scope::All, agent.root, 0, 1_000).await.unwrap().len()
}
