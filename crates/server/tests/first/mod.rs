//! A database that the program of the first issue wrote: a client reads the same from it, and the work under
//! way in it continues.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use entourage_server::Settings;
use entourage_store::Store;
use entourage_store_sqlite::{SqliteStore, VERSION};
use entourage_testkit::audit;
use entourage_types::Time;
use serde_json::{Map, Value, json};

use crate::site::Site;

/// What that program answered from it.
fn then() -> Value {
    serde_json::from_str(include_str!("answers.json")).expect("JSON")
}

const STORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../store-sqlite");

/// Migrations that were changed later: by number, the last version that was made with them, and as they were.
/// Later ones are tried with later databases, by the engine's tests.
const CHANGED: [(usize, usize, &str); 2] = [(8, 8, "0008.sql"), (12, 14, "0012.sql")];

/// How the database was migrated since.
#[derive(Debug, Clone, Copy)]
struct Migrated {
    to: usize,
    /// The number of a migration that was another one then, and its file.
    changed: Option<(usize, &'static str)>,
}

impl Migrated {
    const NOT: Self = Self { to: 1, changed: None };

    /// The ways in which programs up to version 14 can have left the database.
    fn all() -> Vec<Self> {
        let as_now = (1..=14).map(|to| Self { to, changed: None });
        let as_then = CHANGED.into_iter().flat_map(|(number, last, file)| {
            (number..=last).map(move |to| Self { to, changed: Some((number, file)) })
        });
        as_now.chain(as_then).collect()
    }

    /// Writes the database, to a file of its own.
    fn write(self, path: &Path) {
        let file = rusqlite::Connection::open(path).expect("a new file");
        file.pragma_update(None, "journal_mode", "WAL").expect("as that program had it");
        file.execute_batch(include_str!("database.sql")).expect("its words");
        let directory = Path::new(STORE).join("migrations");
        let migrations =
            fs::read_dir(directory).expect("migrations").map(|file| file.expect("a file").path());
        let mut migrations: Vec<PathBuf> = migrations.collect();
        migrations.sort();
        if let Some((number, file)) = self.changed {
            migrations[number - 1] = Path::new(STORE).join("tests/main/introduced").join(file);
        }
        for migration in &migrations[1..self.to] {
            file.execute_batch(&fs::read_to_string(migration).expect("a migration")).expect("it migrates");
        }
        file.pragma_update(None, "user_version", self.to as u32).expect("its version");
    }
}

async fn open_site(path: &Path) -> Site {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(path, Default::default()).expect("it opens"));
    Site::at_rest(store, Settings::default()).await
}

/// Checks that everything that was there is there now; there may be more.
fn check_contains(now: &Value, then: &Value) -> Result<(), String> {
    match (then, now) {
        (Value::Null, _) => Ok(()),
        // What a question was about had no name then.
        (Value::Object(then), Value::String(_) | Value::Null) if then.is_empty() => Ok(()),
        // A step that waits for a question says more about it now.
        (Value::String(id), Value::Object(question)) if question.get("id") == Some(&json!(id)) => Ok(()),
        // The program that answered had activated its agents once more, which raises their epochs.
        (Value::Object(then), Value::Object(now)) => {
            then.iter().filter(|(name, _)| *name != "epoch").try_for_each(|(name, value)| {
                let now = match (name.as_str(), now.get("on_end"), now.get("ended")) {
                    // Whether a call waits for a task is now one of the things that the task's end may do.
                    ("wait", Some(does), _) => &json!(does == "answer"),
                    // Whether a task failed is now how it ended.
                    ("failed", _, Some(ended)) => &json!(ended == "failed"),
                    _ => field_named(name, now),
                };
                check_contains(now, value).map_err(|why| format!("{name}: {why}"))
            })
        }
        (Value::Array(then), Value::Array(now)) => {
            let named = |step: &Value, key: &Value| step["key"] == *key;
            then.iter().enumerate().try_for_each(|(index, value)| {
                // Steps are matched by their key: those of pure calls are listed as well now.
                let same = now.iter().find(|now| !value["key"].is_null() && named(now, &value["key"]));
                let same = same.or(now.get(index)).unwrap_or(&Value::Null);
                check_contains(same, value).map_err(|why| format!("{index}: {why}"))
            })
        }
        // A time was a number of microseconds within a step.
        (Value::Number(micros), Value::String(_)) => {
            let time: Option<Time> = serde_json::from_value(now.clone()).ok();
            let is_same = time.map(Time::micros) == micros.as_i64();
            if is_same { Ok(()) } else { Err(format!("{then} became {now}")) }
        }
        _ if then == now => Ok(()),
        _ => Err(format!("{then} became {now}")),
    }
}

/// The member of this name; a turn's model is now part of `used`, what a step kept in `value` has a name for
/// each state, and the code of a notice about a limit or an end is now its reason.
fn field_named<'a>(name: &str, now: &'a Map<String, Value>) -> &'a Value {
    let renamed = match name {
        "model" => now.get("used").and_then(|used| used.get("model")),
        "value" => ["result", "waits_for", "retry"].iter().find_map(|name| now.get(*name)),
        "code" => now.get("reason").filter(|reason| !reason.is_null()),
        _ => None,
    };
    renamed.or(now.get(name)).unwrap_or(&Value::Null)
}

async fn assert_reads_the_same(site: &Site) {
    let then = then();
    for (path, answer) in then["answers"].as_object().expect("answers") {
        let now = site.get(path).await.expect(200);
        check_contains(&now, answer).unwrap_or_else(|why| panic!("{path}: {why}"));
    }
    for (tree, events) in then["events"].as_object().expect("events") {
        let id = then["trees"][tree].as_str().expect("an id");
        let mut stream = site.follow(id, 0).await;
        for event in events.as_array().expect("a list") {
            let frame = stream.next().await.expect("an event");
            assert_eq!(json!(frame.id), event["seq"], "{tree}");
            check_contains(&frame.data, event).unwrap_or_else(|why| panic!("{tree}: {why}"));
        }
    }
}

#[tokio::test]
async fn a_client_reads_the_same_data_from_a_migrated_version_1_database() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("entourage.db");
    Migrated::NOT.write(&path);
    assert_eq!(SqliteStore::version_of(&path).expect("ours"), Some(1));
    assert_reads_the_same(&open_site(&path).await).await;
    assert_eq!(SqliteStore::version_of(&path).expect("ours"), Some(VERSION));
    // And again, once the database has this version.
    let again = directory.path().join("again.db");
    rusqlite::Connection::open(&path)
        .and_then(|file| file.execute("VACUUM INTO ?1", [again.to_str()]))
        .expect("a copy");
    assert_reads_the_same(&open_site(&again).await).await;
}

#[tokio::test]
async fn unfinished_work_in_a_version_1_database_continues_whatever_version_it_was_migrated_to() {
    for migrated in Migrated::all() {
        println!("{migrated:?}");
        unfinished_work_continues(migrated).await;
    }
}

async fn unfinished_work_continues(migrated: Migrated) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("entourage.db");
    migrated.write(&path);
    let site = open_site(&path).await;
    let trees = then()["trees"].clone();
    let id = |tree: &str| trees[tree].as_str().expect("an id").to_owned();
    let question = site.get("/v1/questions?status=open").await.expect(200)["data"][0]["id"].clone();
    site.work();
    // Killed while a model was answering: the model is called again automatically.
    let ended = async |tree: &str| {
        let id = id(tree);
        site.follow(&id, 0).await.until(|frame| frame.is_status_of(&id, "succeeded")).await
    };
    ended("killed").await;
    let answer = format!("/v1/questions/{}/answer", question.as_str().expect("an id"));
    site.post(&answer, &json!({ "answer": "Nothing." })).await.expect(200);
    ended("asked").await;
    // Whether its retry is due depends on the day; either way it may be retried now.
    let retry = format!("/v1/agents/{}/interventions", id("retried"));
    site.post(&retry, &json!({ "action": "retry" })).await;
    ended("retried").await;
    for tree in ["idle", "failed"] {
        let message = format!("/v1/agents/{}/messages", id(tree));
        site.post(&message, &json!({ "text": "Go on." })).await.expect(202);
        ended(tree).await;
    }
    for tree in ["killed", "asked", "retried", "idle", "failed"] {
        let events = site.client().events(id(tree).parse().expect("an id"), 0, 1000).await.expect("events");
        assert!(events.iter().zip(1..).all(|(event, seq)| event.seq == seq), "{tree}: events have a gap");
        let usage = site.get(&format!("/v1/agents/{}/usage", id(tree))).await;
        usage.expect(200);
    }
    // What was done before the kill is not repeated: one note, and the calls of each turn once.
    let notes = site.get(&format!("/v1/notes?root={}", id("killed"))).await.expect(200);
    assert_eq!(notes["data"].as_array().map(Vec::len), Some(1), "{notes}");
    let violations = audit(&**site.engine.store(), None).await.expect("it is read");
    assert_eq!(violations, []);
}
