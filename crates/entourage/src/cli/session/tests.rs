//! Tests of what a user is shown when the server goes away in the middle.

#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use entourage_api::{Item, Posted};
use entourage_types::{CallId, Owner, QuestionStatus, RunId, Time};
use serde_json::{Value, json};

use super::*;
use crate::cli::backend::tests::serving;

/// How long a server may take to come back.
const BACK: Duration = Duration::from_millis(200 + 400 + 800 + 1600 + 3200);

async fn start_session(backend: Backend) -> Session {
    let (root, interrupt) = (AgentId::new(), CancellationToken::new());
    Session::new(backend, (root, root), TreeStart::Now, View::Silent, interrupt).await.unwrap()
}

/// A server that gives these streams and then ends. Returns what the user is shown, and after how long.
async fn shown_after_streams(streams: &[&str], typed: Typed) -> (String, Duration) {
    let answers = streams.iter().map(|stream| ("text/event-stream", (*stream).to_owned())).collect();
    let (backend, served) = serving(answers).await;
    let mut session = start_session(backend).await;
    // From here on time advances as soon as nothing else happens.
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    let ended = tokio::time::timeout(10 * BACK, session.until_rest(None, typed)).await;
    served.await.unwrap();
    (ended.unwrap().unwrap_err().text().to_owned(), began.elapsed())
}

/// The terminal is redrawn ten times a second, and the attempts to reach the server continue meanwhile.
#[tokio::test]
async fn run_reports_a_lost_server_after_retrying() {
    let (shown, took) = shown_after_streams(&[""], Typed::Ignored).await;
    assert!(shown.contains("it does not listen any more. Start it with `entourage serve`"), "{shown}");
    assert!(took >= BACK && took < 2 * BACK, "{took:?}");
}

#[tokio::test]
async fn chat_reports_a_lost_server_after_retrying_anew_for_each_loss() {
    let (shown, took) = shown_after_streams(&["", ": it is back\n\n", ""], Typed::Said).await;
    assert!(shown.contains("it does not listen any more. Start it with `entourage serve`"), "{shown}");
    assert!(took >= BACK, "one that was back counts anew: {took:?}");
}

/// A server that answers and never sends anything is not asked for ever.
#[tokio::test]
async fn a_stream_that_closes_without_data_each_time_is_given_up() {
    let (shown, took) = shown_after_streams(&[""; 7], Typed::Ignored).await;
    assert!(shown.contains("it closes each stream before it sends anything"), "{shown}");
    assert!(took >= BACK, "{took:?}");
}

/// A session that lost its server before it acknowledged this message, and the key of the message.
async fn session_with_unacknowledged(message: &str) -> (Session, String) {
    let (backend, asked) = serving(vec![stream(), connection_closed()]).await;
    let mut session = start_session(backend).await;
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
fn message_accepted() -> (&'static str, String) {
    let posted = Posted { agent: AgentId::new(), post: PostId::new() };
    ("application/json", serde_json::to_string(&posted).unwrap())
}

/// The server ends before it answers.
fn connection_closed() -> (&'static str, String) {
    ("", String::new())
}

/// The answer that refuses a request.
fn request_refused(problem: &str) -> (&'static str, String) {
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
fn question_event(root: AgentId) -> (Question, Event) {
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
        created: at,
        updated: at,
        path: Vec::new(),
        because: None,
    };
    let body = EventBody::Question { question: Box::new(question.clone()) };
    (question, Event { root, seq: 1, agent: root, at, body })
}

/// The message may have arrived before its acknowledgement was lost: the next server takes it for the same
/// one.
#[tokio::test]
async fn an_unacknowledged_message_is_resent_to_the_next_server_under_its_key() {
    let (mut session, first) = session_with_unacknowledged("Hello").await;
    let (backend, asked) = serving(vec![stream(), message_accepted()]).await;
    session.go_on(backend, &mut VecDeque::new()).await.unwrap();
    assert_eq!(session.undone, None, "it was sent");
    assert_eq!(first, key_of(&asked.await.unwrap()[1], "Hello"));
}

/// A refusal by the next server says nothing about the first: typed again, it is still the same message.
#[tokio::test]
async fn a_message_refused_by_the_next_server_keeps_its_key_until_accepted() {
    let (mut session, first) = session_with_unacknowledged("Hello").await;
    let (backend, asked) =
        serving(vec![stream(), request_refused("too-many-requests"), message_accepted(), message_accepted()])
            .await;
    session.go_on(backend, &mut VecDeque::new()).await.unwrap();
    assert_eq!(session.undone, None, "whoever typed it was shown");
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
async fn the_same_text_gets_a_new_key_once_the_agent_has_read_the_first() {
    let (mut session, first) = session_with_unacknowledged("Hello").await;
    let (backend, asked) =
        serving(vec![stream(), request_refused("too-many-requests"), message_accepted()]).await;
    session.go_on(backend, &mut VecDeque::new()).await.unwrap();
    let (root, at, run) = (session.root(), Time::now(), RunId::new());
    // The message that it was created with, and this one.
    for (item_seq, text) in [(0, "Begin"), (1, "Hello")] {
        let (from, text) = (Author::User, text.to_owned());
        let body = ItemBody::Message { from, text, task: None, ended: None, post: None, options: None };
        let item = Item { agent: root, seq: item_seq, run, session: 1, at, step: None, body };
        let body = EventBody::Item { item_seq, item: Some(Box::new(item)) };
        let event = Event { root, seq: item_seq + 1, agent: root, at, body };
        session.take(Signal::Event(Box::new(event)), Typed::Said).await.unwrap();
    }
    session.handle_line("Hello".to_owned(), Typed::Said).await.unwrap();
    assert_ne!(key_of(&asked.await.unwrap()[2], "Hello"), first);
}

/// A server deletes keys: a message that may have arrived long ago is not resent automatically.
#[tokio::test]
async fn an_old_unacknowledged_message_is_not_resent_automatically() {
    let (mut session, first) = session_with_unacknowledged("Hello").await;
    let long_ago = Time::now() - Duration::from_secs(2 * 60 * 60);
    session.saying.as_mut().unwrap().since = Some(long_ago);
    let (backend, asked) = serving(vec![stream(), message_accepted(), message_accepted()]).await;
    let mut kept = VecDeque::from(["And then?".to_owned()]);
    session.go_on(backend, &mut kept).await.unwrap();
    assert_eq!((kept.len(), &session.undone), (0, &None));
    session.handle_line("Hello".to_owned(), Typed::Said).await.unwrap();
    let asked = asked.await.unwrap();
    key_of(&asked[1], "And then?");
    assert_ne!(key_of(&asked[2], "Hello"), first, "who says it again means it");
}

/// A message that cannot have arrived is sent however much later a server appears.
#[tokio::test]
async fn a_message_that_never_reached_a_server_is_sent_to_the_next_one() {
    let (backend, asked) = serving(vec![stream()]).await;
    let mut session = start_session(backend).await;
    asked.await.unwrap();
    session.handle_line("Hello".to_owned(), Typed::Said).await.unwrap_err();
    assert_eq!(session.saying.as_ref().unwrap().since, None);
    let (backend, asked) = serving(vec![stream(), message_accepted()]).await;
    session.go_on(backend, &mut VecDeque::new()).await.unwrap();
    key_of(&asked.await.unwrap()[1], "Hello");
}

/// The user saw no question when typing: the line does not answer a question that the next server reports.
#[tokio::test]
async fn a_kept_line_does_not_answer_a_question_that_comes_later() {
    let (backend, _) = serving(vec![stream()]).await;
    let mut session = start_session(backend).await;
    let (question, event) = question_event(session.root());
    let news = format!("event: question\ndata: {}\n\n", serde_json::to_string(&event).unwrap());
    let (backend, sent) =
        serving(vec![("text/event-stream", news), message_accepted(), message_accepted()]).await;
    let mut kept = VecDeque::from(["Blue".to_owned(), "Green".to_owned()]);
    session.go_on(backend, &mut kept).await.unwrap();
    assert_eq!((kept.len(), &session.undone), (0, &None), "all of it was said");
    let sent = sent.await.unwrap();
    assert_posted(&sent[1], "/messages", &json!({ "message": "Blue" }));
    assert_posted(&sent[2], "/messages", &json!({ "message": "Green" }));
    let signal = session.next().await.unwrap();
    session.take(signal, Typed::Said).await.unwrap();
    session.ask(Typed::Said);
    assert_eq!(session.asking.as_ref().map(|asking| asking.id), Some(question.id), "it is asked now");
}

/// The first kept line answers the question that the user saw, and the later ones are sent as messages.
#[tokio::test]
async fn the_first_kept_line_answers_the_question_that_was_shown() {
    let (backend, _) = serving(vec![stream()]).await;
    let mut session = start_session(backend).await;
    let (question, event) = question_event(session.root());
    session.take(Signal::Event(Box::new(event)), Typed::Said).await.unwrap();
    session.ask(Typed::Said);
    let answered = serde_json::to_string(&question).unwrap();
    let (backend, sent) = serving(vec![stream(), ("application/json", answered), message_accepted()]).await;
    let mut kept = VecDeque::from(["Blue".to_owned(), "Then rest".to_owned()]);
    session.go_on(backend, &mut kept).await.unwrap();
    let sent = sent.await.unwrap();
    assert_posted(&sent[1], &format!("/questions/{}/answer", question.id), &json!({ "answer": "Blue" }));
    assert_posted(&sent[2], "/messages", &json!({ "message": "Then rest" }));
}

/// If a question refuses a line, the next line answers it, as when it is asked again.
#[tokio::test]
async fn the_next_kept_line_answers_a_question_that_refused_the_first() {
    let (backend, _) = serving(vec![stream()]).await;
    let mut session = start_session(backend).await;
    let (question, mut event) = question_event(session.root());
    let options = ["Red", "Green", "Blue"].map(str::to_owned).to_vec();
    let question = Question { options, ..question };
    event.body = EventBody::Question { question: Box::new(question.clone()) };
    session.take(Signal::Event(Box::new(event)), Typed::Said).await.unwrap();
    session.ask(Typed::Said);
    let answered = ("application/json", serde_json::to_string(&question).unwrap());
    let (backend, sent) = serving(vec![stream(), answered, message_accepted()]).await;
    let mut kept = VecDeque::from(["7".to_owned(), "Blue".to_owned(), "Then rest".to_owned()]);
    session.go_on(backend, &mut kept).await.unwrap();
    let sent = sent.await.unwrap();
    assert_posted(&sent[1], &format!("/questions/{}/answer", question.id), &json!({ "answer": "Blue" }));
    assert_posted(&sent[2], "/messages", &json!({ "message": "Then rest" }));
}

/// A line that the next engine does not accept, and the lines kept after it, can still be shown.
#[tokio::test]
async fn unsent_lines_stay_available_after_a_failure() {
    let (backend, _) = serving(vec![stream()]).await;
    let mut session = start_session(backend).await;
    let (backend, _) = serving(vec![stream(), connection_closed()]).await;
    let mut kept = VecDeque::from(["One".to_owned(), "Two".to_owned()]);
    let failure = session.go_on(backend, &mut kept).await.unwrap_err();
    assert!(failure.who_is_gone().is_some(), "{failure:?}");
    assert_eq!((session.undone.as_deref(), kept), (Some("One"), VecDeque::from(["Two".to_owned()])));
}

/// The lost acknowledgement may be that of an answer that arrived: that the question is no longer open is
/// then no refusal.
#[tokio::test]
async fn an_answer_that_arrived_unacknowledged_is_not_asked_for_again() {
    let (backend, _) = serving(vec![stream(), connection_closed()]).await;
    let mut session = start_session(backend).await;
    let (question, event) = question_event(session.root());
    session.take(Signal::Event(Box::new(event)), Typed::Said).await.unwrap();
    session.ask(Typed::Said);
    let failure = session.handle_line("Green".to_owned(), Typed::Said).await.unwrap_err();
    assert!(failure.who_is_gone().is_some(), "{failure:?}");
    let stands =
        Question { status: QuestionStatus::Answered, answer: Some("Green".into()), ..question.clone() };
    let stands = serde_json::to_string(&stands).unwrap();
    let answers = vec![stream(), request_refused("question-not-open"), ("application/json", stands)];
    let (backend, sent) = serving(answers).await;
    session.go_on(backend, &mut VecDeque::new()).await.unwrap();
    let path = format!("/questions/{}/answer", question.id);
    assert_posted(&sent.await.unwrap()[1], &path, &json!({ "answer": "Green" }));
    session.ask(Typed::Said);
    assert_eq!((&session.asking, &session.undone), (&None, &None), "it is answered");
    assert_eq!(session.progress.open_questions().count(), 0);
}
