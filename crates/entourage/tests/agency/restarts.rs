//! A program that ends in the middle goes on with the next one.

use std::sync::Arc;

use entourage::agency::{Agency, AgencyBuilder};
use entourage_llm::ScriptedModel;
use entourage_testkit::HeldModel;

use crate::{agent, chain, hands_on, lines};

async fn logs(agency: &Agency) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for thread in agency.threads().threads("c").await.unwrap() {
        all.push(lines(&thread.get_full_log().await.unwrap()));
    }
    all
}

#[tokio::test]
async fn a_delegation_goes_on_where_the_last_program_left_it() {
    let directory = tempfile::tempdir().unwrap();
    let held = || Arc::new(HeldModel::new(ScriptedModel::deciding(|request| Some(Ok(hands_on(request))))));
    let open = async |builder: AgencyBuilder, name: &str, model: &Arc<HeldModel>| {
        let path = directory.path().join(name);
        builder.database(path).model(Arc::clone(model)).open().await.unwrap()
    };
    let undisturbed = {
        let model = held();
        model.let_go(100);
        let agency = open(chain().0, "undisturbed.db", &model).await;
        agency.get_response("Go.").chat_id("c").await.unwrap();
        logs(&agency).await
    };
    // The program ends in the middle of each of the five model calls.
    for done in 0..5 {
        let (name, model) = (format!("{done}.db"), held());
        let agency = open(chain().0, &name, &model).await;
        let stream = agency.get_response_stream("Go.").chat_id("c").key("once").await.unwrap();
        model.let_go(done);
        for _ in 0..=done {
            model.begun().await;
        }
        agency.close().await;
        drop(stream);

        let model = held();
        model.let_go(100);
        let agency = open(chain().0, &name, &model).await;
        // Whoever says it again under the same key gets the answer to what was said before.
        let said = agency.get_response("Go.").chat_id("c").key("once").await.unwrap();
        assert_eq!(said.final_output.as_deref(), Some("<<<Go.>>>"), "after {done} calls");
        assert_eq!((said.usage.calls, said.nested().len()), (5, 2), "each is paid for once");
        let resumed = agency.resume_response("c").await.unwrap();
        assert_eq!(resumed.run_id, said.run_id);
        assert_eq!(logs(&agency).await, undisturbed, "after {done} calls");
        let next = agency.get_response("More.").chat_id("c").await.unwrap();
        assert_eq!(next.final_output.as_deref(), Some("<<<More.>>>"));
    }
}

#[tokio::test]
async fn a_chat_that_nothing_was_said_in_cannot_be_resumed() {
    let a = agent("A");
    let model = Arc::new(ScriptedModel::new([]));
    let agency = Agency::new([&a], []).model(model).in_memory().open().await.unwrap();
    let refused = agency.resume("c").await.err().unwrap().to_string();
    assert!(refused.contains("nothing was said"), "{refused}");
}
