//! What the model sees only ever grows at its end; what changes stands in the tail.

use std::time::Duration;

use entourage_llm::{Script, ScriptedModel};
use entourage_testkit::World;
use entourage_tests::first_tools;
use entourage_types::EventBody;
use serde_json::json;

#[tokio::test]
async fn twenty_turns_share_one_prefix_while_the_clock_moves_and_notes_grow() {
    let mut script = Vec::new();
    for n in 0..10 {
        script.push(Script::call("create_note", json!({"title": format!("n{n}"), "content": "c"})));
        script.push(Script::text(format!("answer {n}")));
    }
    let model = ScriptedModel::new(script);
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("question 0").await;
    for n in 1..=10 {
        world
            .until(
                root.id,
                |event| matches!(event.body, EventBody::Item { item_seq, .. } if item_seq == n * 4 - 1),
            )
            .await;
        world.clock().advance(Duration::from_secs(90));
        if n < 10 {
            world.client().send(root.id, &format!("question {n}"), None).await.unwrap();
        }
    }
    let requests = model.requests();
    assert_eq!(requests.len(), 20);
    for pair in requests.windows(2) {
        let [before, after] = pair else { unreachable!() };
        assert_eq!(before.system, after.system);
        assert_eq!(before.tools, after.tools);
        assert_eq!(after.messages[..before.messages.len()], before.messages[..], "the past never changes");
    }
    assert_ne!(requests[0].tail, requests[19].tail, "the time is told, at the tail");
    assert!(!requests[0].system.contains("2026"));
}
