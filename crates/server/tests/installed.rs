//! What a server tells its operator about the program that it is part of.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_api::{Finding, FindingState, HeldSettings, SetBy, Setting};
use entourage_engine::Engine;
use entourage_server::Installation;
use entourage_store_sqlite::SqliteStore;
use serde_json::json;

use crate::{
    auth::{settings, token_of},
    site::{Site, engine},
};

/// A program whose doctor finds one thing, and that has one setting.
struct Program;

#[async_trait]
impl Installation for Program {
    async fn examine(&self, offline: bool) -> Vec<Finding> {
        let text = if offline { "not asked" } else { "answers" };
        let (what, state) = ("model".to_owned(), FindingState::Good);
        vec![Finding { what, state, text: text.to_owned(), seen: Vec::new() }]
    }

    fn settings(&self) -> HeldSettings {
        let (key, value) = ("server.streams".to_owned(), Some("64".to_owned()));
        let setting = Setting { key, value, hidden: false, set_by: SetBy::Default, set_in: None };
        HeldSettings { directory: "/data".to_owned(), file: None, ignored: Vec::new(), data: vec![setting] }
    }
}

/// A site with tokens whose program tells about itself.
pub(crate) async fn installed() -> Site {
    installed_of(engine(Arc::new(SqliteStore::in_memory().unwrap()))).await
}

/// The same with this engine.
pub(crate) async fn installed_of(engine: Engine) -> Site {
    Site::installed(engine, settings(), Arc::new(Program)).await
}

#[tokio::test]
async fn the_operator_sees_what_the_doctor_finds_and_the_settings() {
    let site = installed().await.bearing(&token_of("local"));
    for (query, text) in [("", "answers"), ("?offline=true", "not asked")] {
        let found = site.get(&format!("/v1/doctor{query}")).await.expect(200);
        assert_eq!(found["data"], json!([{"what": "model", "state": "good", "text": text}]));
    }
    let held = site.get("/v1/settings").await.expect(200);
    assert_eq!((&held["directory"], &held["data"][0]["value"]), (&json!("/data"), &json!("64")));
}

#[tokio::test]
async fn nobody_but_the_operator_sees_them() {
    let site = installed().await;
    let other = site.bearing(&token_of("eve"));
    for path in ["/v1/doctor", "/v1/settings"] {
        other.get(path).await.problem(403, "operator-only");
        site.get(path).await.problem(401, "unauthorized");
    }
}

#[tokio::test]
async fn a_program_that_does_not_tell_about_itself_has_no_doctor() {
    let site = Site::open().await;
    for path in ["/v1/doctor", "/v1/settings"] {
        site.get(path).await.problem(404, "not-found");
    }
}
