//! Receivers of webhooks over HTTP: the signed requests they get, and the effects of their
//! responses.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::kit::{Database, eventually, first_tools};
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use entourage_engine::{Clock, NewAct, ReceiverRecord};
use entourage_server::Webhook;
use entourage_testkit::{FakeClock, World, WorldBuilder};
use entourage_types::{Answer, Occasion, Owner};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::sync::mpsc;

use crate::{acts, documents, webhooks::story};

const KEY: &[u8] = b"0123456789abcdef0123456789abcdef";

/// The first responses of a receiver; 204 after that.
type Answers = Arc<Mutex<Vec<Response>>>;

/// A receiver: its URL, and the requests it got.
struct Receiver {
    url: String,
    came: mpsc::UnboundedReceiver<(HeaderMap, Bytes)>,
}

async fn receiver(answers: Vec<Response>) -> Receiver {
    let (tell, came) = mpsc::unbounded_channel();
    let answers: Answers = Arc::new(Mutex::new(answers));
    let take = async |State((answers, tell)): State<(Answers, mpsc::UnboundedSender<_>)>,
                      headers: HeaderMap,
                      body: Bytes| {
        tell.send((headers, body)).unwrap();
        let mut answers = answers.lock().unwrap();
        if answers.is_empty() { StatusCode::NO_CONTENT.into_response() } else { answers.remove(0) }
    };
    let routes = Router::new().route("/hooks", post(take)).with_state((answers, tell));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}/hooks?token=of-the-address", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    Receiver { url, came }
}

impl Receiver {
    /// The next webhook: its id and its body, after verifying the signature.
    async fn next(&mut self, world: &World) -> (String, Value) {
        let came = tokio::time::timeout(Duration::from_secs(20), self.came.recv()).await;
        let (headers, body) = came.expect("it is told").unwrap();
        let header = |name: &str| headers[name].to_str().unwrap().to_owned();
        let mut mac = Hmac::<Sha256>::new_from_slice(KEY).unwrap();
        mac.update(format!("{}.{}.", header("webhook-id"), header("webhook-timestamp")).as_bytes());
        mac.update(&body);
        let signature = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        assert_eq!(header("webhook-signature"), signature);
        let now = (world.clock().now().micros() / 1_000_000).to_string();
        assert_eq!(header("webhook-timestamp"), now, "each attempt is signed with its own time");
        assert_eq!(header("content-type"), "application/json");
        (header("webhook-id"), serde_json::from_slice(&body).unwrap())
    }
}

fn secret() -> String {
    format!("whsec_{}", STANDARD.encode(KEY))
}

fn webhook(url: &str, events: &[Occasion]) -> Webhook {
    Webhook { url: url.into(), secret: secret().into(), events: events.to_vec(), owner: Owner::local() }
}

async fn world(database: &Database, webhooks: impl IntoIterator<Item = (&'static str, Webhook)>) -> World {
    let builder = World::builder(story()).tools(first_tools()).store(database.open());
    delivering(builder, webhooks).await
}

/// A world that delivers to these webhooks.
async fn delivering(
    builder: WorldBuilder,
    webhooks: impl IntoIterator<Item = (&'static str, Webhook)>,
) -> World {
    entourage_llm::install_tls();
    let webhooks: BTreeMap<_, _> =
        webhooks.into_iter().map(|(name, webhook)| (name.into(), webhook)).collect();
    let clock = FakeClock::default();
    let (outbox, transport) = entourage_server::outbox(&webhooks, Arc::new(clock.clone())).unwrap();
    let world = builder.clock(clock).engine(move |engine| engine.outbox(outbox.clone())).start().await;
    let engine = world.engine().clone();
    tokio::spawn(async move { engine.deliver(Arc::new(transport)).await });
    world
}

async fn record(world: &World, name: &str) -> ReceiverRecord {
    let records = world.client().receivers().await.unwrap();
    records.into_iter().find(|record| record.name == name).unwrap()
}

/// Waits until a receiver has no pending delivery, or only later ones.
async fn wait_until_nothing_is_due(world: &World, name: &str) -> ReceiverRecord {
    let is_over = |record: &ReceiverRecord| record.next_attempt.is_none_or(|due| due > world.clock().now());
    eventually("attempts end", || record(world, name), is_over).await
}

#[tokio::test]
async fn a_500_or_503_keeps_a_delivery_pending_and_repeats_it_under_its_id() {
    let failures = [StatusCode::INTERNAL_SERVER_ERROR, StatusCode::SERVICE_UNAVAILABLE];
    let mut here = receiver(failures.map(IntoResponse::into_response).into()).await;
    let database = Database::new();
    let world = world(&database, [("here", webhook(&here.url, &[Occasion::TaskCreated]))]).await;
    world.ask("Go.").await;
    let first = here.next(&world).await;
    for status in failures {
        let record = wait_until_nothing_is_due(&world, "here").await;
        assert_eq!((record.pending, record.given_up), (1, 0));
        let failure = record.last_failure.unwrap().error;
        assert!(failure.contains(status.as_str()), "{failure}");
        world.clock().advance(Duration::from_secs(60));
        assert_eq!(here.next(&world).await, first);
    }
    let record = wait_until_nothing_is_due(&world, "here").await;
    assert_eq!((record.pending, record.given_up, record.next_attempt), (0, 0, None));
}

#[tokio::test]
async fn a_receiver_gets_signed_bodies_in_the_vocabulary_of_the_chat_api() {
    let mut here = receiver(Vec::new()).await;
    let database = Database::new();
    let world = world(&database, [("here", webhook(&here.url, &Occasion::ALL))]).await;
    let root = world.ask("Go.").await;
    let question = world.question(root.id).await;
    let (agent, task) = (question.agent, question.task.unwrap());
    let mut told = BTreeMap::new();
    for _ in 0..3 {
        let (id, body) = here.next(&world).await;
        assert!(id.starts_with("dlv_"), "{id}");
        told.insert(body["type"].as_str().unwrap().to_owned(), body);
    }
    world.client().answer(question.id, Answer::Text("red".into())).await.unwrap();
    for _ in 0..2 {
        let (_, body) = here.next(&world).await;
        told.insert(body["type"].as_str().unwrap().to_owned(), body);
    }
    let at = world.clock().now();
    let of_task = |status: &str| {
        json!({
            "id": task, "chatId": root.id, "type": "agent", "name": "agent:researcher", "subAgentId": agent,
            "instruction": "look", "status": status, "createdAt": at, "updatedAt": at,
        })
    };
    assert_eq!(
        told["task.created"],
        json!({"type": "task.created", "timestamp": at, "data": of_task("pending")})
    );
    let mut done = of_task("success");
    done["result"] = json!("red!");
    assert_eq!(told["task.completed"]["data"], done);
    let waiting = &told["task.waiting"]["data"];
    assert_eq!(
        (&waiting["id"], &waiting["status"], &waiting["question"]),
        (&json!(task), &json!("waiting"), &json!("Which?"))
    );
    let opened = &told["question.opened"]["data"];
    assert_eq!((&opened["taskId"], &opened["status"]), (&json!(task), &json!("open")));
    assert_eq!(told["question.closed"]["data"]["answer"], "red");
    assert_eq!(wait_until_nothing_is_due(&world, "here").await.pending, 0);

    // The secret is in no row, and neither is the address.
    for file in std::fs::read_dir(database.path().parent().unwrap()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        for hidden in [secret().as_bytes(), KEY, b"of-the-address"] {
            assert!(!bytes.windows(hidden.len()).any(|window| window == hidden));
        }
    }
}

/// Shows: S5-R102, S5-R103, S5-R104, S5-R105, S5-R106, S5-R107, S5-R123.
#[tokio::test]
async fn a_receiver_gets_the_event_of_a_message_to_the_document_agent() {
    let mut here = receiver(Vec::new()).await;
    let decision = json!({ "should_create": true, "document_name": "Stew", "document_content": "# Stew" });
    let builder = acts::builder(acts::deciding(decision.clone(), ""));
    let world = delivering(builder, [("here", webhook(&here.url, &[Occasion::AgentActionCompleted]))]).await;
    let client = world.client();
    let project = documents::new_project(&client, "Kitchen").await;
    let message = "Write down a stew.".to_owned();
    client.act(NewAct { message, project: Some(project.id), chat: None, open: None }, None).await.unwrap();
    let (_, body) = here.next(&world).await;
    assert_eq!(
        body,
        json!({
            "type": "agent_action.completed",
            "timestamp": world.clock().now(),
            "data": {
                "user_id": "local", "chat_id": 1, "project_id": 1, "document_id": 1,
                "action_type": "agent_action", "success": true,
                "metadata": {
                    "decision": decision, "web_search_performed": false, "document_updated": false,
                    "needs_clarification": false, "pending_confirmation": false, "should_create": true,
                },
            },
        })
    );
    assert_eq!(wait_until_nothing_is_due(&world, "here").await.pending, 0);
}

#[tokio::test]
async fn a_failed_delivery_repeats_under_its_id_and_honours_retry_after() {
    let busy = (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "600")]).into_response();
    let elsewhere = (StatusCode::FOUND, [("location", "http://127.0.0.1:9/")]).into_response();
    let mut here = receiver(vec![elsewhere, busy]).await;
    let nobody = webhook("http://127.0.0.1:9/", &[Occasion::TaskCreated]);
    let database = Database::new();
    let world =
        world(&database, [("here", webhook(&here.url, &[Occasion::TaskCreated])), ("nobody", nobody)]).await;
    let root = world.ask("Go.").await;
    world.question(root.id).await;
    let (first, body) = here.next(&world).await;
    let failed = wait_until_nothing_is_due(&world, "here").await;
    let failure = failed.last_failure.unwrap();
    assert_eq!((failed.pending, failure.attempts, &*failure.delivery.to_string()), (1, 1, &*first));
    assert!(failure.error.contains("302") && failure.error.contains("redirect"), "{}", failure.error);

    world.clock().advance(Duration::from_secs(6));
    assert_eq!(here.next(&world).await, (first.clone(), body.clone()), "the same again");
    let busy = wait_until_nothing_is_due(&world, "here").await;
    assert!(busy.last_failure.unwrap().error.contains("429"));
    let wait = busy.next_attempt.unwrap().since(world.clock().now());
    assert!((600..610).contains(&wait.as_secs()), "{wait:?}");

    world.clock().advance(wait);
    assert_eq!(here.next(&world).await, (first, body));
    assert_eq!(wait_until_nothing_is_due(&world, "here").await.pending, 0);
    let failure = wait_until_nothing_is_due(&world, "nobody").await.last_failure.unwrap();
    assert!(failure.error.to_lowercase().contains("refused"), "{}", failure.error);
}

#[tokio::test]
async fn invalid_webhook_settings_are_refused_without_showing_the_secret() {
    let refused = |webhook: Webhook| {
        let webhooks = BTreeMap::from([("crm".to_owned(), webhook)]);
        let refused = entourage_server::outbox(&webhooks, Arc::new(FakeClock::default()));
        refused.err().expect("it is refused").to_string()
    };
    let url = "http://127.0.0.1:9/hooks";
    assert!(refused(webhook("ftp://here", &Occasion::ALL)).contains("webhooks.crm"));
    assert!(refused(webhook(url, &[])).contains("`events` is empty"));
    let text = refused(Webhook { secret: "whsec_dG9vc2hvcnQ=".into(), ..webhook(url, &Occasion::ALL) });
    assert!(text.contains("openssl rand") && !text.contains("dG9v"), "{text}");
}
