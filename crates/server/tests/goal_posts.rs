//! What the user writes is on the stream of a thread as soon as it exists, before the agent has read it.

use entourage_engine::Kinds;
use entourage_llm::ScriptedModel;
use entourage_testkit::{FakeClock, HeldModel};
use serde_json::{Value, json};

use crate::{
    goal_site::{at_work, create, engine, follow, say, seen_until, speak},
    stream::Frame,
};

/// Whether it is this message of the user, read or not.
fn is_written(frame: &Frame, text: &str, processed: bool) -> bool {
    let of_user = frame.data["source"] == "user" && frame.data["content"] == text;
    frame.event == "message" && of_user && frame.data["processed"] == processed
}

/// The agent is at work on the first message, for as long as nobody lets its model answer.
///
/// Shows: S4-R033.
#[tokio::test]
async fn a_message_is_on_the_stream_before_the_agent_reads_it() {
    let model = HeldModel::new(ScriptedModel::deciding(|request| Some(Ok(speak(request)))));
    let site = at_work(engine(model.clone(), &FakeClock::default(), Kinds::builtin()).build()).await;
    let goal = create(&site).await;
    let path = format!("/api/goals/{goal}/stream");
    let mut early = follow(&site, &path, None).await;
    say(&site, &goal, "One.").await;
    model.begun().await;
    seen_until(&mut early, |frame| is_written(frame, "One.", true)).await;
    let sent = say(&site, &goal, "Two.").await;
    let told = seen_until(&mut early, |frame| is_written(frame, "Two.", false)).await.pop().unwrap();
    assert_eq!((told.data["id"].clone(), told.id), (sent["id"].clone(), None), "no number to go on from");
    // Who comes now, or comes back, sees it, too.
    let mut late = follow(&site, &path, None).await;
    let mut back = follow(&site, &path, Some(1)).await;
    for stream in [&mut late, &mut back] {
        seen_until(stream, |frame| is_written(frame, "Two.", false)).await;
    }
    // The next one comes alone.
    say(&site, &goal, "Three.").await;
    for stream in [&mut early, &mut late, &mut back] {
        let seen = seen_until(stream, |frame| is_written(frame, "Three.", false)).await;
        assert_eq!(seen.iter().filter(|frame| is_written(frame, "Two.", false)).count(), 0, "{seen:#?}");
    }
    model.let_go(1);
    model.begun().await;
    for stream in [&mut early, &mut late, &mut back] {
        let seen = seen_until(stream, |frame| is_written(frame, "Two.", true)).await;
        let again = seen.iter().filter(|frame| is_written(frame, "Two.", false)).count();
        let ids: Vec<Value> =
            seen.iter().filter(|frame| frame.data["content"] == "Two.").map(id_of).collect();
        assert_eq!(
            (again, ids),
            (0, vec![sent["id"].clone()]),
            "it replaces what was sent before: {seen:#?}"
        );
    }
    model.let_go(1);
    assert_ne!(sent["id"], json!(null));
}

/// The agent is at work on the first message; the others are unread, and pages lead from the last one to the first.
#[tokio::test]
async fn unread_messages_are_paged() {
    let model = HeldModel::new(ScriptedModel::deciding(|request| Some(Ok(speak(request)))));
    let site = at_work(engine(model.clone(), &FakeClock::default(), Kinds::builtin()).build()).await;
    let goal = create(&site).await;
    say(&site, &goal, "Zero.").await;
    model.begun().await;
    for text in ["One.", "Two.", "Three."] {
        say(&site, &goal, text).await;
    }
    let path = format!("/api/goals/{goal}/thread_messages?limit=2");
    let page = async |cursor: &Value| {
        let cursor = cursor.as_str().map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let page = site.get(&format!("{path}{cursor}")).await.expect(200);
        let of = |message: &Value| message["content"].as_str().unwrap().to_owned();
        let texts: Vec<String> = page["data"].as_array().unwrap().iter().map(of).collect();
        (texts, page["next_cursor"].clone())
    };
    let (last, cursor) = page(&Value::Null).await;
    assert_eq!(last, ["Two.", "Three."]);
    let (mut first, mut next) = page(&cursor).await;
    assert_eq!(first.pop().as_deref(), Some("One."));
    while !next.is_null() {
        let (earlier, cursor) = page(&next).await;
        first.splice(0..0, earlier);
        next = cursor;
    }
    assert_eq!(first, ["Zero."]);
    // Once they are read, the page before them is the end of the transcript, without those that came since.
    model.let_go(1);
    model.begun().await;
    say(&site, &goal, "Four.").await;
    let (read, _) = page(&cursor).await;
    assert!(!read.is_empty() && !read.contains(&"Four.".to_owned()), "{read:?}");
    model.let_go(1);
}

fn id_of(frame: &Frame) -> Value {
    frame.data["id"].clone()
}
