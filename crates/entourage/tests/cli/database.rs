//! Tests of commands on the database: its version, copies of it, and pruning.

use std::{fs::File, os::unix::fs::FileExt, process::Command};

use super::{
    data_dir::{DataDir, Ended, id},
    server::Server,
};

/// A place where a program of the first version worked some time ago.
fn place_of_the_first_version() -> DataDir {
    let place = DataDir::new();
    std::fs::create_dir_all(place.data()).expect("a directory");
    let file = rusqlite::Connection::open(place.data().join("entourage.db")).expect("a new file");
    file.execute_batch(include_str!("../../../server/tests/first/database.sql")).expect("its words");
    place
}

#[test]
fn migrate_reports_the_versions_before_and_after() {
    let place = DataDir::new();
    let made = place.entourage(&["migrate"]).good();
    assert!(made.stdout.contains("was created with version"), "{made:?}");
    let again = place.entourage(&["migrate", "--json"]).good().json();
    assert_eq!(again[0]["before"], again[0]["version"]);
    place.write("data/entourage.toml", "[store]\nmigrate = false\n");
    assert!(place.entourage(&["migrate"]).good().stdout.contains("already"));
}

#[test]
fn a_backup_has_the_same_agents_as_its_original() {
    let place = place_of_the_first_version();
    let copied = place.entourage(&["backup", "copy.db", "--json"]).good().json();
    assert!(copied[0]["bytes"].as_u64().is_some_and(|bytes| bytes > 10_000), "{copied:?}");
    let again = place.entourage(&["backup", "copy.db"]);
    assert!(again.error(1).contains("it is there already"), "{again:?}");
    let seen = |place: &DataDir| place.entourage(&["agents", "--json"]).good().stdout;
    let before = seen(&place);
    std::fs::create_dir_all(place.path().join("other")).expect("a directory");
    std::fs::rename(place.path().join("copy.db"), place.path().join("other/entourage.db")).expect("moved");
    let other = place.entourage(&["--data", "other", "agents", "--json"]).good().stdout;
    assert_eq!(other, before);
}

/// A limit on the size of files stands for a disk with little room.
#[test]
fn a_backup_without_disk_space_fails_and_leaves_no_file() {
    let place = DataDir::new();
    place.entourage(&["run", "Before", "--quiet"]).good();
    let ended = with_file_size_limit(&place, 64, &["backup", "copy.db"]);
    assert!(ended.error(1).contains("copy.db was not written: "), "{ended:?}");
    assert!(!ended.stderr.contains("work resumes"), "nothing is wrong with the database: {ended:?}");
    assert!(!place.path().join("copy.db").exists());
    place.entourage(&["backup", "copy.db"]).good();
}

#[test]
fn a_backup_before_the_first_run_is_refused() {
    let place = DataDir::new();
    assert!(place.entourage(&["backup", "copy.db"]).error(1).contains("no database yet"));
    assert!(!place.path().join("copy.db").exists());
}

#[test]
fn prune_deletes_old_rows_and_tail_reports_deleted_events() {
    let place = place_of_the_first_version();
    // These are kept for a day only.
    for requests in [1, 0] {
        let pruned = place.entourage(&["prune"]).good().stdout;
        let forgot =
            format!("deleted 0 trees, 0 events of others, {requests} answers to requests and 0 deliveries\n");
        assert_eq!(pruned, forgot);
    }
    assert!(place.entourage(&["prune", "--events", "soon"]).code == 2);
    let agents = place.entourage(&["agents", "--json"]).good().stdout;
    let agent = id(&agents, "agt_").to_owned();
    let all = place.entourage(&["tail", &agent, "--json"]).good().json();
    let pruned = place.entourage(&["prune", "--events", "1s", "--json"]).good().json();
    assert!(pruned[0]["events"].as_u64().is_some_and(|events| events > 50), "{pruned:?}");
    let left = place.entourage(&["tail", &agent, "--json"]).good().json();
    assert_eq!(left, all[all.len() - 1..]);
    let gone = place.entourage(&["tail", &agent, "--after", "1"]);
    assert!(gone.error(2).contains("were pruned"), "{gone:?}");

    place.write("data/entourage.toml", "[retention]\ntrees = \"1s\"\n");
    let pruned = place.entourage(&["prune"]).good();
    assert!(pruned.stdout.contains("deleted 3 trees"), "those that wait or were killed stay: {pruned:?}");
}

/// A place with some work in it, whose database has one page overwritten: that of the transcripts' table.
fn place_with_a_damaged_database() -> DataDir {
    let place = DataDir::new();
    place.entourage(&["run", "Before"]).good();
    let path = place.data().join("entourage.db");
    let database = rusqlite::Connection::open(&path).expect("a database");
    let number = |what: &str| database.query_row(what, [], |row| row.get::<_, u32>(0)).expect("a number");
    let size = number("PRAGMA page_size");
    let page = number("SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = 'items'");
    database.close().expect("closed");
    let file = File::options().write(true).open(&path).expect("there");
    let bytes = vec![0xA5; usize::try_from(size).expect("small")];
    file.write_all_at(&bytes, u64::from(page - 1) * u64::from(size)).expect("written");
    place
}

/// A command that can write at most this many kilobytes to a file.
fn with_file_size_limit(place: &DataDir, kilobytes: u32, arguments: &[&str]) -> Ended {
    let process = place.process(arguments);
    let mut limited = Command::new("bash");
    limited.args(["-c", &format!("trap '' XFSZ; ulimit -f {kilobytes}; exec \"$@\""), "bash"]);
    limited.arg(process.get_program()).args(process.get_args()).current_dir(place.path()).env_clear();
    limited.envs(process.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ended::of(&mut assert_cmd::Command::from_std(limited))
}

/// On a full disk SQLite cannot create the file that all readers of a database share. A limit on the size of
/// files stands for the disk.
#[test]
fn a_database_without_room_for_its_shared_file_reports_a_full_disk() {
    let place = DataDir::new();
    place.entourage(&["run", "Before", "--quiet"]).good();
    let path = place.data().join("entourage.db");
    let database = rusqlite::Connection::open(&path).expect("a database");
    database.query_row("SELECT count(*) FROM agents", [], |row| row.get::<_, u32>(0)).expect("a number");
    database.close().expect("closed");
    assert!(!place.data().join("entourage.db-shm").exists(), "the last who reads it takes it away");
    let ended = with_file_size_limit(&place, 8, &["agents"]);
    let error = ended.error(1);
    assert!(error.contains("the disk is full: ") && error.contains(&path.display().to_string()), "{error}");
    assert!(error.contains("Free some space"), "{error}");
    assert!(place.entourage(&["agents"]).good().stdout.contains("Before"));
}

#[test]
fn a_run_on_a_damaged_database_fails_and_says_what_to_do() {
    let place = place_with_a_damaged_database();
    let ended = place.entourage(&["run", "After"]);
    let error = ended.error(1);
    assert!(error.contains("damaged") && error.contains("entourage backup"), "{error}");
}

#[test]
fn a_server_on_a_damaged_database_is_not_ready() {
    let place = place_with_a_damaged_database();
    let server = Server::start(&place);
    let ended = place.entourage(&["run", "After"]);
    assert!(ended.error(1).contains("damaged"), "{ended:?}");
    assert_eq!((server.get("/healthz", None), server.get("/readyz", None)), (204, 503));
}
