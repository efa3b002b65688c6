//! Tests of `entourage move`. The last one needs a PostgreSQL server, whose URL `ENTOURAGE_TEST_POSTGRES` has.

use std::process::Command;

use super::{data_dir::DataDir, server::Server};

/// Where no server listens.
const NOWHERE: &str = "postgres://ann:secret@127.0.0.1:1/work";

#[test]
fn a_move_is_refused_before_anything_is_moved() {
    let place = DataDir::new();
    let refused = |url: &str, code, words: &str| {
        let ended = place.entourage(&["move", url]);
        let error = ended.error(code).to_owned();
        assert!(error.contains(words) && !error.contains("secret"), "{error}");
    };
    refused("http://ann:secret@db/work", 2, "postgres://");
    refused("work", 2, "postgres://");
    refused(NOWHERE, 1, "there is no database yet");
    place.entourage(&["run", "Before", "--quiet"]).good();
    refused(NOWHERE, 1, "none can be made");
    let server = Server::start(&place);
    refused(NOWHERE, 1, "Stop it first");
    server.stop();
    assert!(place.entourage(&["agents"]).good().stdout.contains("Before"));
}

/// A database of the test's own on the server, dropped with this.
struct Database {
    server: String,
    name: String,
}

impl Database {
    fn new() -> Option<Self> {
        let server = std::env::var("ENTOURAGE_TEST_POSTGRES").ok()?;
        let name = format!("moved_{}", std::process::id());
        let made = Self { server, name };
        made.on_server("CREATE DATABASE");
        Some(made)
    }

    fn on_server(&self, words: &str) {
        let sql = format!("{words} {}", self.name);
        let done = Command::new("psql").args([&self.server, "-qc", &sql]).status().expect("psql");
        assert!(done.success());
    }

    fn url(&self) -> String {
        self.server.replace("/postgres", &format!("/{}", self.name))
    }

    fn value(&self, sql: &str) -> String {
        let found = Command::new("psql").args([&self.url(), "-Atc", sql]).output().expect("psql");
        String::from_utf8(found.stdout).expect("text").trim().to_owned()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.on_server("DROP DATABASE");
    }
}

#[test]
fn a_move_has_every_row_and_leaves_the_file() {
    let Some(database) = Database::new() else { return };
    let place = DataDir::new();
    place.entourage(&["run", "Before", "--quiet"]).good();
    let before = place.entourage(&["agents", "--json"]).good().stdout;
    let with_secret = database.url().replace("entourage@", "entourage:secret@");
    std::fs::write(place.path().join("url"), format!("{with_secret}\n")).expect("written");
    let url = std::fs::read(place.path().join("url")).expect("read");
    let moved = place.command(&["move", "-"]).write_stdin(url).output().expect("it runs");
    let (out, told) = (String::from_utf8_lossy(&moved.stdout), String::from_utf8_lossy(&moved.stderr));
    assert!(moved.status.success(), "{told}");
    assert!(out.contains("with 2 agents and"), "{out}");
    assert!(
        told.contains("ENTOURAGE_STORE=postgres://entourage@") && told.contains("with the password"),
        "{told}"
    );
    assert!(!out.contains("secret") && !told.contains("secret"), "{out}{told}");
    assert_eq!(database.value("SELECT count(*) FROM agents"), "2");
    assert_eq!(place.entourage(&["agents", "--json"]).good().stdout, before);
    let again = place.entourage(&["move", &database.url(), "--json"]);
    assert!(again.error(1).contains("it has rows already"), "{again:?}");
}
