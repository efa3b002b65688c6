//! Who starts and follows an exploration by an address: names, tokens, links, and positions that do not fit.

use std::{sync::Arc, time::Duration};

use entourage_server::{Auth, Jwt, Settings};
use entourage_store::Store;
use entourage_store_sqlite::SqliteStore;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    auth::{settings, token_of},
    chunks::Chunks,
    explorations::{kinds, open},
    site::{Site, engine_of, send},
};

async fn active(site: &Site) -> usize {
    site.get("/agent/tree").await.expect(200).as_object().unwrap().len()
}

async fn token(site: &Site, name: &str) -> String {
    let made = site.post("/agent/stream-token", &json!({"agentId": name})).await.expect(201);
    made["token"].as_str().unwrap().to_owned()
}

/// The agent of a stream, by the question that it shows.
async fn asks(mut stream: Chunks) -> Value {
    stream.until("user-query").await.last().unwrap()["queryId"].clone()
}

/// Shows: S3-R096.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_pages_with_a_token_each_follow_the_one_agent_that_they_name() {
    let site = open().await;
    for round in 0..10 {
        let name = format!("tab{round}");
        let mut opened = Vec::new();
        for _ in 0..3 {
            let address =
                format!("/agent/stream?agentId={name}&prompt=ask&token={}", token(&site, &name).await);
            opened.push(tokio::spawn(site.request(Method::GET, &address).send()));
        }
        let mut agents = Vec::new();
        for response in futures::future::join_all(opened).await {
            agents.push(asks(Chunks::of(response.unwrap().unwrap()).await).await);
        }
        agents.dedup();
        assert_eq!(agents.len(), 1, "{agents:?}");
    }
    assert_eq!(active(&site).await, 10);
}

/// The same address goes on with the same agent, although its name has come to be another's.
///
/// Shows: S3-R096.
#[tokio::test]
async fn a_token_for_a_name_needs_no_name_beside_it_and_outlasts_the_name() {
    let site = open().await;
    let made = token(&site, "scout").await;
    let first = asks(Chunks::get(&site, &format!("?prompt=ask&token={made}"), None).await).await;
    let again = asks(Chunks::get(&site, &format!("?token={made}"), None).await).await;
    assert_eq!(again, first, "also without a prompt");
    site.post("/agent/scout/intervene", &json!({"userComment": "delete"})).await.expect(200);
    let second = asks(Chunks::post(&site, &json!({"prompt": "ask", "agentId": "scout"})).await).await;
    assert_ne!(second, first);
    let mut old = Chunks::get(&site, &format!("?agentId=scout&token={made}"), None).await;
    assert_eq!(old.until("user-query").await.last().unwrap()["queryId"], first);
}

/// A token starts nothing after the caller's own token has expired.
#[tokio::test]
async fn a_stream_token_says_until_when_it_starts_an_agent() {
    let site = Site::of_kinds_with(kinds(), settings()).await;
    let short =
        entourage_server::mint(&settings(), &entourage_types::Owner::new("ann"), Duration::from_secs(5));
    let ann = site.bearing(&short.unwrap());
    let made = ann.post("/agent/stream-token", &json!({})).await.expect(201);
    let until: entourage_types::Time = serde_json::from_value(made["expires_at"].clone()).unwrap();
    assert!(until <= entourage_types::Time::now() + Duration::from_secs(6), "{made}");
}

/// What was given out before the way of authentication changed is of no use after that.
#[tokio::test]
async fn a_stream_token_is_of_no_use_once_callers_are_authenticated_in_another_way() {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().expect("a store"));
    let serve = async |settings: Settings| {
        let site = Site::serving(engine_of(Arc::clone(&store), kinds()), settings).await;
        site.work();
        site
    };
    let other_key = || {
        let Auth::Jwt(jwt) = settings().auth else { panic!("tests authenticate by token") };
        let key = "another secret of thirty-two bytes".to_owned().into();
        Settings { auth: Auth::Jwt(Jwt { key, ..jwt }), ..Settings::default() }
    };
    let open = serve(Settings::default()).await;
    let locals = token(&open, "mine").await;
    asks(Chunks::get(&open, &format!("?prompt=ask&token={locals}"), None).await).await;
    open.stop.cancel();
    let keyed = serve(settings()).await;
    keyed.get(&format!("/agent/stream?token={locals}")).await.problem(401, "unauthorized");
    let anns = token(&keyed.bearing(&token_of("ann")), "anns").await;
    asks(Chunks::get(&keyed, &format!("?prompt=ask&token={anns}"), None).await).await;
    keyed.stop.cancel();
    let restarted = serve(settings()).await;
    asks(Chunks::get(&restarted, &format!("?token={anns}"), None).await).await;
    restarted.stop.cancel();
    let rotated = serve(other_key()).await;
    rotated.get(&format!("/agent/stream?token={anns}")).await.problem(401, "unauthorized");
}

/// A page that is opened, a preview and a check of an address start no work.
#[tokio::test]
async fn what_only_looks_at_an_address_starts_no_agent() {
    let site = open().await;
    let address = "/agent/stream?prompt=ask&agentId=scout";
    let head = send(site.request(Method::HEAD, address)).await;
    assert_eq!((head.status.as_u16(), &head.headers["allow"]), (405, &"GET,POST".parse().unwrap()));
    for (header, value) in [
        ("accept", "text/html,application/xhtml+xml,*/*;q=0.8"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-mode", "no-cors"),
        ("sec-purpose", "prefetch;prerender"),
        ("purpose", "prefetch"),
    ] {
        let visit = site.request(Method::GET, address).header(header, value);
        send(visit).await.problem(403, "page-visit");
    }
    assert_eq!(active(&site).await, 0);
    let source = site.request(Method::GET, address).header("accept", "text/event-stream");
    asks(Chunks::open(source.header("sec-fetch-mode", "cors")).await).await;
}

/// Shows: S3-R096.
#[tokio::test]
async fn an_agent_is_followed_by_its_name_alone_also_after_its_end() {
    let site = open().await;
    let mut stream = Chunks::get(&site, "?prompt=hello&agentId=scout", None).await;
    let seen = stream.until("finish").await;
    let mut again = Chunks::get(&site, "?agentId=scout", None).await;
    assert_eq!(again.until("finish").await.last(), seen.last());
    assert_eq!(site.get("/v1/agents").await.expect(200)["data"].as_array().unwrap().len(), 1);
    // A page, too, which needs a token.
    let made = token(&site, "scout").await;
    for address in [format!("?token={made}"), format!("?agentId=scout&token={made}")] {
        let mut by_token = Chunks::get(&site, &address, None).await;
        assert_eq!(by_token.until("finish").await.last(), seen.last());
    }
    site.get("/agent/stream?agentId=nobody").await.problem(404, "not-found");
    let blank = site.get("/agent/stream").await.problem(422, "invalid-request");
    assert!(blank.detail.contains("blank"), "{}", blank.detail);
}

/// Shows: S3-R100.
#[tokio::test]
async fn what_cannot_be_a_position_a_name_or_a_text_is_refused_and_starts_nothing() {
    let site = open().await;
    let [mut one, mut other] =
        [Chunks::post(&site, &json!({"prompt": "ask", "agentId": "one"})).await, open_other(&site).await];
    one.until("user-query").await;
    other.until("user-query").await;
    let last = other.last_id.clone().unwrap();
    let of_another = site.request(Method::GET, "/agent/stream?agentId=one").header("last-event-id", last);
    send(of_another).await.problem(400, "invalid-header");
    let strange = site.request(Method::GET, "/agent/stream?prompt=ask").header("last-event-id", "é");
    send(strange).await.problem(400, "invalid-header");
    site.get("/agent/stream?prompt=%ff").await.problem(400, "invalid-query");
    for prompt in ["\u{200b}", " \u{feff}\n"] {
        site.post("/agent/stream", &json!({"prompt": prompt})).await.problem(422, "invalid-request");
    }
    for name in ["@last", "a\u{202e}b", "\u{200b}", "a\u{ad}b"] {
        let body = json!({"prompt": "ask", "agentId": name});
        site.post("/agent/stream", &body).await.problem(422, "invalid-request");
    }
    assert_eq!(active(&site).await, 2);
    let fine = json!({"prompt": "ask", "agentId": "two", "metadata": null});
    asks(Chunks::post(&site, &fine).await).await;
}

async fn open_other(site: &Site) -> Chunks {
    Chunks::post(site, &json!({"prompt": "ask", "agentId": "other"})).await
}

/// A long content is shown whole of one agent, and cut in the tree, which may have many.
#[tokio::test]
async fn the_tree_cuts_what_is_long() {
    let site = open().await;
    let prompt = format!("ask {}", "x".repeat(100_000));
    asks(Chunks::post(&site, &json!({"prompt": prompt, "agentId": "scout"})).await).await;
    let tree = site.get("/agent/tree").await.expect(200);
    let shown = tree["scout"]["userContent"].as_str().unwrap();
    assert!(shown.len() < 1_200 && shown.contains("characters left out"), "{}", shown.len());
    assert_eq!(site.get("/agent/scout").await.expect(200)["userContent"], json!(prompt));
}
