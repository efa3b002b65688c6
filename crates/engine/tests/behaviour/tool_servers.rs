//! Tool servers that are not connected: their tools are available once they are, and until then
//! calls report that.

use std::{sync::Arc, time::Duration};

use crate::kit::{Effects, FakeClockExt, TestTool, WorldExt, first_tools, one_kind, within};
use entourage_engine::ToolServer;
use entourage_llm::{Message, Script, ScriptedModel};
use entourage_testkit::{World, plain};
use entourage_tools::Effect;
use entourage_types::{Action, EventBody, Status};
use serde_json::json;

/// A call of a disconnected server's tool reports that; once the server is back, the next message
/// is processed with its tools.
#[tokio::test]
async fn a_tool_of_a_disconnected_server_is_missing_until_it_reconnects() {
    let happened = Effects::default();
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(_)) => Script::call("bank__pay", json!({"n": 1})),
            _ => Script::text("So."),
        }))
    });
    let kinds = one_kind(|kind| kind.tools = Some(vec!["mcp__bank".into()]));
    let world = World::builder(model.clone()).tools(first_tools()).kinds(kinds).start().await;
    world.engine().server_is_away("bank", "it is closed");
    let root = world.ask("Pay.").await;
    world.ended(root.id).await;
    world
        .engine()
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

/// A world whose server `bank` is connecting, and its model, which pays once with one of its tools.
async fn connecting() -> (World, ScriptedModel) {
    let model = ScriptedModel::new([Script::call("bank__pay", json!({"n": 1})), Script::text("Paid.")]);
    let kinds = one_kind(|kind| kind.tools = Some(vec!["mcp__bank".into()]));
    let builder = World::builder(model.clone())
        .tools(first_tools())
        .kinds(kinds)
        .engine(|engine| engine.tool_servers(vec![ToolServer::shared("bank")]));
    (builder.start().await, model)
}

/// Ten minutes are far more than an activation may otherwise be silent.
#[tokio::test]
async fn a_run_that_waits_for_a_connecting_server_is_not_treated_as_hung() {
    let (happened, (world, _)) = (Effects::default(), connecting().await);
    let root = world.ask("Pay.").await;
    let mut waited = Duration::ZERO;
    while waited < Duration::from_secs(600) {
        waited += world.clock().advance_to_sleeper(Duration::from_secs(30)).await;
    }
    let pay = TestTool::new("bank__pay", Effect::Unsafe, &happened);
    world.engine().server_brings("bank", vec![Arc::new(pay)]);
    let ended = world.ended(root.id).await;
    assert_eq!((ended.status, ended.epoch), (Status::Succeeded, 1.into()), "one activation did it all");
    let lines = plain(&world.client().items(root.id, 0, 10).await.unwrap());
    assert_eq!(lines[2], "output: bank__pay: {\"n\":1}");
}

#[tokio::test]
async fn deletion_does_not_wait_for_a_connecting_server() {
    let (world, model) = connecting().await;
    let root = world.ask("Pay.").await;
    world.clock().advance_to_sleeper(Duration::from_secs(30)).await;
    let client = world.client();
    within("it is deleted", client.intervene(root.id, Action::Delete, None)).await.unwrap();
    assert_eq!(client.agent(root.id).await.unwrap().status, Status::Cancelled);
    assert_eq!(model.requests().len(), 0);
}
