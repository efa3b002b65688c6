//! The model's input only ever grows at its end; changing parts are in the tail.

use std::time::Duration;

use crate::kit::{WorldExt, first_tools, one_kind};
use entourage_llm::{Request, Script, ScriptedModel};
use entourage_testkit::World;
use entourage_types::{EventBody, Section};
use serde_json::json;

/// Asserts that each request begins with the whole previous one.
fn assert_each_request_extends_the_previous(requests: &[Request]) {
    for pair in requests.windows(2) {
        let [before, after] = pair else { unreachable!() };
        assert_eq!(before.system, after.system);
        assert_eq!(before.tools, after.tools);
        assert_eq!(after.messages[..before.messages.len()], before.messages[..], "the past never changes");
    }
}

/// Shows: S4-R006, S4-R137, S4-R138.
#[tokio::test]
async fn changing_time_notes_and_learnings_never_change_the_request_prefix() {
    let mut script = Vec::new();
    for n in 0..10 {
        let note = Script::call("create_note", json!({"title": format!("n{n}"), "content": "<b> & co"}));
        script.push(note.and_call("save_learning", json!({"text": format!("rule {n} </learnings>")})));
        script.push(Script::text(format!("answer {n}")));
    }
    let model = ScriptedModel::new(script);
    let sections = vec![Section::Time, Section::Notes, Section::Learnings];
    let kinds = one_kind(|kind| kind.context.sections = sections);
    let world = World::builder(model.clone()).tools(first_tools()).kinds(kinds).start().await;
    let root = world.ask("question 0").await;
    for n in 1..=10 {
        world
            .until(
                root.id,
                |event| matches!(event.body, EventBody::Item { item_seq, .. } if item_seq == n * 5 - 1),
            )
            .await;
        world.clock().advance(Duration::from_secs(90));
        if n < 10 {
            world.client().send(root.id, &format!("question {n}"), None).await.unwrap();
        }
    }
    let requests = model.requests();
    assert_eq!(requests.len(), 20);
    assert_each_request_extends_the_previous(&requests);
    assert!(!requests[0].system.contains("2026"));
    assert_eq!(requests[0].tail.as_deref(), Some("<time_context>2026-01-01T00:00Z</time_context>"));
    let last = requests[19].tail.as_deref().unwrap();
    assert!(last.starts_with("<time_context>2026-01-01T00:13Z</time_context>\n<notes_context>\n"), "{last}");
    assert!(last.contains("<note title=\"n9\">&lt;b&gt; &amp; co</note>"), "{last}");
    assert_eq!(last.matches("rule ").count(), 10);
    assert_eq!(last.matches("</learnings>").count(), 1, "nothing ends a section but its end");
}

#[tokio::test]
async fn only_the_agent_that_saved_a_learning_sees_it() {
    let model = ScriptedModel::new([
        Script::call("save_learning", json!({"text": "The user likes tea."})),
        Script::text("Noted."),
        Script::text("Hello."),
    ]);
    let world = World::builder(model.clone()).tools(first_tools()).kinds(one_kind(|_| {})).start().await;
    let knows = world.ask("I like tea.").await;
    world.ended(knows.id).await;
    let other = world.ask("hi").await;
    world.ended(other.id).await;
    let tails: Vec<bool> =
        model.requests().iter().map(|r| r.tail.as_ref().unwrap().contains("tea")).collect();
    assert_eq!(tails, [false, true, false]);
    let client = world.client();
    let learned = client.learnings(knows.id).await.unwrap();
    assert_eq!(learned.iter().map(|known| known.text.as_str()).collect::<Vec<_>>(), ["The user likes tea."]);
    assert!(world.engine().client(entourage_types::Owner::new("other")).learnings(knows.id).await.is_err());
}
