//! MCP servers, their switches and secrets over HTTP: each owner has their own, and values are never shown.

use std::sync::Arc;

use entourage_api::{McpServer, Secret};
use entourage_engine::{Engine, SecretKeys, ToolServer, new_secret_key};
use entourage_llm::ScriptedModel;
use entourage_store_sqlite::SqliteStore;
use entourage_types::Switch;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    auth::{settings, token_of},
    site::{Answer, Site, send},
};

const CANARY: &str = "canary-of-an-owner";

/// A site with two servers in its catalogue, one of which needs a secret, and with keys that seal it.
async fn site() -> Site {
    let key = new_secret_key().unwrap();
    let bank = ToolServer { secrets: vec!["bank".parse().unwrap()], ..ToolServer::shared("bank") };
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let engine = Engine::builder(store, Arc::new(ScriptedModel::new([])))
        .tool_servers(vec![bank, ToolServer::shared("mail")])
        .secret_keys(Some(SecretKeys::parse(&key).unwrap()))
        .build();
    Site::serving(engine, settings()).await
}

async fn put(site: &Site, path: &str, body: &Value) -> Answer {
    send(site.request(Method::PUT, path).json(body)).await
}

/// Shows: S4-R075, S4-R081.
#[tokio::test]
async fn servers_are_listed_and_switched_for_all_agents_and_for_one() {
    let site = site().await.bearing(&token_of("ann"));
    let goal = site.post("/v1/goals", &json!({ "title": "Rome" })).await.expect(201)["agent"].clone();
    let goal = goal.as_str().unwrap();
    let of_goal = format!("/v1/agents/{goal}/mcp_servers");
    let servers = async |path: &str| -> Vec<McpServer> {
        serde_json::from_value(site.get(path).await.expect(200)["data"].clone()).unwrap()
    };
    let all = servers("/v1/mcp_servers").await;
    let shown: Vec<_> =
        all.iter().map(|server| (&*server.name, server.effective, server.secrets.len())).collect();
    assert_eq!(shown, [("bank", Switch::On, 1), ("mail", Switch::On, 0)]);
    assert!(all[0].problem.as_ref().is_some_and(|why| why.contains("entourage secrets set bank")), "{all:?}");
    assert_eq!(all[1].problem, None);

    let off = json!({ "switch": "off" });
    let switched = put(&site, "/v1/mcp_servers/mail/switch", &off).await.expect(200);
    assert_eq!((&switched["switch"], &switched["effective"]), (&json!("off"), &json!("off")));
    let mail = &servers(&of_goal).await[1];
    assert_eq!((mail.switch, mail.effective), (None, Switch::Off));
    let tool =
        put(&site, &format!("{of_goal}/mail__send/switch"), &json!({ "switch": "on" })).await.expect(200);
    assert_eq!(tool["tools"], json!([{ "name": "mail__send", "switch": "on", "effective": "on" }]));
    for path in [format!("{of_goal}/mail__send/switch"), "/v1/mcp_servers/mail/switch".into()] {
        for _ in 0..2 {
            assert_eq!(site.delete(&path).await.status, 204, "{path}");
        }
    }
    assert_eq!(servers(&of_goal).await, all);

    put(&site, "/v1/mcp_servers/none/switch", &off).await.problem(404, "not-found");
    put(&site, "/v1/mcp_servers/mail/switch", &json!({ "switch": "maybe" }))
        .await
        .problem(422, "invalid-body");
    put(&site, "/v1/mcp_servers/mail/switch", &json!({})).await.problem(422, "invalid-body");
    let eve = site.bearing(&token_of("eve"));
    eve.get(&of_goal).await.problem(404, "not-found");
    put(&eve, &format!("{of_goal}/mail/switch"), &off).await.problem(404, "not-found");
}

/// Shows: INV-09.
#[tokio::test]
async fn a_secret_is_set_listed_and_deleted_and_its_value_never_shown() {
    let site = site().await;
    let [ann, eve] = ["ann", "eve"].map(|owner| site.bearing(&token_of(owner)));
    let value = json!({ "value": CANARY });
    let first = put(&ann, "/v1/secrets/bank", &value).await;
    let again = put(&ann, "/v1/secrets/bank", &value).await;
    assert_eq!((first.status.as_u16(), again.status.as_u16()), (201, 200));
    let set: Secret = again.read();
    let listed = ann.get("/v1/secrets").await;
    assert_eq!(listed.expect(200)["data"], json!([set]));
    assert_eq!(eve.get("/v1/secrets").await.expect(200)["data"], json!([]));
    eve.delete("/v1/secrets/bank").await.problem(404, "not-found");
    for (body, problem) in [
        (json!({ "value": "" }), "invalid-request"),
        (json!({ "value": [CANARY] }), "invalid-body"),
        (json!({ "value": CANARY, "more": 1 }), "invalid-body"),
        (json!({ "value": format!("{CANARY}\0") }), "invalid-request"),
    ] {
        let refused = put(&ann, "/v1/secrets/bank", &body).await;
        refused.problem(422, problem);
        assert!(!refused.text.contains(CANARY), "{}", refused.text);
    }
    put(&ann, "/v1/secrets/a%20b", &value).await.problem(400, "invalid-path");
    for answer in [&first, &again, &listed] {
        assert!(!answer.text.contains(CANARY), "{}", answer.text);
    }
    assert_eq!(ann.delete("/v1/secrets/bank").await.status, 204);
    ann.delete("/v1/secrets/bank").await.problem(404, "not-found");
}

#[tokio::test]
async fn only_the_operator_seals_all_secrets_anew_and_without_keys_none_can_be_set() {
    let site = site().await;
    let [ann, operator] = ["ann", "local"].map(|owner| site.bearing(&token_of(owner)));
    put(&ann, "/v1/secrets/bank", &json!({ "value": CANARY })).await.expect(201);
    let reseal = async |site: &Site| send(site.request(Method::POST, "/v1/secret_keys/reseal")).await;
    reseal(&ann).await.problem(403, "operator-only");
    assert_eq!(reseal(&operator).await.expect(200), json!({ "resealed": 0, "current": 1, "unreadable": 0 }));
    let without = Site::open().await;
    let refused = put(&without, "/v1/secrets/bank", &json!({ "value": CANARY })).await;
    assert!(refused.problem(409, "no-secret-key").detail.contains("entourage secrets key"));
}
