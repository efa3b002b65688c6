//! Tests of what a user is shown when the server goes away in the middle.

#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use entourage_types::{CallId, Item, Message, Owner, QuestionStatus, RunId, Time};
use serde_json::{Value, json};

use super::*;
use crate::cli::backend::tests::serving;

/// How long a server may take to come back.
const BACK: Duration = Duration::from_millis(200 + 400 + 800 + 1600 + 3200);

async fn begun(backend: impl Backend + 'static) -> Session {
    let (root, interrupt) = (AgentId::new(), CancellationToken::new());
    Session::new(Arc::new(backend), root, Begun::Now, View::Silent, interrupt).await.unwrap()
}

/// A server that gives these streams and then ends. Returns what the user is shown, and after how long.
async fn gone_after(streams: &[&str], typed: Typed) -> (String, Duration) {
    let answers = streams.iter().map(|stream| ("text/event-stream", (*stream).to_owned())).collect();
    let (backend, served) = serving(answers).await;
    let mut session = begun(backend).await;
    // From here on time advances as soon as nothing else happens.
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    let ended = tokio::time::timeout(10 * BACK, session.until_rest(None, typed)).await;
    served.await.unwrap();
    (ended.unwrap().unwrap_err().text().to_owned(), began.elapsed())
}

/// The terminal is redrawn ten times a second, and the attempts to reach the server continue meanwhile.
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

/// A server that answers and never sends anything is not asked for ever.
#[tokio::test]
async fn a_stream_that_breaks_off_each_time_is_given_up() {
    let (told, took) = gone_after(&[""; 7], Typed::Ignored).await;
    assert!(told.contains("it closes each stream before it sends anything"), "{told}");
    assert!(took >= BACK, "{took:?}");
}

/// A session that lost its server before it acknowledged this message, and the key of the message.
async fn unsure(message: &str) -> (Session, String) {
    let (backend, asked) = serving(vec![stream(), lost()]).await;
    let mut session = begun(backend).await;
    let failure = session.handle_line(message.to_owned(), Typed::Said).await.unwrap_err();
    assert!(failure.who_is_gone().is_some(), "{failure:?}");
    let key = key_of(&asked.await.unwrap()[1], message);
    (session, key)
}

/// A stream without events.
fn stream() -> (&'static str, String) {
    ("text/event-stream", String::new())
}

/// The answer to an accepted message.
fn taken() -> (&'static str, String) {
    ("application/json", json!({ "post": PostId::new() }).to_string())
}

/// The server ends before it answers.
fn lost() -> (&'static str, String) {
    ("", String::new())
}

/// The answer that refuses a request.
fn refused(problem: &str) -> (&'static str, String) {
    let kind = format!("urn:entourage:problem:{problem}");
    let problem = json!({ "type": kind, "title": "Refused", "status": 409, "detail": "not that" });
    ("application/problem+json", problem.to_string())
}

/// The key with which this message was sent.
fn key_of(request: &str, message: &str) -> String {
    assert_posted(request, "/messages", &json!({ "message": message }));
    request.lines().find_map(|line| line.strip_prefix("idempotency-key: ")).unwrap().to_owned()
}

/// Asserts that this was posted to a path with this end.
fn assert_posted(request: &str, path: &str, posted: &Value) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let asked = head.lines().next().unwrap();
    assert!(asked.starts_with("POST ") && asked.ends_with(&format!("{path} HTTP/1.1")), "{asked}");
    assert_eq!(serde_json::from_str::<Value>(body).unwrap(), *posted, "{path}");
}

/// An event with a question of the root.
fn asks(root: AgentId) -> (Question, Event) {
    let at = Time::now();
    let question = Question {
        id: QuestionId::new(),
        owner: Owner::local(),
        root,
        agent: root,
        kind: "worker".into(),
        run: RunId::new(),
        call: CallId::new(),
        task: None,
        about: About::Information,
        text: "Which colour?".into(),
        options: Vec::new(),
        proposal: None,
        due: None,
        otherwise: None,
        status: QuestionStatus::Open,
        answer: None,
        answered_by: None,
        created: at,
        updated: at,
    };
    let body = EventBody::Question { question: Box::new(question.clone()) };
    (question, Event { root, seq: 1, agent: root, at, body })
}

/// The message may have arrived before its acknowledgement was lost: the next server takes it for the same
/// one.
#[tokio::test]
async fn what_a_server_may_not_have_taken_is_sent_to_the_next_one_under_its_key() {
    let (mut session, first) = unsure("Hello").await;
    let (backend, asked) = serving(vec![stream(), taken()]).await;
    session.go_on(Arc::new(backend), &mut VecDeque::new()).await.unwrap();
    assert_eq!(session.undone, None, "it was sent");
    assert_eq!(first, key_of(&asked.await.unwrap()[1], "Hello"));
}

/// A refusal by the next server says nothing about the first: typed again, it is still the same message.
#[tokio::test]
async fn what_the_next_server_refuses_may_have_been_taken_by_the_first() {
    let (mut session, first) = unsure("Hello").await;
    let (backend, asked) = serving(vec![stream(), refused("too-many-requests"), taken(), taken()]).await;
    session.go_on(Arc::new(backend), &mut VecDeque::new()).await.unwrap();
    assert_eq!(session.undone, None, "whoever typed it was told");
    for _ in 0..2 {
        session.handle_line("Hello".to_owned(), Typed::Said).await.unwrap();
    }
    let asked = asked.await.unwrap();
    let keys: Vec<String> = asked[1..].iter().map(|request| key_of(request, "Hello")).collect();
    assert_eq!(keys[..2], [first.as_str(), first.as_str()]);
    assert_ne!(keys[2], first, "once it was taken, the same words are another message");
}

/// Once the agent has read it, the same text is another message, even if its first acknowledgement was lost.
#[tokio::test]
async fn what_turns_out_to_have_arrived_is_said_anew() {
    let (mut session, first) = unsure("Hello").await;
    let (backend, asked) = serving(vec![stream(), refused("too-many-requests"), taken()]).await;
    session.go_on(Arc::new(backend), &mut VecDeque::new()).await.unwrap();
    let (root, at, run) = (session.root(), Time::now(), RunId::new());
    // The message that it was created with, and this one.
    for (item_seq, text) in [(0, "Begin"), (1, "Hello")] {
        let body = ItemBody::Message(Message::new(Author::User, text, None));
        let item = Item { agent: root, seq: item_seq, run, session: 1, at, step: None, body };
        let body = EventBody::Item { item_seq, item: Some(item) };
        let event = Event { root, seq: item_seq + 1, agent: root, at, body };
        session.take(Signal::Event(Arc::new(event)), Typed::Said).await.unwrap();
    }
    session.handle_line("Hello".to_owned(), Typed::Said).await.unwrap();
    assert_ne!(key_of(&asked.await.unwrap()[2], "Hello"), first);
}

/// A server deletes keys: a message that may have arrived long ago is not resent automatically.
#[tokio::test]
async fn what_may_have_arrived_long_ago_is_left_to_whoever_said_it() {
    let (mut session, first) = unsure("Hello").await;
    let long_ago = Time::now() - Duration::from_secs(2 * 60 * 60);
    session.saying.as_mut().unwrap().since = Some(long_ago);
    let (backend, asked) = serving(vec![stream(), taken(), taken()]).await;
    let mut kept = VecDeque::from(["And then?".to_owned()]);
    session.go_on(Arc::new(backend), &mut kept).await.unwrap();
    assert_eq!((kept.len(), &session.undone), (0, &None));
    session.handle_line("Hello".to_owned(), Typed::Said).await.unwrap();
    let asked = asked.await.unwrap();
    key_of(&asked[1], "And then?");
    assert_ne!(key_of(&asked[2], "Hello"), first, "who says it again means it");
}

/// A message that cannot have arrived is sent however much later a server appears.
#[tokio::test]
async fn what_nobody_can_have_heard_is_sent_at_any_time() {
    let (backend, asked) = serving(vec![stream()]).await;
    let mut session = begun(backend).await;
    asked.await.unwrap();
    session.handle_line("Hello".to_owned(), Typed::Said).await.unwrap_err();
    assert_eq!(session.saying.as_ref().unwrap().since, None);
    let (backend, asked) = serving(vec![stream(), taken()]).await;
    session.go_on(Arc::new(backend), &mut VecDeque::new()).await.unwrap();
    key_of(&asked.await.unwrap()[1], "Hello");
}

/// The user saw no question when typing: the line does not answer a question that the next server reports.
#[tokio::test]
async fn what_was_kept_answers_no_question_that_comes_later() {
    let (backend, _) = serving(vec![stream()]).await;
    let mut session = begun(backend).await;
    let (question, event) = asks(session.root());
    let news = format!("event: question\ndata: {}\n\n", serde_json::to_string(&event).unwrap());
    let (backend, sent) = serving(vec![("text/event-stream", news), taken(), taken()]).await;
    let mut kept = VecDeque::from(["Blue".to_owned(), "Green".to_owned()]);
    session.go_on(Arc::new(backend), &mut kept).await.unwrap();
    assert_eq!((kept.len(), &session.undone), (0, &None), "all of it was said");
    let sent = sent.await.unwrap();
    assert_posted(&sent[1], "/messages", &json!({ "message": "Blue" }));
    assert_posted(&sent[2], "/messages", &json!({ "message": "Green" }));
    let signal = session.next().await.unwrap();
    session.take(signal, Typed::Said).await.unwrap();
    session.ask();
    assert_eq!(session.asking.as_ref().map(|asking| asking.id), Some(question.id), "it is asked now");
}

/// The first kept line answers the question that the user saw, and the later ones are sent as messages.
#[tokio::test]
async fn what_was_kept_answers_the_question_that_stood_there() {
    let (backend, _) = serving(vec![stream()]).await;
    let mut session = begun(backend).await;
    let (question, event) = asks(session.root());
    session.take(Signal::Event(Arc::new(event)), Typed::Said).await.unwrap();
    session.ask();
    let answered = serde_json::to_string(&question).unwrap();
    let (backend, sent) = serving(vec![stream(), ("application/json", answered), taken()]).await;
    let mut kept = VecDeque::from(["Blue".to_owned(), "Then rest".to_owned()]);
    session.go_on(Arc::new(backend), &mut kept).await.unwrap();
    let sent = sent.await.unwrap();
    assert_posted(&sent[1], &format!("/questions/{}/answer", question.id), &json!({ "answer": "Blue" }));
    assert_posted(&sent[2], "/messages", &json!({ "message": "Then rest" }));
}

/// If a question refuses a line, the next line answers it, as when it is asked again.
#[tokio::test]
async fn what_was_kept_behind_a_refused_answer_answers_the_question_too() {
    let (backend, _) = serving(vec![stream()]).await;
    let mut session = begun(backend).await;
    let (question, mut event) = asks(session.root());
    let options = ["Red", "Green", "Blue"].map(str::to_owned).to_vec();
    let question = Question { options, ..question };
    event.body = EventBody::Question { question: Box::new(question.clone()) };
    session.take(Signal::Event(Arc::new(event)), Typed::Said).await.unwrap();
    session.ask();
    let answered = ("application/json", serde_json::to_string(&question).unwrap());
    let (backend, sent) = serving(vec![stream(), answered, taken()]).await;
    let mut kept = VecDeque::from(["7".to_owned(), "Blue".to_owned(), "Then rest".to_owned()]);
    session.go_on(Arc::new(backend), &mut kept).await.unwrap();
    let sent = sent.await.unwrap();
    assert_posted(&sent[1], &format!("/questions/{}/answer", question.id), &json!({ "answer": "Blue" }));
    assert_posted(&sent[2], "/messages", &json!({ "message": "Then rest" }));
}

/// A line that the next engine does not accept, and the lines kept after it, can still be shown.
#[tokio::test]
async fn what_is_not_said_is_left() {
    let (backend, _) = serving(vec![stream()]).await;
    let mut session = begun(backend).await;
    let (backend, _) = serving(vec![stream(), lost()]).await;
    let mut kept = VecDeque::from(["One".to_owned(), "Two".to_owned()]);
    let failure = session.go_on(Arc::new(backend), &mut kept).await.unwrap_err();
    assert!(failure.who_is_gone().is_some(), "{failure:?}");
    assert_eq!((session.undone.as_deref(), kept), (Some("One"), VecDeque::from(["Two".to_owned()])));
}

/// The lost acknowledgement may be that of an answer that arrived: that the question is no longer open is
/// then no refusal.
#[tokio::test]
async fn an_answer_whose_acknowledgement_was_lost_is_not_asked_for_again() {
    let (backend, _) = serving(vec![stream(), lost()]).await;
    let mut session = begun(backend).await;
    let (question, event) = asks(session.root());
    session.take(Signal::Event(Arc::new(event)), Typed::Said).await.unwrap();
    session.ask();
    let failure = session.handle_line("Green".to_owned(), Typed::Said).await.unwrap_err();
    assert!(failure.who_is_gone().is_some(), "{failure:?}");
    let stands =
        Question { status: QuestionStatus::Answered, answer: Some("Green".into()), ..question.clone() };
    let stands = serde_json::to_string(&stands).unwrap();
    let answers = vec![stream(), refused("question-not-open"), ("application/json", stands)];
    let (backend, sent) = serving(answers).await;
    session.go_on(Arc::new(backend), &mut VecDeque::new()).await.unwrap();
    let path = format!("/questions/{}/answer", question.id);
    assert_posted(&sent.await.unwrap()[1], &path, &json!({ "answer": "Green" }));
    session.ask();
    assert_eq!((&session.asking, &session.undone), (&None, &None), "it is answered");
    assert_eq!(session.progress.open_questions().count(), 0);
}
