//! A tree of a hundred agents, each with a request under way over real HTTP: ending the tree ends
//! all of them at once.

use std::{
    convert::Infallible,
    future::{pending, ready},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::kit::{bare, first_tools};
use axum::{
    body::{Body, Bytes},
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
    routing::post,
};
use entourage_engine::Kinds;
use entourage_llm::{Connection, Provider, Router, Settings};
use entourage_testkit::World;
use entourage_types::{Action, Kind, Limits, Owner, Status};
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::watch;

const AGENTS: usize = 100;
const PATIENCE: Duration = Duration::from_secs(60);

/// A provider that answers the first request, and begins to answer every other.
#[derive(Clone)]
struct NeverEndingProvider {
    asked: Arc<AtomicUsize>,
    under_way: watch::Sender<usize>,
}

/// A request whose answer is under way, on an open connection.
struct UnderWay(watch::Sender<usize>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.send_modify(|under_way| *under_way -= 1);
    }
}

impl NeverEndingProvider {
    async fn start() -> (Self, String) {
        let mute = Self { asked: Arc::default(), under_way: watch::Sender::new(0) };
        let routes =
            axum::Router::new().route("/v1/chat/completions", post(Self::answer)).with_state(mute.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        (mute, address)
    }

    /// Reads the request, as providers do: otherwise a server cannot notice that its client has
    /// disconnected.
    async fn answer(State(mute): State<Self>, _: Bytes) -> Response {
        let spawns = mute.asked.fetch_add(1, Ordering::SeqCst) == 0;
        let body = if spawns { Body::from(spawning()) } else { mute.beginning() };
        ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
    }

    /// The beginning of an answer that never ends.
    fn beginning(&self) -> Body {
        self.under_way.send_modify(|under_way| *under_way += 1);
        let under_way = UnderWay(self.under_way.clone());
        let begun = format!("data: {}\n\n", chunk(json!({"role": "assistant", "content": "Well"}), None));
        let never = stream::once(async move {
            let _until_dropped = under_way;
            pending::<Result<String, Infallible>>().await
        });
        Body::from_stream(stream::once(ready(Ok(begun))).chain(never))
    }

    /// Waits until this many requests are under way.
    async fn has_under_way(&self, wanted: usize) {
        let mut under_way = self.under_way.subscribe();
        let reached = under_way.wait_for(|under_way| *under_way == wanted);
        let reached = tokio::time::timeout(PATIENCE, reached).await.map(|reached| reached.is_ok());
        assert_eq!(reached, Ok(true), "{} instead of {wanted}", *self.under_way.borrow());
    }
}

fn chunk(delta: Value, finish: Option<&str>) -> Value {
    json!({"id": "c1", "object": "chat.completion.chunk", "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

/// A turn that delegates work to all the others, as a provider streams it.
fn spawning() -> String {
    let call = |index: usize| {
        let arguments = json!({"kind": "worker", "task": format!("part {index}")}).to_string();
        json!({"index": index, "id": format!("call_{index}"), "type": "function",
            "function": {"name": "spawn_agent", "arguments": arguments}})
    };
    let calls: Vec<Value> = (1..AGENTS).map(call).collect();
    let chunks = [
        chunk(json!({"role": "assistant", "tool_calls": calls}), None),
        chunk(json!({}), Some("tool_calls")),
    ];
    let lines: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    lines + "data: [DONE]\n\n"
}

fn kinds() -> Kinds {
    let limits =
        Limits { max_children: 200, max_tree: 200, max_same_tool: 200, max_depth: 1, ..Limits::default() };
    let lead = Kind { peers: vec!["worker".into()], limits, ..bare("assistant") };
    Kinds::none().with(lead).with(bare("worker"))
}

/// Deletes such a tree, and returns how long it took until no request was left.
async fn time_to_delete() -> Duration {
    let (provider, address) = NeverEndingProvider::start().await;
    let connection =
        Connection { base_url: Some(address), concurrency: Some(2 * AGENTS), ..Connection::default() };
    let settings = Settings { providers: [(Provider::Compatible, connection)].into(), ..Settings::default() };
    let model = Router::new(settings, "compatible::m").unwrap();
    let world = World::builder(model).tools(first_tools()).kinds(kinds()).start().await;
    let root = world.ask("Do it all.").await;
    provider.has_under_way(AGENTS).await;

    let began = Instant::now();
    let person = world.engine().client(Owner::local());
    person.intervene(root.id, Action::Delete, None).await.unwrap();
    let acknowledged = began.elapsed();
    provider.has_under_way(0).await;
    let ended = began.elapsed();
    println!("{AGENTS} requests ended after {ended:?}, the deletion was acknowledged after {acknowledged:?}");
    let tree = world.client().tree(root.id).await.unwrap();
    assert_eq!(tree.len(), AGENTS);
    assert!(tree.iter().all(|agent| agent.status == Status::Cancelled));
    assert_eq!(provider.asked.load(Ordering::SeqCst), AGENTS + 1, "nobody asks again");
    ended
}

/// Measures real time. Other processes may use the cores for a while: two tries of five may be
/// late.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleting_a_tree_of_a_hundred_agents_ends_all_their_requests_within_a_second() {
    entourage_llm::install_tls();
    let mut took = Vec::new();
    while took.len() < 5 {
        took.push(time_to_delete().await);
    }
    took.sort();
    assert!(took[2] <= Duration::from_secs(1), "{took:?}");
}
