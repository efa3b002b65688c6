//! Servers of tools that are not connected: their tools come once they are, and calls say so until then.

use std::sync::Arc;

use entourage_llm::{Message, Script, ScriptedModel};
use entourage_testkit::{Effects, TestTool, World};
use entourage_tests::{first_tools, one_kind, plain};
use entourage_tools::Effect;
use entourage_types::EventBody;
use serde_json::json;

/// A call of a tool of a server that is away says that; once the server is back, the next message is
/// worked on with its tools.
#[tokio::test]
async fn a_tool_of_a_server_that_is_away_is_missing_until_the_server_is_back() {
    let happened = Effects::default();
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(_)) => Script::call("bank__pay", json!({"n": 1})),
            _ => Script::text("So."),
        }))
    });
    let kinds = one_kind(|kind| kind.tools = Some(vec!["mcp__bank".into()]));
    let world = World::builder(model.clone()).tools(first_tools()).kinds(kinds).start().await;
    world.house().server_is_away("bank");
    let root = world.ask("Pay.").await;
    world.ended(root.id).await;
    world
        .house()
        .server_brings("bank", vec![Arc::new(TestTool::new("bank__pay", Effect::Unsafe, &happened))]);
    world.client().send(root.id, "Now?", None).await.unwrap();
    world.until(root.id, |event| matches!(event.body, EventBody::Item { item_seq: 7, .. })).await;
    let lines = plain(&world.client().items(root.id, 0, 10).await.unwrap());
    assert_eq!(
        (&*lines[2], &*lines[6]),
        (
            "output!: the MCP server `bank` cannot be reached now, so that `bank__pay` cannot be called",
            "output: bank__pay: {\"n\":1}"
        )
    );
    let offered = |at: usize| model.requests()[at].tools.iter().any(|tool| tool.name == "bank__pay");
    assert_eq!((offered(0), offered(2)), (false, true));
}
