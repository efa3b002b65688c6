//! No request sees what belongs to another owner: every operation of the description that takes an
//! id, and every list.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use entourage_store::{Commit, Write};
use entourage_types::{Grant, GrantId, GrantStatus, GrantSubject, Scope};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    auth::{settings, token_of},
    site::{Site, send},
};

/// The ids of one owner's data, by the name of the id's schema.
async fn ids_by_schema(site: &Site) -> BTreeMap<&'static str, String> {
    let (agent, question) = site.asked("tell ask").await;
    let id = |list: Value| list["data"][0]["id"].as_str().expect("an id").to_owned();
    let run = id(site.get(&format!("/v1/agents/{agent}/runs")).await.expect(200));
    let task = id(site.get("/v1/tasks").await.expect(200));
    let grant = create_grant(site, &agent, &question).await;
    let (question, grant) = (("QuestionId", question), ("GrantId", grant));
    let chat = site.post("/api/chats", &json!({"message": "do ask"})).await.expect(201);
    let chat = chat["id"].as_str().expect("an id").to_owned();
    site.follow(&chat, 0).await.until(|frame| frame.event == "question").await;
    let below = id(site.get(&format!("/api/chats/{chat}/sub-agents")).await.expect(200));
    let project = site.post("/v1/projects", &json!({"name": "Hers"})).await.expect(201)["id"].clone();
    let project = project.as_str().expect("an id").to_owned();
    let documents = format!("/v1/projects/{project}/documents");
    let document = site.post(&documents, &json!({"name": "Hers"})).await.expect(201)["id"].clone();
    let act = json!({"message": "hello", "project_id": 1});
    site.post("/api/agent/act", &act).await.expect(200);
    let goal = site.post("/v1/goals", &json!({"title": "Hers"})).await.expect(201)["agent"].clone();
    let goal = ("GoalId", goal.as_str().expect("an id").to_owned());
    let new = json!({"agent": agent, "trigger": "look", "text": "later", "first": "2999-01-01T00:00:00Z"});
    let schedule = site.post("/v1/schedules", &new).await.expect(201)["id"].clone();
    let schedule = ("ScheduleId", schedule.as_str().expect("an id").to_owned());
    let documents = [("ProjectId", project), ("DocumentId", document.as_str().expect("an id").to_owned())];
    let numbers = ["ProjectNumber", "DocumentNumber", "ProjectChatNumber"].map(|name| (name, "1".to_owned()));
    let chats = [("ChatId", chat), ("SubAgentId", below)];
    let others = [
        ("ExplorerAgentId", agent.clone()),
        ("AgentId", agent),
        question,
        ("RunId", run),
        ("TaskId", task),
        grant,
        goal,
        schedule,
    ];
    chats.into_iter().chain(others).chain(documents).chain(numbers).collect()
}

/// Creates a grant for an agent, as an answer to a question does.
async fn create_grant(site: &Site, agent: &str, question: &str) -> String {
    let agent = site.engine.store().agent(&Scope::All, agent.parse().unwrap()).await.unwrap().unwrap();
    let grant = Grant {
        id: GrantId::new(),
        owner: agent.owner,
        root: agent.root,
        agent: agent.id,
        tool: "ask_user".into(),
        subject: GrantSubject::Rule("ask_user".into()),
        question: question.parse().unwrap(),
        status: GrantStatus::Standing,
        created: agent.created,
        updated: agent.created,
    };
    let id = grant.id.to_string();
    let commit = Commit::new(agent.created).write(Write::record(&grant).unwrap());
    site.engine.store().commit(commit).await.unwrap();
    id
}

/// A valid body for the operation.
fn body(operation: &str) -> Option<Value> {
    match operation {
        "createAgent" => Some(json!({})),
        "grantBudget" => Some(json!({"tokens": 1})),
        "sendMessage" => Some(json!({"text": "hello"})),
        "sendChatMessage" => Some(json!({"content": "hello"})),
        "answerQuestion" => Some(json!({"answer": "blue"})),
        "intervene" => Some(json!({"action": "pause"})),
        "userIntervention" => Some(json!({"userComment": "delete"})),
        "answerUserQuery" => Some(json!({"response": "blue"})),
        "changeProject" | "changeNumberedProject" => Some(json!({"name": "Mine"})),
        "createDocument" | "createNumberedDocument" => Some(json!({"name": "Mine"})),
        "changeDocument" | "changeNumberedDocument" => Some(json!({"content": "Mine."})),
        "undoDocument" | "undoNumberedDocument" => Some(json!({"to": 1})),
        "act" => Some(json!({"message": "Mine."})),
        "changeGoalDocument" => Some(json!({"title": "Mine"})),
        "sendToGoal" => Some(json!({"content": "hello"})),
        "switchMcpServer" | "switchMcpServerOfAgent" => Some(json!({"switch": "off"})),
        "setSecret" => Some(json!({"value": "mine-alone"})),
        "changeGoal" => Some(json!({"title": "Mine"})),
        "fireTrigger" => Some(json!({"name": "look", "text": "hello"})),
        _ => None,
    }
}

/// Whether a list has no rows of one owner: all owners share kinds and agencies, and jobs are the operator's. Chats of
/// agencies and receivers have names instead of ids, and each owner has names of its own: see `agencies.rs` and
/// `webhooks.rs`.
fn is_shared(path: &str) -> bool {
    ["/v1/kinds", "/v1/jobs"].contains(&path) || path.starts_with("/v1/agencies") || path.contains("{name}")
}

/// The parameters of a list by which it is restricted to one agent or one tree.
fn by_agent(path: &str) -> Vec<String> {
    let description: Value = serde_json::from_str(&entourage_server::openapi_json()).unwrap();
    let parameters = description["paths"][path]["get"]["parameters"].as_array().cloned().unwrap_or_default();
    let names =
        parameters.iter().filter(|parameter| parameter["in"] == "query").map(|parameter| &parameter["name"]);
    let named = names.filter_map(Value::as_str).filter(|name| ["root", "tree", "agent"].contains(name));
    named.map(str::to_owned).collect()
}

/// All operations: method, path, id, and the schema of the id in the path, if there is one.
fn operations() -> Vec<(Method, String, String, Option<String>)> {
    let description: Value = serde_json::from_str(&entourage_server::openapi_json()).unwrap();
    let mut found = Vec::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let id =
                parameters.iter().find(|parameter| parameter["in"] == "path" && parameter["name"] == "id");
            let schema = id.map(|id| {
                id["schema"]["$ref"].as_str().expect("a named schema").rsplit('/').next().unwrap().to_owned()
            });
            let method = method.to_uppercase().parse().unwrap();
            found.push((method, path.clone(), operation["operationId"].as_str().unwrap().to_owned(), schema));
        }
    }
    found
}

#[tokio::test]
async fn every_route_answers_a_foreign_id_like_an_unknown_id() {
    let alice = Site::with(settings()).await.bearing(&token_of("alice"));
    let bob = alice.bearing(&token_of("bob"));
    let things = ids_by_schema(&alice).await;
    let with_id: Vec<_> = operations().into_iter().filter(|(.., schema)| schema.is_some()).collect();
    assert!(with_id.len() >= 23, "the walk has lost its way: {with_id:?}");
    for (method, path, operation, schema) in with_id {
        let schema = schema.unwrap();
        let id = things.get(&*schema).unwrap_or_else(|| panic!("the test makes no {schema}"));
        let ask = |site: &Site, id: &str| {
            let path = path.replace("{id}", id).replace("{n}", "1").replace("{number}", "1");
            let path = path.replace("{history}", &format!("ses_{}", "0".repeat(32)));
            let query = match path.rsplit('/').next() {
                Some("search") => "?text=hers",
                Some("diff") => "?from=1&to=1",
                _ => "",
            };
            let request = site.request(method.clone(), &format!("{path}{query}")).header("if-match", "*");
            send(match body(&operation) {
                Some(body) => request.json(&body),
                None => request,
            })
        };
        let nothing = match id.split_once('_') {
            Some((prefix, _)) => format!("{prefix}_{}", "0".repeat(32)),
            None => "99".to_owned(),
        };
        let [foreign, unknown] = [ask(&bob, id).await, ask(&bob, &nothing).await];
        assert_eq!(foreign.text.replace(id, &nothing), unknown.text, "{method} {path}");
        if nothing == "99" {
            let _ = [foreign, unknown].map(|answer| answer.detail(404));
        } else if path.ends_with("/inspect") {
            let _ = [foreign, unknown].map(|answer| answer.problem(403, "operator-only"));
        } else if path.starts_with("/agent/") {
            // These have errors of their own form.
            assert_eq!([foreign.status, unknown.status].map(|status| status.as_u16()), [404, 404]);
        } else {
            let _ = [foreign, unknown].map(|answer| answer.problem(404, "not-found"));
        }
    }
    // No attempt has changed anything.
    let question = alice.get(&format!("/v1/questions/{}", things["QuestionId"])).await.expect(200);
    assert_eq!(question["status"], "open");
}

#[tokio::test]
async fn no_list_shows_data_of_another_owner() {
    let alice = Site::with(settings()).await.bearing(&token_of("alice"));
    let bob = alice.bearing(&token_of("bob"));
    let things = ids_by_schema(&alice).await;
    let root = &things["AgentId"];
    let lists = operations().into_iter().filter(|(_, path, operation, schema)| {
        schema.is_none() && operation.starts_with("list") && !is_shared(path)
    });
    // His own, which exists once he has asked for it.
    let his = bob.get("/api/user_agent").await.expect(200)["id"].clone();
    let mut walked = 0;
    for (_, path, ..) in lists {
        let restricted = by_agent(&path).into_iter().map(|name| format!("{path}?{name}={root}"));
        for path in restricted.chain([path.clone()]) {
            let mut shown = bob.get(&path).await.expect(200)["data"].as_array().unwrap().clone();
            shown.retain(|row| row["id"] != his);
            assert_eq!(shown, [Value::Null; 0], "{path}");
            walked += 1;
        }
    }
    assert!(walked >= 18, "the walk has lost its way: {walked}");
}

/// All ids in a response, at any depth.
fn ids(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(entries) => entries.iter().flat_map(ids).collect(),
        Value::Object(fields) => fields.values().flat_map(ids).collect(),
        Value::String(text) if text.len() > 32 && text.as_bytes()[3] == b'_' => vec![text],
        _ => Vec::new(),
    }
}

/// Tries a cursor of another owner's list on each list.
#[tokio::test]
async fn a_cursor_of_another_owner_reveals_none_of_its_data() {
    let alice = Site::with(settings()).await.bearing(&token_of("alice"));
    let bob = alice.bearing(&token_of("bob"));
    let (his, hers) = (ids_by_schema(&bob).await, ids_by_schema(&alice).await);
    let is_list = |operation: &str, path: &str| operation.starts_with("list") && !is_shared(path);
    let (mut walked, mut given) = (0, 0);
    for (_, path, operation, schema) in operations() {
        if !is_list(&operation, &path) {
            continue;
        }
        let of = |things: &BTreeMap<&str, String>| match &schema {
            Some(schema) => path.replace("{id}", &things[&**schema]),
            None => path.clone(),
        };
        let all = alice.get(&of(&hers)).await.expect(200);
        let mut cursors: Vec<String> = ids(&all["data"])
            .into_iter()
            .take(2)
            .chain(["3"])
            .map(|place| URL_SAFE_NO_PAD.encode(format!("1:{place}")))
            .collect();
        // Not every list has pages.
        let first = alice.get(&format!("{}?limit=1", of(&hers))).await;
        let first: Value = serde_json::from_str(&first.text).unwrap();
        if let Some(cursor) = first["next_cursor"].as_str() {
            let goes_on = alice.get(&format!("{}?limit=1&cursor={cursor}", of(&hers))).await.expect(200);
            given += usize::from(goes_on["data"].as_array().is_some_and(|more| !more.is_empty()));
            cursors.push(cursor.to_owned());
        }
        for cursor in cursors {
            let answer = bob.get(&format!("{}?cursor={cursor}", of(&his))).await;
            if path.starts_with("/api/") && answer.status == 422 {
                assert!(
                    answer.detail(422).contains("cursor") || answer.text.contains("query"),
                    "{}",
                    answer.text
                );
            } else if [400, 410].contains(&answer.status.as_u16()) {
                let wrong = serde_json::from_str::<Value>(&answer.text).unwrap();
                let is_named = ["invalid-cursor", "invalid-query", "entry-gone"]
                    .iter()
                    .any(|word| wrong["type"] == format!("urn:entourage:problem:{word}"));
                assert!(is_named, "{path}: {wrong}");
            } else {
                let shown = answer.expect(200);
                for id in ids(&shown) {
                    assert!(!all.to_string().contains(id), "{path} shows {id} behind {cursor}");
                }
            }
            walked += 1;
        }
    }
    assert!(walked > 30 && given >= 3, "the walk has lost its way: {walked}, {given}");
}

#[tokio::test]
async fn no_event_number_opens_a_stream_of_another_owner() {
    let alice = Site::with(settings()).await.bearing(&token_of("alice"));
    let bob = alice.bearing(&token_of("bob"));
    let (his, hers) = (bob.done("hello").await, alice.done("hello").await);
    for number in ["0", "1", "4"] {
        let follow = |id: &str| {
            let request = bob.request(Method::GET, &format!("/v1/agents/{id}/events"));
            request.header("Last-Event-ID", number)
        };
        send(follow(&hers)).await.problem(404, "not-found");
        let seen = crate::stream::Stream::open(follow(&his)).await;
        let seen = seen.until(|frame| frame.is_status_of(&his, "succeeded")).await;
        assert!(seen.iter().all(|frame| frame.data["agent"] == *his), "{seen:?}");
    }
}

#[tokio::test]
async fn idempotency_keys_are_separate_for_each_owner() {
    let alice = Site::with(settings()).await.bearing(&token_of("alice"));
    let bob = alice.bearing(&token_of("bob"));
    let post = |site: &Site| {
        send(site.request(Method::POST, "/v1/agents").header("Idempotency-Key", "k").json(&json!({})))
    };
    assert_ne!(post(&alice).await.expect(201)["id"], post(&bob).await.expect(201)["id"]);
}
