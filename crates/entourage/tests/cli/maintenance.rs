//! Tests of inconsistencies of every sort in the database: the doctor finds them, and repairs them on
//! request, in the file and through a server.

use std::time::{Duration, Instant};

use entourage_store_sqlite::{Settings, SqliteStore};
use serde_json::{Value, json};

use super::{
    data_dir::{DataDir, Ended, id},
    model::Model,
    server::Server,
};

/// Changes the database as a user with `sqlite3` may.
fn make_inconsistent(place: &DataDir, sql: &str) {
    let file = rusqlite::Connection::open(place.data().join("entourage.db")).expect("the database");
    file.execute_batch(sql).expect("changed");
}

/// A place with an agent that has asked its user a question, and the agent's id.
fn place_with_open_question() -> (DataDir, String) {
    let place = DataDir::new();
    let asked = place.entourage(&["run", "Please ask me first"]);
    assert_eq!(asked.code, 3, "{asked:?}");
    let agent = id(&asked.stderr, "agt_").to_owned();
    (place, agent)
}

/// A place with an agent whose researcher waits for approval to write a note.
fn place_with_waiting_sub_agent() -> DataDir {
    let place = DataDir::new();
    let kind =
        "---\nname: researcher\ntools: [create_note]\napproval:\n  - tools: create_note\n---\nNote it.\n";
    place.write("data/kinds/researcher.md", kind);
    let asked = place.entourage(&["run", "Look"]);
    assert_eq!(asked.code, 3, "{asked:?}");
    place
}

/// The doctor's findings on maintenance, each as `state what`.
fn maintenance_findings(ended: &Ended) -> Vec<String> {
    let jobs = ["maintenance", "wakeups", "interventions", "questions", "tasks", "waits", "stranded"];
    let word = |finding: &Value, field: &str| finding[field].as_str().expect("a word").to_owned();
    let of_maintenance = ended.json().into_iter().filter(|finding| jobs.contains(&&*word(finding, "what")));
    of_maintenance.map(|finding| format!("{} {}", word(&finding, "state"), word(&finding, "what"))).collect()
}

/// Makes a healthy place inconsistent, and asserts that these jobs find it, leave it alone, and repair it on
/// request.
#[track_caller]
fn assert_found_and_repaired(place: &DataDir, sql: &str, by: &[&str]) {
    let all = |state: &str| by.iter().map(|job| format!("{state} {job}")).collect::<Vec<_>>();
    let healthy = place.entourage(&["doctor", "--json"]).good();
    assert_eq!(
        maintenance_findings(&healthy),
        ["good maintenance"],
        "a person is waited for, and that is all"
    );
    make_inconsistent(place, sql);
    for _ in 0..2 {
        let looked = place.entourage(&["doctor", "--json"]);
        assert_eq!((maintenance_findings(&looked), looked.code), (all("broken"), 1), "{looked:?}");
        assert!(looked.stdout.contains("doctor --repair"), "{looked:?}");
    }
    let repaired = place.entourage(&["doctor", "--repair", "--json"]).good();
    assert_eq!(maintenance_findings(&repaired), all("good"), "{repaired:?}");
    assert_eq!(repaired.stdout.matches("repaired: ").count(), by.len(), "{repaired:?}");
    let again = place.entourage(&["doctor", "--repair", "--json"]).good();
    assert_eq!(maintenance_findings(&again), ["good maintenance"], "{again:?}");
}

#[test]
fn repair_deletes_a_wake_up_of_an_unknown_agent() {
    let (place, _) = place_with_open_question();
    let nobody = "0".repeat(32);
    let sql = format!(
        "INSERT INTO wakeups (agent, id, owner, due) VALUES ('agt_{nobody}', 'wkp_{nobody}', 'local', 0)"
    );
    assert_found_and_repaired(&place, &sql, &["wakeups"]);
}

#[test]
fn repair_posts_a_lost_intervention_again() {
    let (place, agent) = place_with_open_question();
    place.entourage(&["pause", &agent]).good();
    assert_found_and_repaired(
        &place,
        "DELETE FROM inbox WHERE body LIKE '%intervention%'",
        &["interventions"],
    );
    let inbox = "UPDATE agents SET title = 'posted' WHERE id IN (SELECT agent FROM inbox)";
    make_inconsistent(&place, inbox);
    assert!(place.entourage(&["agents"]).good().stdout.contains("posted"));
}

#[test]
fn repair_closes_the_question_and_the_task_of_an_ended_run() {
    let place = place_with_waiting_sub_agent();
    let sql = "UPDATE runs SET status = 'failed', open = 0, ended = started \
               WHERE agent IN (SELECT id FROM agents WHERE parent IS NOT NULL); \
               UPDATE agents SET status = 'failed', waiting_on = NULL WHERE parent IS NOT NULL";
    assert_found_and_repaired(&place, sql, &["questions", "tasks"]);
    assert!(!place.entourage(&["tree"]).good().stdout.contains("qst_"), "nobody is asked any more");
}

#[test]
fn repair_ends_a_wait_for_a_missing_question() {
    let (place, _) = place_with_open_question();
    assert_found_and_repaired(&place, "DELETE FROM entities WHERE kind = 'question'", &["waits"]);
}

#[test]
fn repair_wakes_an_agent_at_rest_that_has_an_open_run() {
    let (place, _) = place_with_open_question();
    assert_found_and_repaired(
        &place,
        "UPDATE agents SET status = 'succeeded', waiting_on = NULL",
        &["stranded"],
    );
}

#[test]
fn an_unreadable_row_is_named_and_does_not_stop_other_jobs() {
    let (place, _) = place_with_open_question();
    let nobody = "0".repeat(32);
    make_inconsistent(
        &place,
        &format!(
            "UPDATE entities SET body = '{{}}' WHERE kind = 'question'; INSERT INTO wakeups \
             (agent, id, owner, due) VALUES ('agt_{nobody}', 'wkp_{nobody}', 'local', 0)"
        ),
    );
    let repaired = place.entourage(&["doctor", "--repair", "--json"]);
    assert_eq!(repaired.code, 1, "{repaired:?}");
    assert_eq!(maintenance_findings(&repaired), ["good wakeups", "broken questions", "broken waits"]);
    assert!(repaired.stdout.contains("question qst_") && repaired.stdout.contains("cannot be decoded"));
    let failed = place.entourage(&["jobs", "run", "questions"]);
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.stdout.contains("the last run failed: question qst_"), "{failed:?}");
}

/// Shows: S4-R130.
#[test]
fn jobs_lists_maintenance_jobs_and_runs_one_by_name() {
    let (place, _) = place_with_open_question();
    make_inconsistent(&place, "DELETE FROM entities WHERE kind = 'question'");
    let listed = place.entourage(&["jobs"]).good();
    assert!(
        listed.stdout.contains("waits          agents that wait for something that can no longer happen"),
        "{listed:?}"
    );
    assert!(listed.stdout.contains("no run yet") && listed.stderr.contains("entourage serve"), "{listed:?}");
    let done = place.entourage(&["jobs", "run", "waits", "--json"]).good().json();
    assert_eq!((&done[0]["found"], &done[0]["repaired"]), (&1.into(), &1.into()));
    let jobs = place.entourage(&["jobs", "list", "--json"]).good().json();
    assert_eq!(jobs.len(), 6);
    assert_eq!(jobs[4], done[0], "it is on record");
    assert!(place.entourage(&["jobs", "run", "waits"]).good().stdout.contains("found 0, repaired 0"));
    assert!(place.entourage(&["jobs", "run", "sweep"]).error(2).contains("`entourage jobs` lists"));
}

/// Shows: S4-R130.
#[test]
fn health_does_a_round_or_says_what_it_would_do() {
    let (place, _) = place_with_open_question();
    for look in [true, false] {
        let dry: &[&str] = if look { &["--dry-run"] } else { &[] };
        let done = place.entourage(&[&["health", "--json"], dry].concat()).good().json();
        assert_eq!(done[0]["dry_run"], look);
        assert_eq!(done[0]["reports"], serde_json::json!([]), "an agent of another kind may wait");
        assert!(place.entourage(&[&["health"], dry].concat()).good().stderr.contains("nothing to do"));
    }
}

/// A goal whose agent began to wait four hours ago is stale by the settings of a machine for development, and not by those
/// that hold without any. A look leaves it as it is.
///
/// Shows: S4-R129, S4-R130.
#[test]
fn health_names_the_stale_goal_and_why_and_only_a_round_puts_it_to_rest() {
    let (place, model) = (DataDir::new(), Model::calling("send_message", &json!({ "message": "Yes." })));
    let created = place.entourage(&["goals", "create", "See Rome"]).good();
    let goal = id(&created.stdout, "agt_").to_owned();
    let mut hello = place.command(&["run", "--resume", &goal, "Hello?"]);
    Ended::of(model.asked_by(&mut hello)).good();
    let four_hours = 4_u64 * 60 * 60 * 1_000_000;
    let sql = format!(
        "UPDATE runs SET status = 'waiting', waiting_on = 'timer', stop_reason = NULL, open = 1, ended = NULL; \
         UPDATE agents SET status = 'waiting', waiting_on = 'timer', updated = updated - {four_hours}"
    );
    make_inconsistent(&place, &sql);
    let status = || place.entourage(&["goals", "show", &goal, "--json"]).good().json().remove(0);
    let agent = || place.entourage(&["agents", "--json"]).good().json().remove(0)["status"].clone();
    let before = (status(), agent());
    assert_eq!(before.1, "waiting");
    assert!(place.entourage(&["health"]).good().stderr.contains("nothing to do"), "it takes six hours");
    place.write("data/entourage.toml", "[health]\nstale_task_hours = 1\nstale_goal_hours = 3\n");
    let looked = place.entourage(&["health", "--dry-run"]).good();
    let line = format!("rested      {goal}  nothing of it has changed since 20");
    assert!(looked.stdout.starts_with(&line) && looked.stdout.lines().count() == 1, "{looked:?}");
    let looked = place.entourage(&["health", "--dry-run", "--json"]).good().json();
    assert_eq!((status(), agent()), before, "a look changes nothing");
    let done = place.entourage(&["health", "--json"]).good().json();
    assert_eq!((&done[0]["reports"], &done[0]["dry_run"]), (&looked[0]["reports"], &json!(false)));
    let report = &done[0]["reports"][0];
    assert_eq!((&report["agent"], &report["what"]), (&json!(goal), &json!("rested")));
    assert_eq!(agent(), "succeeded");
    assert!(place.entourage(&["health"]).good().stderr.contains("nothing to do"), "once");
}

#[test]
fn doctor_finds_and_repairs_inconsistencies_through_a_server() {
    let (place, _) = place_with_open_question();
    make_inconsistent(&place, "DELETE FROM entities WHERE kind = 'question'");
    let _server = Server::start(&place);
    let looked = place.entourage(&["doctor", "--json"]);
    assert_eq!(
        (maintenance_findings(&looked), looked.code),
        (vec!["broken waits".to_owned()], 1),
        "{looked:?}"
    );
    let repaired = place.entourage(&["doctor", "--repair", "--json"]).good();
    assert_eq!(maintenance_findings(&repaired), ["good waits"], "{repaired:?}");
    let jobs = place.entourage(&["jobs"]).good().stdout;
    assert!(jobs.contains("found 1, repaired 1; next in "), "{jobs}");
    let done = place.entourage(&["jobs", "run", "waits", "--json"]).good().json();
    assert_eq!((&done[0]["found"], &done[0]["repaired_ever"]), (&0.into(), &1.into()));
    assert!(place.entourage(&["jobs", "run", "sweep"]).error(2).contains("there is no job `sweep`"));
    let goes_on = || place.entourage(&["agents", "--json"]).good().json()[0]["status"] == "succeeded";
    let enough = Instant::now() + Duration::from_secs(60);
    while !goes_on() {
        assert!(Instant::now() < enough, "it never went on");
    }
}

#[test]
fn doctor_does_not_repair_a_database_that_another_process_holds() {
    let (place, _) = place_with_open_question();
    let _held = SqliteStore::open(place.data().join("entourage.db"), Settings::default()).expect("it opens");
    let looked = place.entourage(&["doctor"]).good();
    assert!(looked.stdout.contains("! database"), "{looked:?}");
    let refused = place.entourage(&["doctor", "--repair"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stdout.contains("✗ database"), "{refused:?}");
}

#[test]
fn doctor_only_remarks_that_maintenance_is_for_the_operator() {
    let place = DataDir::new();
    let key = "a-secret-of-more-than-thirty-two-bytes";
    let settings = format!("[server.auth.jwt]\nalgorithm = \"HS256\"\nkey = \"{key}\"\n");
    place.write("data/entourage.toml", &settings);
    let _server = Server::start(&place);
    let token = place.entourage(&["token", "--owner", "ada"]).good().stdout;
    let as_ada = |what: &[&str]| Ended::of(place.command(what).env("ENTOURAGE_TOKEN", token.trim()));
    let looked = as_ada(&["doctor"]).good();
    assert!(looked.stdout.contains("! maintenance") && looked.stdout.contains("--owner local"), "{looked:?}");
    let refused = as_ada(&["doctor", "--repair"]);
    assert_eq!(refused.code, 1, "{refused:?}");
}
