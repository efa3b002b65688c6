//! A store that is full when an act would be closed: nothing of the act is kept, and it is answered once there is room.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::{Client, NewAct, OnceKey, Page};
use entourage_store::{Commit, Committed, Error, MemoryStore, Result, Store, StoreLayer, Write};
use entourage_types::{Act, ActOutcome, ItemBody, Owner, ProjectChat, Status};
use serde_json::json;
use tokio::sync::watch;

use crate::{
    acts::{builder, deciding},
    documents::{new, new_project, versions},
    kit::{eventually, within},
};

/// A disk that has no room for the commit that closes an act, for a while. It counts how often that is tried.
#[derive(Clone)]
struct FullAtTheEnd {
    is_full: Arc<AtomicBool>,
    refused: Arc<watch::Sender<u32>>,
}

impl FullAtTheEnd {
    fn new() -> Self {
        Self { is_full: Arc::new(true.into()), refused: Arc::default() }
    }

    async fn refused(&self, times: u32) {
        let mut refused = self.refused.subscribe();
        let enough = refused.wait_for(|refused| *refused >= times);
        within("it is tried", enough).await.unwrap();
    }
}

#[async_trait]
impl StoreLayer for FullAtTheEnd {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> Result<Committed> {
        let is_closing = commit.writes.iter().any(|write: &Write| write.as_record::<Act>().is_some());
        if is_closing && self.is_full.load(Ordering::SeqCst) {
            self.refused.send_modify(|refused| *refused += 1);
            return Err(Error::DiskFull("planned".into()));
        }
        store.commit(commit).await
    }
}

/// Shows: S5-R125, S5-R126.
#[tokio::test]
async fn an_act_that_cannot_be_closed_keeps_nothing_and_is_answered_later() {
    let salted = "# Soup\n\nWater, salt.\n";
    for (decision, outcome, requests) in [
        (json!({ "should_edit": true, "document_id": 1 }), ActOutcome::Updated, 2),
        (json!({ "should_create": true, "document_name": "Stew" }), ActOutcome::Created, 1),
        (
            json!({ "pending_confirmation": true, "confirmation_prompt": "Should I?", "document_id": 1 }),
            ActOutcome::Confirmation,
            1,
        ),
        (json!({}), ActOutcome::Conversation, 2),
    ] {
        let (model, disk) = (deciding(decision, salted), FullAtTheEnd::new());
        let world = builder(model.clone()).store(MemoryStore::default()).between(disk.clone()).start().await;
        let client: Client = world.engine().client(Owner::local());
        let kitchen = new_project(&client, "Kitchen").await.id;
        client.create_document(new(kitchen, "Recipes", "# Soup\n\nWater.\n")).await.unwrap();
        let (before, answers) = (client.documents(kitchen).await.unwrap(), async |chat| {
            let items = client.items(chat, 0, 100).await.unwrap();
            items.iter().filter(|item| matches!(item.body, ItemBody::Turn(_))).count()
        });
        let message =
            NewAct { message: "Salt the soup.".into(), project: Some(kitchen), chat: None, open: None };
        let chat = client.act(message, Some(OnceKey { key: "key", request: "salt" })).await.unwrap().chat;
        for times in 1..=20 {
            disk.refused(times).await;
            assert_eq!(client.documents(kitchen).await.unwrap(), before, "{outcome}");
            assert_eq!(client.acts(chat, Page::all()).await.unwrap(), [], "{outcome}");
            assert_eq!(client.record::<ProjectChat>(chat).await.unwrap().proposal, None, "{outcome}");
            assert_eq!((answers(chat).await, client.agent(chat).await.unwrap().status), (0, Status::Running));
            world.clock().advance(Duration::from_secs(30));
        }
        disk.is_full.store(false, Ordering::SeqCst);
        let read = async || {
            world.clock().advance(Duration::from_secs(30));
            client.acts(chat, Page::all()).await.unwrap()
        };
        let acts = eventually("it is answered", read, |acts| !acts.is_empty()).await;
        assert_eq!(world.ended(chat).await.status, Status::Succeeded, "{outcome}");
        assert_eq!(acts.iter().map(|act| act.outcome).collect::<Vec<_>>(), [outcome]);
        assert_eq!(answers(chat).await, 1, "{outcome}");
        assert_eq!(
            model.requests().len(),
            requests,
            "{outcome}: what a model has answered is asked for once"
        );
        let after = client.documents(kitchen).await.unwrap();
        let made: usize = {
            let mut made = 0;
            for document in &after {
                made += versions(&client, document.head.id).await.len();
            }
            made
        };
        let changed = matches!(outcome, ActOutcome::Updated | ActOutcome::Created);
        assert_eq!(made, 1 + usize::from(changed), "{outcome}");
        assert_eq!(
            client.record::<ProjectChat>(chat).await.unwrap().proposal.is_some(),
            outcome == ActOutcome::Confirmation
        );
        assert_eq!(world.audit().await, []);
    }
}
