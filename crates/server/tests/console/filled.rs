//! A site on which every page has something to show, and what of that belongs to its owner alone.

use std::sync::Arc;

use entourage_engine::{Engine, Outbox, Receiver};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{Commit, Write};
use entourage_store_sqlite::SqliteStore;
use entourage_types::{ApprovalRule, Kind, Learning, LearningId, LearningStatus, Occasion, Owner, Time};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Browser, chats::led_to};
use crate::{
    agencies,
    auth::token_of,
    installed::installed_of,
    site::{Site, send},
    stream::within,
};

/// A page, below `/console`.
pub(super) struct Sample {
    pub(super) path: String,
    /// A text that it has for its owner; it is not in the path, which a problem repeats.
    pub(super) sign: String,
    /// What somebody else finds there.
    pub(super) others: Others,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    /// The same: it is the server's.
    Same,
    /// A page without what belongs to the owner.
    Less,
    /// No page.
    Nothing,
    /// A refusal: it is the operator's.
    Refused,
}

impl Others {
    /// The status with which they are answered.
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Same | Self::Less => StatusCode::OK,
            Self::Nothing => StatusCode::NOT_FOUND,
            Self::Refused => StatusCode::FORBIDDEN,
        }
    }
}

/// The model's script, which each message selects.
fn speak(request: &Request) -> Script {
    if request.system.starts_with("You keep the records") {
        return Script::text("They spoke of trains.");
    }
    match request.messages.last() {
        Some(Message::User(text)) => match text.split_once(' ') {
            Some(("tell", rest)) => {
                Script::call("send_message", json!({"recipient": "researcher", "message": rest}))
            }
            Some(("ask", _)) => Script::call("ask_user", json!({"question": "Which colour?"})),
            Some(("note", _)) => Script::call("create_note", json!({"title": "Found", "content": "Blue."})),
            _ if text.contains("feed") => {
                Script::text("A thought.").and_call("send_message", json!({"message": "All is well."}))
            }
            _ => Script::text("Done."),
        },
        _ => Script::text("Done."),
    }
}

/// The owner of everything on the site.
pub(super) fn owner() -> String {
    token_of("local")
}

/// A site with tokens, whose agents have done something of everything.
pub(super) async fn filled() -> (Site, Vec<Sample>) {
    let wary = Kind { approval: vec![ApprovalRule::of("create_note")], ..Kind::bare("wary") };
    let receiver =
        Receiver { name: "crm".into(), owner: Owner::local(), events: vec![Occasion::QuestionOpened] };
    let model = ScriptedModel::deciding(|request| Some(Ok(speak(request))));
    let tools = entourage_tools::builtin(entourage_tools::Settings::default());
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let engine = Engine::builder(store, Arc::new(model)).tools(tools).kinds(agencies::kinds().with(wary));
    let site = installed_of(engine.outbox(Outbox::new([receiver])).build()).await;
    site.work();
    let site = site.bearing(&owner());
    let samples = samples(&site).await;
    (site, samples)
}

fn text(made: &Value, name: &str) -> String {
    made[name].as_str().unwrap_or_else(|| panic!("no {name} in {made}")).to_owned()
}

/// A field of the first entry of a list.
async fn first(site: &Site, path: &str, name: &str) -> String {
    text(&site.get(path).await.expect(200)["data"][0], name)
}

/// Has agents work, and returns a sample of each page.
async fn samples(site: &Site) -> Vec<Sample> {
    use Others::{Less, Nothing, Refused, Same};

    let browser = Browser::logged_in(site, &owner()).await;
    let answer = async |question: &str, answer: Value| {
        site.post(&format!("/v1/questions/{question}/answer"), &answer).await.expect(200);
    };
    let succeeded = async |agent: &str| {
        site.follow(agent, 0).await.until(|frame| frame.is_status_of(agent, "succeeded")).await;
    };

    let (agent, question) = site.asked("tell ask aloud").await;
    let run = first(site, &format!("/v1/agents/{agent}/runs"), "id").await;
    let version = first(site, &format!("/v1/agents/{agent}/runs"), "kind_version").await;
    let task = first(site, "/v1/tasks", "id").await;

    let (answering, answered) = site.asked("ask at once").await;
    answer(&answered, json!({"answer": "blue"})).await;
    succeeded(&answering).await;

    let wary = json!({"kind": "wary", "message": "note it"});
    let wary = text(&site.post("/v1/agents", &wary).await.expect(201), "id");
    site.follow(&wary, 0).await.until(|frame| frame.event == "question").await;
    let approval = first(site, "/v1/questions?status=open&about=approval", "id").await;
    answer(&approval, json!({"verdict": "approve_always"})).await;
    succeeded(&wary).await;
    let grant = first(site, "/v1/grants", "id").await;
    let note = first(site, "/v1/notes", "id").await;

    let said = json!({"message": "hello", "chat_id": "first"});
    site.post(agencies::RESPONSES, &said).await.expect(200);
    let chat = first(site, "/v1/agencies/desk/chats", "root").await;

    let goal = text(&site.post("/v1/goals", &json!({"title": "See Rome"})).await.expect(201), "agent");
    let schedule = [
        ("agent", agent.as_str()),
        ("trigger", "look"),
        ("text", "What is new?"),
        ("repeat", "every"),
        ("minutes", "60"),
        ("key", "schedule"),
    ];
    assert_eq!(browser.post("/console/schedules", &schedule).await.status, StatusCode::SEE_OTHER);
    let schedule = first(site, "/v1/schedules", "id").await;
    browser.post("/console/feed", &[("key", "feed")]).await;
    let sessions = async || site.get("/v1/sessions").await.expect(200)["data"].as_array().unwrap().len();
    within("a feed is written", async { while sessions().await == 0 {} }).await;
    let session = first(site, "/v1/sessions", "id").await;

    let project = [("name", "Rome"), ("description", "")];
    let project = led_to(&browser.post("/console/projects", &project).await, "/console/projects/");
    let documents = format!("/console/projects/{project}/documents");
    let document = browser.post(&documents, &[("name", "Plan"), ("content", "Eat.")]).await;
    let document = led_to(&document, "/console/documents/");
    let changed = site.request(Method::PUT, &format!("/v1/documents/{document}")).header("if-match", "*");
    send(changed.json(&json!({"content": "Eat and walk."}))).await.expect(200);
    let learning = learned(site, &agent).await;
    let is_at_work = |agent: &Value| agent["status"] == "queued" || agent["status"] == "running";
    let works = async || {
        let agents = site.get("/v1/agents?limit=200").await.expect(200);
        agents["data"].as_array().unwrap().iter().any(is_at_work)
    };
    within("all rest", async { while works().await {} }).await;

    let of = |path: String, sign: &str, others| Sample { path, sign: sign.to_owned(), others };
    let list = |path: &str, sign: &str| of(path.to_owned(), sign, Less);
    let own = |path: String, sign: &str| of(path, sign, Nothing);
    let server = |path: &str, sign: &str| of(path.to_owned(), sign, Refused);
    vec![
        list("", &question),
        list("/answered", &answered),
        list("/grants", &grant),
        list("/chats", &agent),
        list("/trees", &agent),
        list("/trees?status=waiting&text=ask", &agent),
        list("/runs", &run),
        list("/runs?status=waiting", &run),
        list("/goals", &goal),
        list("/tasks", &task),
        list("/feed", &session),
        list("/schedules", &schedule),
        list("/webhooks", "receiver-crm"),
        list("/documents", &project),
        list("/memory", &note),
        list("/memory?in=learnings&text=trains", &learning),
        list("/memory?in=sessions", &session),
        list("/usage", "<rect class=\"works\""),
        list("/usage?by=model", "<rect class=\"works\""),
        list("/usage?by=kind", "/console/kinds/wary"),
        list("/usage?by=tree", &agent),
        list("/kinds", " open run"),
        list("/kinds/researcher", "<dt>Open runs</dt><dd>1</dd>"),
        list("/agencies/desk", &chat),
        of("/agencies".to_owned(), "agency-desk", Same),
        of(format!("/kinds/assistant/{version}"), "<dt>Program</dt>", Same),
        own(format!("/q/{question}"), "Which colour?"),
        own(format!("/chats/{agent}"), "tell ask aloud"),
        own(format!("/agents/{agent}"), "tell ask aloud"),
        own(format!("/trees/{agent}"), "tell ask aloud"),
        own(format!("/trees/{agent}?at=3"), "tell ask aloud"),
        own(format!("/trees/{agent}/events"), "id=\"e1\""),
        own(format!("/runs/{run}"), ">model call 1</a>"),
        own(format!("/runs/{run}/requests/1"), "tell ask aloud"),
        own(format!("/goals/{goal}"), "See Rome"),
        own(format!("/projects/{project}"), &document),
        own(format!("/documents/{document}?v=2&with=1"), "Eat and walk."),
        own("/webhooks/crm".to_owned(), "question.opened"),
        server("/server", "Maintenance"),
        server("/server/doctor", "not asked"),
        server("/server/settings", "server.streams"),
    ]
}

/// Something that an agent has learned.
async fn learned(site: &Site, agent: &str) -> String {
    let agent = site.client().agent(agent.parse().unwrap()).await.unwrap();
    let now = Time::now();
    let learning = Learning {
        id: LearningId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        agent: agent.id,
        text: "Trains are late.".into(),
        status: LearningStatus::Kept,
        created: now,
        updated: now,
    };
    let commit = Commit::new(now).write(Write::record(&learning).unwrap());
    site.engine.store().commit(commit).await.unwrap();
    learning.id.to_string()
}
