//! The surface of the document agent: integer ids, pages in their order, failures as `FastAPI` has them, owners apart.

use std::{sync::Arc, time::Duration};

use entourage_server::{Algorithm, Auth, Jwt, Settings, mint};
use entourage_store::Store;
use entourage_store_sqlite::SqliteStore;
use entourage_types::Owner;
use reqwest::Method;
use serde_json::{Value, json};

use crate::site::{Site, send};

async fn numbers(site: &Site, path: &str) -> Vec<u64> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = site.get(&format!("{path}?limit=2{cursor}")).await.expect(200);
        all.extend(page["data"].as_array().unwrap().iter().map(|row| row["id"].as_u64().unwrap()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

#[tokio::test]
async fn ids_are_integers_in_order_and_never_used_again() {
    let site = Site::open().await;
    for number in 1..=5_u64 {
        let made = site.post("/api/projects", &json!({ "name": format!("P{number}") })).await.expect(201);
        assert_eq!(made["id"], number);
        let path = format!("/api/projects/{number}/documents");
        let document = site.post(&path, &json!({ "name": "Same" })).await.expect(201);
        assert_eq!((&document["id"], &document["project_id"]), (&json!(number), &json!(number)));
    }
    assert_eq!(numbers(&site, "/api/projects").await, [1, 2, 3, 4, 5]);
    assert_eq!(site.delete("/api/documents/5").await.status, 204);
    assert_eq!(site.delete("/api/projects/5").await.status, 204);
    let made = site.post("/api/projects", &json!({ "name": "P5" })).await.expect(201);
    assert_eq!(made["id"], 6);
    let documents = "/api/projects/1/documents";
    assert_eq!(site.post(documents, &json!({ "name": "B" })).await.expect(201)["id"], 6);
    assert_eq!(numbers(&site, documents).await, [1, 6]);
}

/// Shows: S5-R005, S5-R013, S5-R119.
#[tokio::test]
async fn requests_fail_as_those_of_a_fastapi_service_do() {
    let site = Site::open().await;
    site.post("/api/projects", &json!({ "name": "P" })).await.expect(201);
    let act = "/api/agent/act";
    for (body, loc, sort) in [
        (json!({}), json!(["body", "message"]), "missing"),
        (json!({ "message": 1 }), json!(["body", "message"]), "value_error"),
        (json!({ "message": " \n" }), json!(["body", "message"]), "value_error"),
        (json!({ "message": "a", "project_id": "x" }), json!(["body", "project_id"]), "value_error"),
        (json!({ "message": "a", "project_id": -1 }), json!(["body", "project_id"]), "value_error"),
        (json!({ "message": "a", "project": 1 }), json!(["body", "project"]), "extra_forbidden"),
        (json!([]), json!(["body"]), "value_error"),
    ] {
        let detail = site.post(act, &body).await.expect(422)["detail"].clone();
        assert_eq!((&detail[0]["loc"], &detail[0]["type"]), (&loc, &json!(sort)), "{body}: {detail}");
        assert!(!detail[0]["msg"].as_str().unwrap().is_empty());
    }
    let text = site.request(Method::POST, act).header("content-type", "application/json").body("{");
    let detail = send(text).await.expect(422)["detail"].clone();
    assert_eq!((&detail[0]["loc"], &detail[0]["type"]), (&json!(["body"]), &json!("json_invalid")));
    let detail = |answer: Value| answer["detail"].as_str().unwrap().to_owned();
    assert!(detail(site.post(act, &json!({ "message": "a" })).await.expect(400)).contains("project"));
    assert!(
        detail(site.post(act, &json!({ "message": "a", "chat_id": 7 })).await.expect(400))
            .contains("project")
    );
    let unknown = json!({ "message": "a", "project_id": 7 });
    assert!(detail(site.post(act, &unknown).await.expect(404)).contains("project"));
    assert!(detail(site.get("/api/documents/9999999999999999999").await.expect(404)).contains("document"));
    for (path, loc) in [
        ("/api/documents/x", ["path", "id"]),
        ("/api/projects/1/search?text=%20", ["query", "text"]),
        ("/api/documents/-1", ["path", "id"]),
        ("/api/projects?limit=0", ["query", "limit"]),
        ("/api/projects?limit=x", ["query", "limit"]),
        ("/api/projects?cursor=x", ["query", "cursor"]),
        ("/api/documents/1/diff?from=1", ["query", "to"]),
    ] {
        let answer = site.get(path).await;
        assert_eq!(answer.headers["content-type"], "application/json");
        assert_eq!(answer.expect(422)["detail"][0]["loc"], json!(loc), "{path}");
    }
    assert!(detail(site.get("/api/projects/2").await.expect(404)).contains('2'));
    let documents = "/api/projects/1/documents";
    site.post(documents, &json!({ "name": "D" })).await.expect(201);
    for (part, body) in [
        ("name", json!({ "name": " " })),
        ("name", json!({ "name": "n".repeat(201) })),
        ("content", json!({ "name": "E", "content": "a\0b" })),
        ("standing_instruction", json!({ "name": "E", "standing_instruction": "s".repeat(8_193) })),
    ] {
        let refused = site.post(documents, &body).await.expect(422);
        assert_eq!(refused["detail"][0]["loc"], json!(["body", part]), "{refused}");
    }
    let negative =
        site.post(act, &json!({ "message": "a", "project_id": -1 })).await.expect(422)["detail"].clone();
    assert!(negative[0]["msg"].as_str().unwrap().contains("expected a whole number"), "{negative}");
    // No id of the other surface is in what this one says.
    let stale = site.request(Method::DELETE, "/api/documents/1").header("if-match", "\"7\"");
    let stale = detail(send(stale).await.expect(412));
    assert!(stale.starts_with("the document has version 1, not 7"), "{stale}");
    let gone = detail(site.get("/api/documents/1/diff?from=1&to=99").await.expect(404));
    assert_eq!(gone, "there is no version `99`");
    assert_eq!(detail(site.get("/api/agent/chats/9").await.expect(404)), "there is no project chat `9`");
}

/// Shows: S5-R004, S5-R011, S5-R014.
#[tokio::test]
async fn what_belongs_to_others_does_not_exist() {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().unwrap());
    let key = "0123456789abcdef0123456789abcdef".to_owned().into();
    let jwt = Jwt { algorithm: Algorithm::Hs256, key, operator: None, audience: None, issuer: None };
    let settings = Settings { auth: Auth::Jwt(jwt), ..Settings::default() };
    let site = Site::over(store, settings.clone()).await;
    let token = |name: &str| mint(&settings, &Owner::new(name), Duration::from_secs(60)).unwrap();
    let [ann, eve] = ["ann", "eve"].map(|name| site.bearing(&token(name)));
    for path in ["/api/projects", "/api/agent/chats/1"] {
        let refused = site.get(path).await;
        assert_eq!(refused.headers["www-authenticate"], "Bearer");
        assert!(refused.expect(401)["detail"].is_string());
    }
    assert_eq!(site.post("/api/agent/act", &json!({ "message": "a", "project_id": 1 })).await.status, 401);
    ann.post("/api/projects", &json!({ "name": "P" })).await.expect(201);
    let no_chats = async || assert_eq!(ann.get("/api/projects/1/chats").await.expect(200)["data"], json!([]));
    let act = json!({ "message": "a", "project_id": 1 });
    let forged = site.bearing("a.b.c").post("/api/agent/act", &act).await;
    assert_eq!((forged.status.as_u16(), forged.detail(401).is_empty()), (401, false));
    no_chats().await;
    ann.post("/api/projects/1/documents", &json!({ "name": "D" })).await.expect(201);
    assert_eq!(eve.get("/api/projects").await.expect(200)["data"], json!([]));
    for path in ["/api/projects/1", "/api/documents/1", "/api/projects/1/export", "/api/documents/1/versions"]
    {
        assert_eq!(eve.get(path).await.status, 404, "{path}");
    }
    assert_eq!(eve.delete("/api/documents/1").await.status, 404);
    let stolen = json!({ "message": "a", "project_id": 1 });
    assert_eq!(eve.post("/api/agent/act", &stolen).await.status, 404);
    assert_eq!(eve.get("/api/agent/chats/1").await.status, 404, "nothing is stored");
    no_chats().await;
    eve.post("/api/projects", &json!({ "name": "P" })).await.expect(201);
    assert_eq!(numbers(&eve, "/api/projects").await, [1], "numbers are each owner's own");
}
