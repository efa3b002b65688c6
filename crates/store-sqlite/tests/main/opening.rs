//! Opening: a file that cannot be used is refused with the reason and left unchanged; one process at a time.

use std::{fs, path::Path};

use entourage_store::{AgentQuery, Commit, Error, ItemQuery, Store, Write};
use entourage_store_sqlite::{Settings, SqliteStore, VERSION};
use entourage_types::{
    About, Agent, AgentId, CallId, Checkpoint, Effect, EntityKind, Guardrails, Intent, ItemBody, JobRun,
    Kind, OnEnd, OpenQuestion, OutputEffect, Owner, PendingSave, PostBody, PostId, QuestionId, Record, Retry,
    RunId, RunOptions, Scope, ShownStatus, StepKey, StepState, StopReason, TaskId, Time, Verdict, Wait,
    WakeupId,
};
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use crate::author::{Author, assert_whole};
use crate::older::{insert_agent, of_version};

fn open(path: &Path) -> Result<SqliteStore, Error> {
    SqliteStore::open(path, Settings::default())
}

/// Returns the reason why `path` is refused.
fn refusal(path: &Path) -> String {
    match open(path) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => {
            assert!(matches!(error, Error::Unusable { .. }), "{error:?}");
            let text = error.to_string();
            assert!(text.contains(&path.display().to_string()), "{text}");
            text
        }
    }
}

#[test]
fn a_database_of_another_program_is_refused_and_left_unchanged() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("theirs.db");
    let theirs = Connection::open(&path).unwrap();
    theirs.execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
    drop(theirs);
    let before = fs::read(&path).unwrap();
    assert!(refusal(&path).contains("another program"));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_unchanged() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("letter.txt");
    let letter = "Dear Ann, this is not a database. ".repeat(300);
    fs::write(&path, &letter).unwrap();
    assert!(refusal(&path).contains("not a database"));
    assert_eq!(fs::read_to_string(&path).unwrap(), letter);
}

#[tokio::test]
async fn an_empty_file_with_a_remaining_log_is_refused() {
    let directory = TempDir::new().unwrap();
    let [path, cut] = ["entourage.db", "cut.db"].map(|name| directory.path().join(name));
    let log = |path: &Path| path.with_extension("db-wal");
    let store = open(&path).unwrap();
    Author::begin(&store).await.unwrap();
    // The log as a crash leaves it, beside a file that was emptied.
    fs::copy(log(&path), log(&cut)).unwrap();
    fs::write(&cut, "").unwrap();
    let before = fs::read(log(&cut)).unwrap();
    assert!(!before.is_empty());
    let why = refusal(&cut);
    assert!(why.contains("it is empty, but its log") && why.contains("entourage backup"), "{why}");
    assert!(fs::read(log(&cut)).unwrap() == before, "nothing of it is lost");
    // Without a log, an empty file is a new database, as for SQLite.
    fs::remove_file(log(&cut)).unwrap();
    open(&cut).unwrap();
}

#[test]
fn a_database_of_a_newer_version_is_refused() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    drop(open(&path).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 999).unwrap();
    let why = refusal(&path);
    assert!(why.contains("version 999") && why.contains("newer"), "{why}");
}

#[test]
fn an_older_database_is_refused_unchanged_if_migration_is_off() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let first = of_version(&path, 1);
    drop(first);
    let before = fs::read(&path).unwrap();
    let refused = SqliteStore::open(&path, Settings { migrate: false, ..Settings::default() }).err().unwrap();
    assert!(refused.to_string().contains("entourage migrate"), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), before);
    drop(open(&path).unwrap());
    assert_eq!(SqliteStore::version_of(&path).unwrap(), Some(VERSION));
    SqliteStore::open(&path, Settings { migrate: false, ..Settings::default() }).unwrap();
}

/// An item or a step of version 6: an output of a tool with details.
fn output_of_version_6(tool: &str, details: &serde_json::Value) -> String {
    let call = CallId::new();
    json!({"call": call, "tool": tool, "text": "t", "details": details}).to_string()
}

#[tokio::test]
async fn migration_from_version_6_turns_engine_details_into_output_effects() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let old = of_version(&path, 6);
    let (agent, run) = (AgentId::new(), RunId::new());
    insert_agent(&old, agent);
    let [given, other] = [(agent, TaskId::new()), (AgentId::new(), TaskId::new())];
    for (giver, task) in [given, other] {
        old.execute(
            "INSERT INTO entities (kind, id, owner, parent, status, created, updated, body) \
             VALUES ('task', ?1, 'local', ?2, 'succeeded', 0, 0, '{}')",
            [task.to_string(), giver.to_string()],
        )
        .unwrap();
    }
    let (own, theirs) = (Some(OutputEffect::Delegated(given.1)), other.1);
    let rows = [
        ("final_answer", json!({"answer": "a"}), Some(OutputEffect::Answer("a".into()))),
        ("send_message", json!({"said": "b"}), Some(OutputEffect::Said("b".into()))),
        ("send_message", json!({"refused_by": "c"}), Some(OutputEffect::Refused { by: "c".into() })),
        ("spawn_agent", json!({"task": given.1}), own),
        ("spawn_agent", json!({"task": theirs}), None),
        ("mcp__bank__pay", json!({"answer": "d"}), None),
        ("query", json!({"answer": "e", "rows": 3}), None),
        ("query", json!({"answer": 4}), None),
        ("query", json!(["answer"]), None),
    ];
    for (seq, (tool, details, _)) in rows.iter().enumerate() {
        let body = output_of_version_6(tool, details);
        old.execute(
            "INSERT INTO items (agent, seq, run, session, at, type, body) VALUES (?1, ?2, ?3, 1, 0, 'output', ?4)",
            rusqlite::params![agent.to_string(), seq as i64, run.to_string(), body],
        )
        .unwrap();
    }
    old.execute(
        "INSERT INTO steps (run, key, state, value, attempt, started, updated) VALUES (?1, 'tool/x', 'done', ?2, 1, 0, 0)",
        [run.to_string(), output_of_version_6("final_answer", &json!({"answer": "f"}))],
    )
    .unwrap();
    drop(old);
    let store = open(&path).unwrap();
    let items = store.items(&Scope::All, ItemQuery::of(agent, 0, 100)).await.unwrap();
    for (item, (tool, before, expected)) in items.iter().zip(&rows) {
        let ItemBody::Output(output) = &item.body else { panic!("{item:?}") };
        assert_eq!(&output.effect, expected, "{tool} {before}");
        let kept = expected.is_none().then_some(before);
        assert_eq!(output.details.as_ref(), kept, "{tool} {before}");
    }
    let steps = store.steps(&Scope::All, run).await.unwrap();
    assert_eq!(steps[0].output().unwrap().answer(), Some("f"));
}

/// Version 11 stored events under the id of their tree, and the reason why an agent failed only in its last
/// run.
#[tokio::test]
async fn migration_from_version_11_keeps_events_and_stop_reasons() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let old = of_version(&path, 11);
    let ids: Vec<AgentId> = (0..4).map(|_| AgentId::new()).collect();
    let ended: [(&str, &[&str]); 4] = [
        ("failed", &["cancelled"]),
        ("failed", &["max_steps"]),
        ("succeeded", &["cancelled", "completed"]),
        ("failed", &["cancelled", "max_time"]),
    ];
    let event = |root: AgentId, seq: u64, status: &str| {
        let body = json!({ "event": "agent_status", "status": status }).to_string();
        let values = [root.to_string(), seq.to_string(), body];
        let insert = "INSERT INTO events (root, seq, agent, at, name, body) VALUES (?1, ?2, ?1, 5, 'agent_status', ?3)";
        old.execute(insert, values).unwrap();
    };
    for (id, (status, runs)) in ids.iter().zip(ended) {
        let insert = "INSERT INTO agents (id, owner, root, depth, kind, title, status, epoch, session, created, updated) \
                      VALUES (?1, 'local', ?1, 0, 'helper', '', ?2, 1, 1, 0, 0)";
        old.execute(insert, [id.to_string(), status.to_owned()]).unwrap();
        for reason in runs {
            let spent = json!([{
                "day": "2026-01-01", "model": "m", "calls": 1, "unpriced": 0, "cost": 0,
                "usage": { "input": u64::MAX, "output": 0, "cached": 0, "cache_written": 0, "reasoning": 0 },
            }]);
            let insert = "INSERT INTO runs (id, agent, owner, status, stop_reason, kind_version, tasks, model_calls, \
                          worked_ms, input_tokens, output_tokens, cached_tokens, cache_written_tokens, reasoning_tokens, \
                          cost_nanos, started, ended, spent) \
                          VALUES (?1, ?2, 'local', 'failed', ?3, 'v', '[]', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, ?4)";
            let values = [RunId::new().to_string(), id.to_string(), (*reason).to_owned(), spent.to_string()];
            old.execute(insert, values).unwrap();
        }
    }
    // The events of two trees alternate with events of trees that no longer exist.
    for seq in 3..6 {
        event(ids[1], seq, "running");
        event(ids[0], seq, "failed");
        event(AgentId::new(), seq, "failed");
    }
    drop(old);

    let store = open(&path).unwrap();
    let why = async |id| store.agent(&Scope::All, id).await.unwrap().unwrap().stop_reason;
    let expected = [Some(StopReason::Cancelled), Some(StopReason::MaxSteps), None, Some(StopReason::MaxTime)];
    for (id, expected) in ids.iter().zip(expected) {
        assert_eq!(why(*id).await, expected);
    }
    for (status, found) in [(ShownStatus::Stopped, vec![ids[0]]), (ShownStatus::Failed, vec![ids[1], ids[3]])]
    {
        let query = AgentQuery { status: Some(status), ..AgentQuery::default() };
        let agents = store.agents(&Scope::Owner(Owner::local()), query).await.unwrap();
        assert_eq!(agents.iter().map(|agent| agent.id).collect::<Vec<_>>(), found);
    }
    let numbers = async |root| -> Vec<u64> {
        let events = store.events(&Scope::All, root, 0, 100).await.unwrap();
        assert!(events.iter().all(|event| event.root == root && event.agent == root));
        events.iter().map(|event| event.seq).collect()
    };
    for (id, expected) in ids.iter().zip([vec![3, 4, 5], vec![3, 4, 5], vec![], vec![]]) {
        assert_eq!(numbers(*id).await, expected);
    }
    // Their usage exceeds the largest integer; they can be removed all the same.
    for id in &ids {
        store.commit(Commit::new(Time::from_micros(9)).write(Write::PruneAgent(*id))).await.unwrap();
        assert!(numbers(*id).await.is_empty());
    }
    let next = Agent::root(Owner::local(), "helper", "", Time::from_micros(9));
    store.commit(Commit::new(next.created).write(Write::NewAgent(next.clone()))).await.unwrap();
    assert_eq!(numbers(next.id).await, [1]);
}

#[test]
fn a_path_that_cannot_be_written_is_refused() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    refusal(&file.join("entourage.db"));
    refusal(directory.path());
    #[cfg(target_os = "linux")]
    assert!(refusal(Path::new("/proc/self/entourage.db")).contains("cannot be written"));
}

#[test]
fn missing_parent_directories_are_created() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a/b/entourage.db");
    drop(open(&path).unwrap());
    assert!(path.exists());
}

#[test]
fn a_second_opening_is_refused_with_the_pid_of_the_first() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let first = open(&path).unwrap();
    let refused = open(&path).err().unwrap();
    assert!(matches!(refused, Error::InUse { .. }), "{refused:?}");
    let pid = format!("pid {}", std::process::id());
    assert!(refused.to_string().contains(&pid), "{refused}");
    drop(first);
    open(&path).unwrap();
}

#[tokio::test]
async fn closing_the_store_leaves_one_complete_file() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let store = open(&path).unwrap();
    Author::begin(&store).await.unwrap().say(&store, "hello").await.unwrap();
    drop(store);
    assert!(!directory.path().join("entourage.db-wal").exists());
    let copy = directory.path().join("copy.db");
    fs::copy(&path, &copy).unwrap();
    assert_eq!(assert_whole(&open(&copy).unwrap()).await.unwrap(), 1);
}

#[tokio::test]
async fn in_memory_stores_are_separate() {
    let (one, two) = (SqliteStore::in_memory().unwrap(), SqliteStore::in_memory().unwrap());
    Author::begin(&one).await.unwrap().say(&one, "hello").await.unwrap();
    assert_eq!(assert_whole(&one).await.unwrap(), 1);
    let all = entourage_store::AgentQuery::default();
    assert_eq!(two.agents(&entourage_types::Scope::All, all).await.unwrap(), []);
}

#[cfg(unix)]
#[tokio::test]
async fn database_files_are_readable_by_their_user_only() {
    use std::os::unix::fs::PermissionsExt;

    let directory = TempDir::new().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let store = open(&directory.path().join("entourage.db")).unwrap();
    Author::begin(&store).await.unwrap();
    let mut files: Vec<(String, u32)> = fs::read_dir(directory.path())
        .unwrap()
        .map(|file| file.unwrap())
        .map(|file| (file.file_name().into_string().unwrap(), file.metadata().unwrap().permissions().mode()))
        .map(|(name, mode)| (name, mode & 0o777))
        .collect();
    files.sort();
    let private = |name: &str| (name.to_owned(), 0o600);
    let expected = ["entourage.db", "entourage.db-shm", "entourage.db-wal", "entourage.db.lock"];
    assert_eq!(files, expected.map(private));
}

/// Every form that a step of version 15 could have.
#[tokio::test]
async fn migration_from_version_15_keeps_every_form_of_step() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let old = of_version(&path, 15);
    let (run, question, task, agent, wakeup) =
        (RunId::new(), QuestionId::new(), TaskId::new(), AgentId::new(), WakeupId::new());
    let moment = Time::from_micros(1_795_562_781_000_042);
    let micros = moment.micros();
    let asked = |about, due, otherwise| {
        Wait::Question(OpenQuestion { question, about, holds_for: "d".into(), due, otherwise })
    };
    let retry = |error: &str, models_failed, said: &[&str], spent| Retry {
        due: moment,
        error: error.into(),
        models_failed,
        said: said.iter().map(ToString::to_string).collect(),
        spent,
        failed: Vec::new(),
        put_off: 0,
        shortage: None,
        held_back: false,
    };
    let last: Time = serde_json::from_value(json!("9999-12-30T22:00:00Z")).unwrap();
    let output = json!({"call": CallId::new(), "tool": "t", "text": "kept"});
    let rows = [
        ("started", json!({"begun_as": "unsafe"}), StepState::Started, Some((Effect::Unsafe, None))),
        (
            "started",
            json!({"begun_as": "idempotent", "edited": {"n": 1e2}}),
            StepState::Started,
            Some((Effect::Idempotent, Some(json!({"n": 1e2})))),
        ),
        ("started", json!(null), StepState::Started, None),
        (
            "open",
            json!({"question": question, "about": {}, "holds_for": "d"}),
            StepState::Open(asked(About::Information, None, None)),
            None,
        ),
        (
            "open",
            json!({"question": question, "about": "approval", "holds_for": "d", "due": [moment, wakeup],
            "otherwise": "reject", "edited": {"n": 1}}),
            StepState::Open(asked(About::Approval, Some((moment, wakeup)), Some(Verdict::Reject))),
            Some((Effect::Pure, Some(json!({"n": 1})))),
        ),
        (
            "open",
            json!({"question": question, "about": "doubt", "holds_for": "d", "begun_as": "unsafe"}),
            StepState::Open(asked(About::Doubt, None, None)),
            Some((Effect::Unsafe, None)),
        ),
        ("open", json!({"task": task}), StepState::Open(Wait::Task { task, existing: None }), None),
        (
            "open",
            json!({"task": task, "met": agent}),
            StepState::Open(Wait::Task { task, existing: Some(agent) }),
            None,
        ),
        (
            "open",
            json!({"task": task, "handed_to": "digger agt"}),
            StepState::Open(Wait::HandedOver { task, worker: "digger agt".into(), on_end: OnEnd::Wake }),
            None,
        ),
        (
            "open",
            json!({"task": task, "handed_to": null}),
            StepState::Open(Wait::Task { task, existing: None }),
            None,
        ),
        ("open", json!({"until": micros}), StepState::Open(Wait::Until { until: moment }), None),
        ("open", json!({"until": i64::MAX}), StepState::Open(Wait::Until { until: last }), None),
        ("retry", json!({"due": micros, "error": "e"}), StepState::Retry(retry("e", 0, &[], 0)), None),
        (
            "retry",
            json!({"due": micros, "error": "e", "given_up": 2, "said": ["a", "b"], "spent": 3}),
            StepState::Retry(retry("e", 2, &["a", "b"], 3)),
            None,
        ),
        (
            "retry",
            json!({"due": micros, "error": "e", "said": null}),
            StepState::Retry(retry("e", 0, &[], 0)),
            None,
        ),
        ("done", json!(null), StepState::Done(None), None),
        (
            "done",
            output.clone(),
            StepState::Done(Some(Checkpoint::Output(Box::new(
                serde_json::from_value(output.clone()).unwrap(),
            )))),
            None,
        ),
    ];
    let insert = "INSERT INTO steps (run, key, state, value, attempt, started, updated) VALUES (?1, ?2, ?3, ?4, 2, 0, 0)";
    let keys: Vec<StepKey> = rows.iter().map(|_| StepKey::Tool(CallId::new())).collect();
    for (key, (state, value, ..)) in keys.iter().zip(&rows) {
        old.execute(insert, [&run.to_string(), &key.to_string(), *state, &value.to_string()]).unwrap();
    }
    // A step that cannot be decoded concerns its own agent only.
    old.execute(insert, [&RunId::new().to_string(), "tool/broken", "open", "{"]).unwrap();
    drop(old);
    let steps = open(&path).unwrap().steps(&Scope::All, run).await.unwrap();
    for ((key, (state, value, expected, intent)), step) in keys.iter().zip(&rows).zip(&steps) {
        assert_eq!((&step.key, &step.state, step.attempt), (key, expected, 2), "{state} {value}");
        let intent = intent.clone().map(|(effect, edited)| Intent { effect, edited });
        assert_eq!(step.intent, intent, "{state} {value}");
    }
    assert_eq!(steps.len(), rows.len());
}

#[tokio::test]
async fn migration_from_version_17_renames_stored_fields() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let old = of_version(&path, 17);
    let (agent, run, post, wakeup) = (AgentId::new(), RunId::new(), PostId::new(), WakeupId::new());
    insert_agent(&old, agent);
    let message = json!({"from": {"by": "user"}, "text": "t", "terms": {"depth": 2, "max_steps": 3}});
    old.execute(
        "INSERT INTO items (agent, seq, run, session, at, type, body) VALUES (?1, 0, ?2, 1, 0, 'message', ?3)",
        [&agent.to_string(), &run.to_string(), &message.to_string()],
    )
    .unwrap();
    let said = json!({"type": "message", "from": {"by": "user"}, "text": "t", "terms": {"validator": "v"}});
    old.execute(
        "INSERT INTO inbox (agent, id, at, wakeup, body, n) VALUES (?1, ?2, 0, ?3, ?4, 1)",
        [&agent.to_string(), &post.to_string(), &wakeup.to_string(), &said.to_string()],
    )
    .unwrap();
    let mut kind = serde_json::to_value(Kind::bare("clerk")).unwrap();
    kind["checks"] = json!({"input": ["a"], "beside": ["b"], "output": ["c"], "min_calls": 1, "attempts": 2});
    let job =
        json!({"job": "waits", "due": "2026-11-25T00:00:00Z", "found": 2, "mended": 1, "mended_ever": 7});
    let save = json!({"agent": agent, "owner": "ann", "first": 4, "from": 5, "at": "2026-11-25T00:00:00Z"});
    for (noun, id, body) in [("kind", "clerk@1", kind), ("round", "waits", job), ("unsaved", "x/4", save)] {
        old.execute(
            "INSERT INTO entities (kind, id, owner, status, created, updated, body) VALUES (?1, ?2, 'ann', ?1, 0, 0, ?3)",
            [noun, id, &body.to_string()],
        )
        .unwrap();
    }
    drop(old);
    let store = open(&path).unwrap();
    let items = store.items(&Scope::All, ItemQuery::of(agent, 0, 10)).await.unwrap();
    let options = RunOptions { depth: 2, max_steps: Some(3), ..RunOptions::default() };
    assert!(matches!(&items[0].body, ItemBody::Message(message) if message.options == Some(options)));
    let options = RunOptions { validator: Some("v".into()), ..RunOptions::default() };
    let posts = store.inbox(agent).await.unwrap();
    assert!(matches!(&posts[0].body, PostBody::Message { options: Some(found), .. } if *found == options));
    let record = async |kind, id: &str| store.entity(&Scope::All, kind, id).await.unwrap().unwrap();
    let kind: Kind = serde_json::from_str(&record(EntityKind::KIND, "clerk@1").await.body).unwrap();
    let names = |name: &str| vec![name.to_owned()];
    let (input, parallel, output) = (names("a"), names("b"), names("c"));
    assert_eq!(kind.guardrails, Guardrails { input, parallel, output, min_calls: 1, attempts: 2 });
    let job = JobRun::from_entity(&record(EntityKind::JOB_RUN, "waits").await).unwrap();
    assert_eq!((job.found, job.repaired, job.repaired_ever), (2, 1, 7));
    let save = PendingSave::from_entity(&record(EntityKind::PENDING_SAVE, "x/4").await).unwrap();
    assert_eq!((save.agent, save.first, save.from), (agent, 4, 5));
}
