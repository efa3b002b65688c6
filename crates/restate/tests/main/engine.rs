//! A whole engine whose agents Restate wakes.

use std::{sync::Arc, time::Duration};

use entourage_engine::{Engine, Kinds, NewAgent, SystemClock, dispatch::Dispatcher};
use entourage_llm::{Script, ScriptedModel};
use entourage_restate::Restate;
use entourage_store::MemoryStore;
use entourage_tools::{Settings, builtin};
use entourage_types::{Kind, Owner, Status};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::server::{Server, free_address};

/// An agent is asked, waits for a second, and answers: one delivery at once, and one that Restate holds until its time.
#[tokio::test]
async fn an_agent_waits_and_answers() {
    let Some(server) = Server::start().await else { return };
    let listen = free_address();
    server.register(listen).await;
    let model =
        ScriptedModel::new([Script::call("wait", json!({"seconds": 1})), Script::text("It is time.")]);
    let engine = Engine::builder(Arc::new(MemoryStore::default()), Arc::new(model))
        .tools(builtin(Settings::default()))
        .kinds(Kinds::none().with(Kind::bare("assistant")))
        .build();
    let (node, stop) = (Restate::new(server.settings(listen)).unwrap(), CancellationToken::new());
    let mut news = engine.store().changed();
    let answered = async {
        let client = engine.client(Owner::local());
        let message = Some("Wait a second.".to_owned());
        let asked = NewAgent { kind: None, title: None, message, parent: None };
        let agent = client.create(asked, None).await.unwrap();
        while client.agent(agent.id).await.unwrap().status != Status::Succeeded {
            news.recv().await.unwrap();
        }
    };
    let run =
        node.run(Arc::new(engine.clone()), Arc::clone(engine.store()), Arc::new(SystemClock), stop.clone());
    let watched = async {
        // The sweeper looks again after fifteen seconds.
        let answered = tokio::time::timeout(Duration::from_secs(14), answered).await;
        stop.cancel();
        assert!(answered.is_ok(), "Restate delivers at the time, and not the sweeper");
    };
    let (ran, ()) = tokio::join!(run, watched);
    ran.unwrap();
}
