//! The Restate of these tests.

use std::{
    net::{SocketAddr, TcpListener},
    process::Command,
    sync::Arc,
    time::Duration,
};

use entourage_engine::dispatch::{Advance, Dispatcher};
use entourage_restate::{Restate, Settings, register};
use entourage_store::MemoryStore;
use entourage_testkit::FakeClock;
use entourage_types::AgentId;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::worker::{PATIENCE, Worker};

/// So many servers run at once, each with 150 MB.
static PLACES: Semaphore = Semaphore::const_new(4);

/// A Restate for one test: what other tests have left to be called again is none of its work.
pub(crate) struct Server {
    pub ingress: Url,
    pub admin: Url,
    _place: SemaphorePermit<'static>,
}

/// Runs the script that starts and ends servers. Returns what it prints.
fn script(arguments: &[&str]) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/services/restate.sh");
    let done = Command::new("bash").arg(path).args(arguments).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

impl Server {
    /// Starts one; none where nobody asks for it.
    #[allow(clippy::print_stdout, reason = "whoever reads the log should know what was not shown")]
    pub(crate) async fn start() -> Option<Self> {
        if std::env::var_os("RESTATE").is_none() {
            println!("not run: it needs a Restate, which RESTATE=1 has it install and start");
            return None;
        }
        let place = PLACES.acquire().await.unwrap();
        let printed = script(&["start"]);
        let mut urls = printed.lines().map(|url| url.parse().unwrap());
        Some(Self { ingress: urls.next()?, admin: urls.next()?, _place: place })
    }

    /// Kills it, removes all that it had, and starts another one in its place.
    pub(crate) fn lose_everything(&self) {
        script(&["kill", plain(&self.ingress)]);
        script(&["start", plain(&self.ingress), plain(&self.admin)]);
    }

    /// Waits until a call for the agent is under way.
    pub(crate) async fn calls_for(&self, agent: AgentId) {
        let query = format!(
            "SELECT id FROM sys_invocation WHERE target_service_key = '{agent}' AND status = 'running'"
        );
        let called = async {
            let (client, url) = (reqwest::Client::new(), self.admin.join("query").unwrap());
            loop {
                let asked = client.post(url.clone()).header("accept", "application/json");
                let found = asked.json(&serde_json::json!({ "query": query })).send().await.unwrap();
                if !found.json::<serde_json::Value>().await.unwrap()["rows"].as_array().unwrap().is_empty() {
                    return;
                }
            }
        };
        assert!(tokio::time::timeout(PATIENCE, called).await.is_ok(), "Restate calls for it");
    }

    /// The settings of a node here: a machine that is slow cuts no activation.
    pub(crate) fn settings(&self, listen: SocketAddr) -> Settings {
        let (longest_pause, grace) = (Duration::from_millis(25), PATIENCE);
        Settings { longest_pause, grace, ..Settings::new(self.ingress.clone(), listen) }
    }

    /// Registers a node that will listen there: with one that has nothing to do.
    pub(crate) async fn register(&self, listen: SocketAddr) {
        let (store, clock) = (Arc::new(MemoryStore::default()), Arc::new(FakeClock::default()));
        let worker = Worker::new(Arc::<MemoryStore>::clone(&store));
        let node = Restate::new(self.settings(listen)).unwrap();
        let stop = CancellationToken::new();
        let registered = async {
            register(&self.admin, &uri(listen)).await.unwrap();
            stop.cancel();
        };
        let (ran, ()) =
            tokio::join!(node.run(worker as Arc<dyn Advance>, store, clock, stop.clone()), registered);
        ran.unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        script(&["kill", plain(&self.ingress)]);
    }
}

/// A URL as the script prints it.
fn plain(url: &Url) -> &str {
    url.as_str().trim_end_matches('/')
}

/// An address at which nobody listens: it was free a moment ago.
pub(crate) fn free_address() -> SocketAddr {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap()
}

/// The URI of a node that listens there.
pub(crate) fn uri(listen: SocketAddr) -> Url {
    format!("http://{listen}").parse().unwrap()
}
