//! Kinds over HTTP: which versions open runs have, and reloading.

use std::{fs, path::Path, sync::Arc, time::Duration};

use entourage_engine::{Engine, Kinds};
use entourage_llm::{Connection, Error as ModelError, Gated, Message, Request, Script, ScriptedModel};
use entourage_server::Settings;
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::{HeldModel, quiet};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    auth::{settings, token_of},
    site::{Answer, Site, asking, send},
    stream::within,
};

pub(crate) fn write(directory: &Path, name: &str, front: &str) {
    let text = format!("---\nname: {name}\ntools: [ask_user]\n{front}---\nAsk.\n");
    fs::write(directory.join(format!("{name}.md")), text).unwrap();
}

/// A site whose kinds are the files of a directory. Its agents ask a question first.
pub(crate) async fn site_with_kind_files(directory: &TempDir, settings: Settings) -> Site {
    let path = directory.path().to_owned();
    let read = move || {
        let mut kinds = Kinds::none();
        kinds.load(&path).map(|findings| (kinds, findings))
    };
    let model = ScriptedModel::deciding(|request: &Request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(_)) => Script::call("ask_user", json!({"question": "Which?"})),
            _ => Script::text("Done."),
        }))
    });
    let tools = entourage_tools::builtin(entourage_tools::Settings::default());
    let engine = Engine::builder(Arc::new(SqliteStore::in_memory().unwrap()), Arc::new(model)).tools(tools);
    let engine = engine.kinds(read().unwrap().0).kinds_from(Arc::new(read)).build();
    let site = Site::serving(engine, settings).await;
    site.work();
    site
}

async fn reload(site: &Site) -> Answer {
    send(site.request(Method::POST, "/v1/kinds/reload")).await
}

async fn start_clerk_until_it_asks(site: &Site) {
    let agent = site.post("/v1/agents", &json!({"kind": "clerk", "message": "Go."})).await.expect(201);
    let id = agent["id"].as_str().unwrap();
    site.follow(id, 0).await.until(|frame| frame.is_status_of(id, "waiting")).await;
}

async fn clerk(site: &Site) -> Value {
    site.get("/v1/kinds/clerk").await.expect(200)
}

#[tokio::test]
async fn a_reloaded_kind_reports_the_open_runs_of_each_version() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "clerk", "");
    let site = site_with_kind_files(&directory, Settings::default()).await;
    start_clerk_until_it_asks(&site).await;
    let first = clerk(&site).await;
    assert_eq!(
        (&first["open_runs"], &first["earlier"], &first["gone"]),
        (&json!(1), &json!([]), &json!(false))
    );

    write(directory.path(), "clerk", "description: Files papers.\n");
    write(directory.path(), "cook", "colour: red\n");
    let reloaded = reload(&site).await.expect(200);
    assert_eq!((&reloaded["added"], &reloaded["changed"]), (&json!(["cook"]), &json!(["clerk"])));
    assert!(reloaded["remarks"][0]["text"].as_str().unwrap().contains("colour"), "{reloaded}");
    start_clerk_until_it_asks(&site).await;
    let second = clerk(&site).await;
    assert_ne!(second["version"], first["version"]);
    assert_eq!(second["open_runs"], 1);
    assert_eq!(second["earlier"], json!([{"version": first["version"], "open_runs": 1}]));

    fs::remove_file(directory.path().join("clerk.md")).unwrap();
    assert_eq!(reload(&site).await.expect(200)["removed"], json!(["clerk"]));
    let kinds = site.get("/v1/kinds").await.expect(200);
    let listed: Vec<_> =
        kinds["data"].as_array().unwrap().iter().map(|kind| (&kind["name"], &kind["gone"])).collect();
    assert_eq!(listed, [(&json!("clerk"), &json!(true)), (&json!("cook"), &json!(false))]);
}

#[tokio::test]
async fn a_kind_may_be_named_reload_like_the_path() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "clerk", "");
    let site = site_with_kind_files(&directory, Settings::default()).await;
    let problem = site.get("/v1/kinds/reload").await.problem(404, "not-found");
    assert!(problem.detail.contains("no kind `reload`"), "{}", problem.detail);
    write(directory.path(), "reload", "");
    assert_eq!(reload(&site).await.expect(200)["added"], json!(["reload"]));
    assert_eq!(site.get("/v1/kinds/reload").await.expect(200)["name"], "reload");
}

#[tokio::test]
async fn a_wrong_method_on_the_reload_path_lists_the_allowed_methods() {
    let site = Site::open().await;
    for method in [Method::PUT, Method::PATCH, Method::DELETE] {
        let answer = send(site.request(method, "/v1/kinds/reload")).await;
        answer.problem(405, "method-not-allowed");
        let mut taken: Vec<&str> =
            answer.headers["allow"].to_str().unwrap().split(',').map(str::trim).collect();
        taken.sort_unstable();
        assert_eq!(taken, ["GET", "HEAD", "POST"]);
    }
}

#[tokio::test]
async fn a_reload_with_a_broken_file_changes_no_kind_and_names_the_line() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "clerk", "");
    let site = site_with_kind_files(&directory, Settings::default()).await;
    let before = clerk(&site).await;
    write(directory.path(), "clerk", "description: Files papers.\n");
    write(directory.path(), "cook", "limits:\n  max_stepz: 1\n");
    let problem = reload(&site).await.problem(422, "broken-kinds");
    let file = directory.path().join("cook.md");
    assert!(problem.detail.starts_with(&format!("{}:5: error: ", file.display())), "{}", problem.detail);
    assert!(problem.detail.contains("max_stepz"), "{}", problem.detail);
    assert_eq!(clerk(&site).await, before);

    let unread = Site::open().await;
    let problem = reload(&unread).await.problem(422, "invalid-request");
    assert!(problem.detail.contains("not read from files"), "{}", problem.detail);
}

#[tokio::test]
async fn only_the_operator_reloads_kinds_and_owners_see_their_own_runs() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "clerk", "");
    let site = site_with_kind_files(&directory, settings()).await;
    let (operator, alice) = (site.bearing(&token_of("local")), site.bearing(&token_of("alice")));
    start_clerk_until_it_asks(&alice).await;
    assert_eq!(
        (clerk(&alice).await["open_runs"].clone(), clerk(&operator).await["open_runs"].clone()),
        (json!(1), json!(0))
    );

    fs::remove_file(directory.path().join("clerk.md")).unwrap();
    let problem = reload(&alice).await.problem(403, "operator-only");
    assert!(problem.detail.contains("entourage token --owner local"), "{}", problem.detail);
    assert_eq!(clerk(&alice).await["gone"], false, "nothing has changed");
    reload(&operator).await.expect(200);
    assert_eq!(clerk(&alice).await["gone"], true);
    operator.get("/v1/kinds/clerk").await.problem(404, "not-found");
}

#[tokio::test]
async fn the_text_of_a_kind_is_checked_without_being_loaded() {
    let site = Site::open().await;
    let check = async |text: &str| {
        site.post("/v1/kinds/check", &json!({"text": text})).await.expect(200)["data"].clone()
    };
    assert_eq!(check("---\nname: fine\n---\nDo it.").await, json!([]));
    let wrong = check("---\nname: wrong\nmax_stepz: 3\nlimits: {max_steps: many}\n---\nDo it.").await;
    assert!(wrong.as_array().unwrap().iter().any(|finding| finding["severity"] == "mistake"), "{wrong}");
    let peers = check("---\nname: lonely\npeers: [nobody]\n---\nDo it.").await;
    assert!(peers[0]["text"].as_str().unwrap().contains("nobody"), "{peers}");
    site.get("/v1/kinds/fine").await.problem(404, "not-found");
}

#[tokio::test]
async fn each_of_many_files_whose_aliases_repeat_too_much_is_refused() {
    let site = Site::open().await;
    let lists = (1..12)
        .map(|level| format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(",")));
    let text = format!("---\nname: bomb\na0: &a0 [x,x]\n{}---\nDo it.", lists.collect::<String>());
    let body = json!({"text": text});
    let checks = (0..20).map(|_| site.post("/v1/kinds/check", &body));
    for answer in futures::future::join_all(checks).await {
        let found = answer.expect(200)["data"].clone();
        assert_eq!(
            (found.as_array().unwrap().len(), &found[0]["severity"]),
            (1, &json!("mistake")),
            "{found}"
        );
        assert!(found[0]["text"].as_str().unwrap().starts_with("too many values: at most "), "{found}");
    }
}

#[tokio::test]
async fn a_kind_shows_its_limits_and_the_operator_its_source_and_its_versions() {
    let site = Site::with(settings()).await;
    let (operator, other) = (site.bearing(&token_of("local")), site.bearing(&token_of("eve")));
    let kind = operator.get("/v1/kinds/researcher").await.expect(200);
    assert!(kind["limits"]["max_steps"].is_u64() && kind["context"]["compact_at"].is_f64(), "{kind}");
    assert_eq!(kind["in_doubt"]["otherwise"], "give_up");
    assert!(kind["source"].as_str().is_some_and(|source| !source.is_empty()));
    assert!(other.get("/v1/kinds/researcher").await.expect(200).get("source").is_none());
    assert_eq!(operator.get("/v1/kinds/researcher/versions").await.expect(200)["data"], json!([]));
    operator.done("tell hello").await;
    let versions = operator.get("/v1/kinds/researcher/versions").await.expect(200)["data"].clone();
    assert_eq!((versions.as_array().unwrap().len(), &versions[0]["version"]), (1, &kind["version"]));
    let version = versions[0]["version"].as_str().unwrap();
    let shown = operator.get(&format!("/v1/kinds/researcher/versions/{version}")).await.expect(200);
    assert_eq!((&shown["name"], &shown["version"]), (&json!("researcher"), &kind["version"]));
    operator.get(&format!("/v1/kinds/assistant/versions/{version}")).await.problem(404, "not-found");
}

#[tokio::test]
async fn a_kind_shows_which_of_its_tools_may_run_again() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "clerk", "effects: { pure: [ask_user] }\n");
    let site = site_with_kind_files(&directory, Settings::default()).await;
    assert_eq!(clerk(&site).await["effects"], json!({ "pure": ["ask_user"] }));
}

#[tokio::test]
async fn the_operator_sees_the_places_of_the_server() {
    let site = Site::with(settings()).await;
    let (operator, other) = (site.bearing(&token_of("local")), site.bearing(&token_of("eve")));
    operator.done("hello").await;
    let server = operator.get("/v1/server").await.expect(200);
    assert_eq!(server["places"]["limit"], 1024, "{server}");
    other.get("/v1/server").await.problem(403, "operator-only");
}

/// Reads the one gate of a server until it is as wanted.
async fn gate(site: &Site, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let read = async {
        loop {
            let server = site.get("/v1/server").await.expect(200);
            let gates = server["gates"].as_array().expect("a list");
            assert!(gates.len() <= 1, "one model, one gate: {server}");
            if let Some(gate) = gates.first().filter(|gate| fits(gate)) {
                return gate.clone();
            }
            tokio::task::yield_now().await;
        }
    };
    within(what, read).await
}

#[tokio::test]
async fn the_operator_sees_the_version_and_the_gate_of_each_model_that_was_asked() {
    let refusing = ScriptedModel::deciding(|_| {
        let retry_after = Some(Duration::from_secs(60));
        Some(Err(ModelError::RateLimited { model: "m".into(), retry_after }))
    });
    let held = HeldModel::new(refusing);
    let connection = Connection { concurrency: Some(1), ..Connection::default() };
    let model = Arc::new(Gated::new(held.clone(), connection));
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let site = Site::serving(asking(model, store, quiet(Kinds::builtin())), Settings::default()).await;
    site.work();
    let server = site.get("/v1/server").await.expect(200);
    assert_eq!((&server["version"], &server["gates"]), (&json!(env!("CARGO_PKG_VERSION")), &json!([])));

    // One call is with the provider, and one waits for its place.
    for text in ["one", "two"] {
        site.make(text).await;
    }
    held.begun().await;
    let open = gate(&site, "the second call waits", |gate| gate["waiting"] == 1).await;
    assert_eq!(
        open,
        json!({"model": "default", "door": "open", "opens_in_ms": null, "in_flight": 1, "waiting": 1,
               "blocked_owners": 0})
    );
    // The provider refuses the first call and names a pause, which holds back the second one as well.
    held.let_go(1);
    let paused = gate(&site, "the gate closes", |gate| gate["door"] == "paused").await;
    let left = paused["opens_in_ms"].as_u64().expect("a time");
    assert!((30_000..=60_000).contains(&left), "{paused}");
}
