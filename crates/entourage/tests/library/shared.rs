//! Tests of programs that open the same agency, or explorer, over a store that they share.

use std::sync::Arc;

use entourage::explore::{Explorer, ExplorerBuilder};
use entourage_llm::{Message, Script, ScriptedModel};
use entourage_store::{Layered, MemoryNodes, MemoryStore, Nodes, Store, StoreLayer};
use entourage_testkit::{Asked, HeldModel};
use entourage_types::Time;
use serde_json::json;

use crate::{chain, hands_on, within};

/// A store that processes share, with a handle for each.
struct Shared {
    rows: MemoryStore,
    nodes: MemoryNodes,
}

/// One process's place in it.
struct Node(MemoryNodes);

impl StoreLayer for Node {
    fn nodes(&self, _: &dyn Store) -> Option<Arc<dyn Nodes>> {
        Some(Arc::new(self.0.clone()))
    }
}

impl Shared {
    fn new() -> Self {
        let rows = MemoryStore::default();
        Self { nodes: MemoryNodes::new(rows.clone(), Time::now), rows }
    }

    fn handle(&self) -> Arc<dyn Store> {
        Arc::new(Layered::new(Arc::new(self.rows.handle()), Node(self.nodes.another())))
    }
}

fn held() -> Arc<HeldModel> {
    Arc::new(HeldModel::new(ScriptedModel::deciding(|request| Some(Ok(hands_on(request))))))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_works_in_one_of_two_programs_and_goes_on_in_the_other() {
    let shared = Shared::new();
    let (here, there) = (held(), held());
    let agency = chain().0.store(shared.handle()).model(Arc::clone(&here)).open().await.unwrap();
    let stream = agency.get_response_stream("Go.").chat_id("c").key("once").await.unwrap();
    here.begun().await;
    let other = chain().0.store(shared.handle()).model(Arc::clone(&there)).open().await.unwrap();
    // Who asks there for the same is told what is worked on here.
    let asked = tokio::spawn({
        let asked = other.get_response("Go.").chat_id("c").key("once");
        async move { asked.await.unwrap() }
    });
    here.let_go(1);
    here.begun().await;
    assert_eq!(here.cut_off(), 0);
    there.let_go(100);
    within("the program ends", agency.close()).await;
    drop(stream);
    let said = within("the other one goes on", asked).await.unwrap();
    assert_eq!(said.final_output.as_deref(), Some("<<<Go.>>>"));
    assert_eq!(said.usage.calls, 5, "what the first one had is not asked for again");
}

/// An explorer whose agent asks its user one question.
fn asking(shared: &Shared) -> ExplorerBuilder {
    let model = crate::scripted(|request| match Asked::by(request) {
        Asked::Clarify => Script::text(json!({"ambiguous": true, "question": "Which one?"}).to_string()),
        Asked::Missing => Script::text(json!({"missing": false, "question": ""}).to_string()),
        Asked::Subquestions => Script::text(json!({"subquestions": []}).to_string()),
        Asked::Summary => {
            let told = request.messages.iter().any(|message| match message {
                Message::User(text) => text.contains("The second."),
                _ => false,
            });
            Script::text(
                json!({"summary": told.to_string(), "needs_more_info": false, "question": ""}).to_string(),
            )
        }
        Asked::Main | Asked::Child(_) => Script::text("found"),
    });
    Explorer::builder().store(shared.handle()).model(model)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_put_to_the_handler_of_whichever_program_has_one() {
    let shared = Shared::new();
    let without = asking(&shared).open().await.unwrap();
    let answers = async |_, _| Some("The second.".to_owned());
    let _with = asking(&shared).query_user_handler(answers).open().await.unwrap();
    let stream = without.agent("Explore.").await.unwrap();
    assert_eq!(within("it is answered", stream.result()).await.unwrap(), "true");
}
