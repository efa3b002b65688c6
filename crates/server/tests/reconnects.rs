//! Clients that connect and disconnect at any event while agents work and the server restarts: none of them
//! misses an event, sees one twice, or sees two out of order.

use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use entourage_api::Event;
use entourage_server::Settings;
use entourage_store::{Error, Store};
use entourage_store_sqlite::{Durability, SqliteStore};
use futures::StreamExt;
use reqwest::Client;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::site::Site;

const TREES: usize = 4;
const CLIENTS: usize = 10;
/// The number of reconnects after which the server restarts, again and again.
const RESTART_EVERY: usize = 125;

/// How many reconnects there are; 50,000 in the long run.
fn reconnects() -> usize {
    std::env::var("RECONNECTS").ok().and_then(|count| count.parse().ok()).unwrap_or(500)
}

/// Pseudorandom numbers that are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// The data of each event of each tree that any client has seen; it must be the same for every client.
type Seen = Mutex<HashMap<(String, u64), Value>>;

struct World {
    address: watch::Receiver<Option<String>>,
    seen: Seen,
    reconnects: AtomicUsize,
}

async fn open_site(path: &Path) -> Site {
    let settings = entourage_store_sqlite::Settings { durability: Durability::Normal, ..Default::default() };
    let opens = async {
        loop {
            match SqliteStore::open(path, settings.clone()) {
                Ok(store) => return Arc::new(store),
                // The previous server has not quite ended.
                Err(Error::InUse { .. }) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        }
    };
    let store: Arc<dyn Store> = tokio::time::timeout(Duration::from_secs(30), opens).await.expect("it opens");
    Site::over(store, Settings::default()).await
}

/// Connects from a cursor on, reads up to `wanted` events, checks each, and returns the last number.
async fn visit(world: &World, http: &Client, tree: &str, after: u64, wanted: u64) -> u64 {
    let mut address = world.address.clone();
    let Some(at) = address.wait_for(Option::is_some).await.unwrap().clone() else { return after };
    let request = http.get(format!("{at}/v1/agents/{tree}/events")).header("Last-Event-ID", after);
    let Ok(response) = request.send().await else { return after };
    // A server that is stopping accepts no stream.
    if response.status().is_server_error() {
        return after;
    }
    assert_eq!(response.status(), 200);
    let (mut pieces, mut buffer, mut last) = (response.bytes_stream(), Vec::new(), after);
    while last < after + wanted {
        let next = tokio::time::timeout(Duration::from_secs(20), pieces.next()).await;
        let Some(Ok(piece)) = next.expect("a sign of life") else { return last };
        buffer.extend_from_slice(&piece);
        while let Some(end) = buffer.windows(2).position(|two| two == b"\n\n") {
            let block = String::from_utf8(buffer.drain(..end + 2).collect()).unwrap();
            let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name).map(str::trim));
            let Some(id) = field("id:") else { continue };
            let id: u64 = id.parse().unwrap();
            assert_eq!(id, last + 1, "an event was lost, doubled or out of order");
            last = id;
            let data: Value = serde_json::from_str(field("data:").unwrap()).unwrap();
            let mut seen = world.seen.lock().unwrap();
            let known = seen.entry((tree.to_owned(), id)).or_insert_with(|| data.clone());
            assert_eq!(*known, data, "an event has changed");
        }
    }
    last
}

async fn reconnect_repeatedly(world: Arc<World>, trees: Arc<Vec<String>>, client: usize) {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15 ^ (client as u64 + 1));
    let http = Client::builder().no_proxy().build().unwrap();
    let tree = &trees[client % TREES];
    let mut last = 0;
    while world.reconnects.fetch_add(1, Ordering::SeqCst) < reconnects() {
        // Mostly the client resumes where it was; sometimes it reads again what it has seen.
        let wanted = chance.below(12);
        let from = if chance.below(4) == 0 { chance.below(last + 1) } else { last };
        let until = visit(&world, &http, tree, from, wanted).await;
        last = last.max(until);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reconnecting_clients_miss_no_event_while_the_server_restarts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("entourage.db");
    let mut site = open_site(&path).await;
    let mut trees = Vec::new();
    for _ in 0..TREES {
        trees.push(site.make("tell note").await);
    }
    let trees = Arc::new(trees);
    let (open, address) = watch::channel(Some(format!("http://{}", site.address)));
    let world = Arc::new(World { address, seen: Seen::default(), reconnects: AtomicUsize::new(0) });
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| tokio::spawn(reconnect_repeatedly(Arc::clone(&world), Arc::clone(&trees), client)))
        .collect();
    let (mut restart_at, mut restarts) = (RESTART_EVERY, 0);
    for tree in trees.iter().cycle() {
        if clients.iter().all(tokio::task::JoinHandle::is_finished) {
            break;
        }
        let begun = site.client().last_event(tree.parse().unwrap()).await.unwrap();
        let messages = format!("/v1/agents/{tree}/messages");
        site.post(&messages, &json!({ "text": "tell note" })).await.expect(202);
        let visits = world.reconnects.load(Ordering::SeqCst);
        if visits >= restart_at {
            (restart_at, restarts) = (visits + RESTART_EVERY, restarts + 1);
            open.send_replace(None);
            let Site { engine, stop, served, http, .. } = site;
            stop.cancel();
            engine.stopping().cancel();
            served.await.unwrap().unwrap();
            drop((engine, http));
            site = open_site(&path).await;
            open.send_replace(Some(format!("http://{}", site.address)));
        }
        site.follow(tree, begun).await.until(|frame| frame.is_status_of(tree, "succeeded")).await;
    }
    for client in clients {
        client.await.unwrap();
    }
    assert!(restarts >= 3, "the server was restarted {restarts} times");
    let seen = std::mem::take(&mut *world.seen.lock().unwrap());
    println!("{} reconnects, {restarts} restarts, {} events seen", reconnects(), seen.len());
    assert!(seen.len() > 500, "{} events were seen", seen.len());
    for ((tree, number), data) in seen {
        let kept = site.client().events(tree.parse().unwrap(), number - 1, 1).await.unwrap();
        let kept: Event = kept.into_iter().next().unwrap().into();
        assert_eq!(serde_json::from_value::<Event>(data).unwrap(), kept);
    }
}
