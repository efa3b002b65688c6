//! What a person is told when the server goes away in the middle.

#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use serde_json::json;

use super::*;
use crate::cli::backend::tests::serving;

/// How long a server may take to come back.
const BACK: Duration = Duration::from_millis(200 + 400 + 800 + 1600 + 3200);

async fn begun(backend: impl Backend + 'static) -> Session {
    let (root, interrupt) = (AgentId::new(), CancellationToken::new());
    Session::new(Arc::new(backend), root, Begun::Now, View::Silent, interrupt).await.unwrap()
}

/// A server that gives these streams and is then gone, until a person hears of it; and how long that took.
async fn gone_after(streams: &[&str], typed: Typed) -> (String, Duration) {
    let answers = streams.iter().map(|stream| ("text/event-stream", (*stream).to_owned())).collect();
    let (backend, served) = serving(answers).await;
    let mut session = begun(backend).await;
    // From here on time passes as fast as nothing happens.
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    let ended = tokio::time::timeout(10 * BACK, session.until_rest(None, typed)).await;
    served.await.unwrap();
    (ended.unwrap().unwrap_err().text().to_owned(), began.elapsed())
}

/// The terminal is drawn again ten times a second, and the attempts to reach the server go on beside that.
#[tokio::test]
async fn run_tells_of_a_server_that_is_gone() {
    let (told, took) = gone_after(&[""], Typed::Ignored).await;
    assert!(told.contains("it does not listen any more. Start it with `entourage serve`"), "{told}");
    assert!(took >= BACK && took < 2 * BACK, "{took:?}");
}

#[tokio::test]
async fn chat_tells_of_a_server_that_is_gone() {
    let (told, took) = gone_after(&["", ": it is back\n\n", ""], Typed::Said).await;
    assert!(told.contains("it does not listen any more. Start it with `entourage serve`"), "{told}");
    assert!(took >= BACK, "one that was back counts anew: {took:?}");
}

/// A server that answers and never says anything is not asked for ever.
#[tokio::test]
async fn a_stream_that_breaks_off_each_time_is_given_up() {
    let (told, took) = gone_after(&[""; 7], Typed::Ignored).await;
    assert!(told.contains("it breaks off each stream before anything came of it"), "{told}");
    assert!(took >= BACK, "{took:?}");
}

/// It may have arrived before the answer to it was lost: the next server takes it for the same one.
#[tokio::test]
async fn what_a_server_may_not_have_taken_is_sent_to_the_next_one_under_its_key() {
    let stream = || ("text/event-stream", String::new());
    let (backend, asked) = serving(vec![stream(), ("", String::new())]).await;
    let mut session = begun(backend).await;
    let failure = session.heed("Hello".to_owned(), Typed::Said).await.unwrap_err();
    assert!(failure.who_is_gone().is_some(), "{failure:?}");
    let taken = json!({ "post": PostId::new() }).to_string();
    let (backend, asked_again) = serving(vec![stream(), ("application/json", taken)]).await;
    session.go_on(Arc::new(backend)).await.unwrap();
    assert_eq!(session.undone, None, "it was sent");
    let (first, second) = (asked.await.unwrap(), asked_again.await.unwrap());
    let key = |head: &str| {
        assert!(head.starts_with("POST ") && head.contains("/messages HTTP/1.1\r\n"), "{head}");
        head.lines().find_map(|line| line.strip_prefix("idempotency-key: ")).unwrap().to_owned()
    };
    assert_eq!(key(&first[1]), key(&second[1]));
}
