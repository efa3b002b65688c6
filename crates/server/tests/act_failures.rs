//! Messages to the document agent when something fails: a disk without room, a client that hangs up, a server that ends.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use entourage_engine::Kinds;
use entourage_llm::{Script, ScriptedModel};
use entourage_server::Settings;
use entourage_store::{Commit, Committed, Error, Layered, Store, StoreLayer};
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::{HeldModel, quiet};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    site::{Answer, Site, asking, send},
    stream::within,
};

/// A model that salts the soup.
fn salting() -> ScriptedModel {
    ScriptedModel::deciding(|request| {
        let decision = json!({ "should_edit": true, "document_id": 1, "intent_statement": "I'll salt it." });
        Some(Ok(Script::text(match request.output_schema {
            Some(_) => decision.to_string(),
            None => "# Soup\n\nWater, salt.\n".to_owned(),
        })))
    })
}

/// A server over this store, at work, whose model is held.
async fn serve(store: Arc<dyn Store>, model: &HeldModel) -> Site {
    let engine = asking(Arc::new(model.clone()), store, quiet(Kinds::builtin()));
    let site = Site::serving(engine, Settings::default()).await;
    site.work();
    site
}

async fn stock(site: &Site) {
    site.post("/api/projects", &json!({ "name": "Kitchen" })).await.expect(201);
    let soup = json!({ "name": "Recipes", "content": "# Soup\n\nWater.\n" });
    site.post("/api/projects/1/documents", &soup).await.expect(201);
}

/// Opens the database once no server before holds it.
async fn on_file(path: &Path) -> Arc<dyn Store> {
    let opened = async {
        loop {
            match SqliteStore::open(path, Default::default()) {
                Ok(store) => return store,
                Err(Error::InUse { .. }) => tokio::task::yield_now().await,
                Err(other) => panic!("{other}"),
            }
        }
    };
    Arc::new(within("the database is free", opened).await)
}

/// Ends a server and the work of its agents.
async fn end(site: Site) {
    site.engine.stopping().cancel();
    site.stop.cancel();
    within("the server ends", site.served).await.expect("no panic").expect("a good end");
}

fn request(site: &Site, key: &str) -> reqwest::RequestBuilder {
    let body = json!({ "message": "Salt the soup.", "project_id": 1 });
    site.request(Method::POST, "/api/agent/act").header("idempotency-key", key).json(&body)
}

async fn act(site: &Site, key: &str) -> Answer {
    send(request(site, key)).await
}

/// What was said in the first chat.
async fn messages(site: &Site) -> Vec<Value> {
    let listed = site.get("/api/agent/chats/1/messages").await.expect(200);
    listed["data"].as_array().unwrap().clone()
}

/// A disk that has no room, for a while.
#[derive(Clone, Default)]
struct Disk(Arc<AtomicBool>);

impl Disk {
    fn check(&self) -> Result<(), Error> {
        let why = "no space left on device".to_owned();
        if self.0.load(Ordering::SeqCst) { Err(Error::DiskFull(why)) } else { Ok(()) }
    }
}

#[async_trait]
impl StoreLayer for Disk {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> Result<Committed, Error> {
        self.check()?;
        store.commit(commit).await
    }
}

/// Shows: S5-R016, S5-R125.
#[tokio::test]
async fn a_message_for_which_the_disk_has_no_room_is_refused_whole() {
    let (disk, model) = (Disk::default(), HeldModel::new(salting()));
    let store = Arc::new(SqliteStore::in_memory().expect("a store"));
    let site = serve(Arc::new(Layered::new(store, disk.clone())), &model).await;
    stock(&site).await;
    disk.0.store(true, Ordering::SeqCst);
    for key in ["one", "two"] {
        let full = act(&site, key).await;
        let detail = full.detail(503);
        assert!(detail.contains("Free some space"), "{detail}");
        assert!(full.expect(503)["detail"].is_string() && full.headers.contains_key("retry-after"));
    }
    let chats = async || site.get("/api/projects/1/chats").await.expect(200)["data"].clone();
    assert_eq!(chats().await, json!([]), "nothing of it is stored");
    assert_eq!(site.get("/api/documents/1").await.expect(200)["version"], 1);
    disk.0.store(false, Ordering::SeqCst);
    model.let_go(2);
    let done = act(&site, "one").await.expect(200);
    assert_eq!((&done["document"]["version"], messages(&site).await.len()), (&json!(2), 2));
    assert_eq!(chats().await.as_array().unwrap().len(), 1);
    assert_eq!(model.cut_off(), 0);
}

/// Whoever hung up gets the answer under the same key, once, and finds it in the chat.
async fn is_answered_once(site: &Site) {
    let done = within("it is answered", act(site, "one")).await.expect(200);
    assert_eq!(done["document"]["content"], "# Soup\n\nWater, salt.\n");
    assert_eq!(done["document"]["version"], 2);
    let said = messages(site).await;
    assert_eq!(
        (said.len(), &said[0]["content"], &said[1]),
        (2, &json!("Salt the soup."), &done["chat_message"])
    );
    assert_eq!(act(site, "one").await.expect(200), done);
    assert_eq!(site.get("/api/projects/1/chats").await.expect(200)["data"].as_array().unwrap().len(), 1);
    assert_eq!(site.get("/api/documents/1").await.expect(200)["version"], 2);
}

/// Shows: S5-R016.
#[tokio::test]
async fn a_client_that_hangs_up_loses_nothing() {
    for calls in [1, 2] {
        let model = HeldModel::new(salting());
        let site = serve(Arc::new(SqliteStore::in_memory().expect("a store")), &model).await;
        stock(&site).await;
        let asked = tokio::spawn(request(&site, "one").send());
        model.begun().await;
        for _ in 1..calls {
            model.let_go(1);
            model.begun().await;
        }
        asked.abort();
        assert!(asked.await.unwrap_err().is_cancelled());
        model.let_go(3 - calls);
        is_answered_once(&site).await;
        assert_eq!(model.cut_off(), 0, "the call that was under way was of use");
    }
}

/// Shows: S5-R016, S5-R125.
#[tokio::test]
async fn a_client_that_hangs_up_gets_the_answer_from_the_next_server() {
    for calls in [1, 2] {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("engine.sqlite");
        let model = HeldModel::new(salting());
        let site = serve(on_file(&path).await, &model).await;
        stock(&site).await;
        let asked = tokio::spawn(request(&site, "one").send());
        model.begun().await;
        for _ in 1..calls {
            model.let_go(1);
            model.begun().await;
        }
        asked.abort();
        end(site).await;

        let model = HeldModel::new(salting());
        model.let_go(2);
        let site = serve(on_file(&path).await, &model).await;
        is_answered_once(&site).await;
        // Once more from a third one, which asks no model.
        end(site).await;
        let idle = HeldModel::new(ScriptedModel::new([]));
        is_answered_once(&serve(on_file(&path).await, &idle).await).await;
    }
}
