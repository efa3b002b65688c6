//! Earlier sessions, and the rest of texts that were too long to show.

use std::sync::Arc;

use entourage_tools::{Caller, Context, Outcome, ReadOutput, Result, SearchAgentHistory, Tool};
use entourage_types::{AgentId, Owner, Session, SessionEnd, SessionId, Time, WorksFor};
use serde_json::{Value, json};

use crate::support::{Shelf, call_in, context, kind};

const DAY: i64 = 24 * 60 * 60 * 1_000_000;

fn session(number: u32, day: i64) -> Session {
    Session {
        id: SessionId::new(),
        owner: Owner::local(),
        root: AgentId::new(),
        agent: AgentId::new(),
        number,
        summary: format!("about boats, {number}"),
        reason: SessionEnd::Idle,
        trigger: None,
        messages: 2,
        tokens: 10,
        items: (0, 1),
        used: None,
        started: Time::from_micros(day * DAY),
        completed: Time::from_micros(day * DAY),
    }
}

async fn text(context: &Context, tool: &dyn Tool, arguments: Value) -> Result<String> {
    match call_in(context, tool, arguments).await? {
        Outcome::Done(done) => Ok(done.text),
        other => panic!("not done: {other:?}"),
    }
}

/// Shows: S4-R067.
#[tokio::test]
async fn a_history_search_returns_at_most_five_sessions_of_the_timeframe() {
    let mut context = context(kind("helper", &[]), true);
    context.now = Time::from_micros(1_000 * DAY);
    // The latest is stored last.
    let sessions: Vec<_> =
        (1..=9).rev().map(|number| session(number, 1_000 - i64::from(number) * 5)).collect();
    context.reader = Arc::new(Shelf::of(&sessions));
    let found = async |arguments| text(&context, &SearchAgentHistory, arguments).await.unwrap();
    assert_eq!(found(json!({ "query": "boats" })).await.matches("## Session").count(), 5);
    let week = found(json!({ "query": "boats", "timeframe": "last_week" })).await;
    assert!(week.contains("## Session 1,") && week.matches("## Session").count() == 1, "{week}");
    assert!(found(json!({ "query": "cars" })).await.contains("No earlier conversation"));
    assert!(text(&context, &SearchAgentHistory, json!({ "query": "x", "timeframe": "ever" })).await.is_err());
}

#[tokio::test]
async fn a_long_output_is_read_in_parts_to_its_end() {
    let mut kind = kind("helper", &[]);
    kind.limits.max_output_chars = 1_200;
    let mut context = context(kind, true);
    let whole: String = (0..2_500).map(|n| char::from(b'a' + (n % 26) as u8)).collect();
    context.reader = Arc::new(Shelf { text: whole.clone(), ..Shelf::default() });
    let (mut read, mut from) = (String::new(), 0);
    while from < whole.len() {
        let part = text(&context, &ReadOutput, json!({ "item": 7, "from": from })).await.unwrap();
        let (head, body) = part.split_once('\n').unwrap();
        assert!(part.chars().count() <= 1_200, "a part is not cut itself");
        read.push_str(body);
        from = read.len();
        let next = if from < whole.len() { format!("go on from {from}]") } else { "that is its end]".into() };
        assert!(head.ends_with(&next), "{head}");
    }
    assert_eq!(read, whole);
    for (arguments, why) in [
        (json!({ "item": 8 }), "no result or message 8"),
        (json!({ "item": 7, "from": 2_500 }), "begin before"),
    ] {
        let error = text(&context, &ReadOutput, arguments).await.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn history_tools_are_offered_only_if_there_is_something_to_read() {
    let kind = kind("helper", &[]);
    let offered = |has_sessions, may_have_cuts| {
        let works_for = WorksFor::Person;
        let caller =
            Caller { kind: &kind, peers: &[], works_for, has_sessions, by_code: false, may_have_cuts };
        (SearchAgentHistory.offer(&caller).is_some(), ReadOutput.offer(&caller).is_some())
    };
    assert_eq!(
        [offered(false, false), offered(true, false), offered(false, true)],
        [(false, false), (true, false), (false, true)]
    );
}
