//! `entourage move`: moves all rows from the database file to a PostgreSQL server.

use std::time::{Duration, Instant};

use clap::Args;
use entourage::store::{
    Error,
    moving::{Inventory, MoveStep, Moved, RowKind},
};
use reqwest::Url;
use serde_json::{Map, Value, json};

use super::{
    backend::Result,
    describe::thousands,
    failure::{Exit, Failure},
    globals::Globals,
    input, out,
};

/// How often the progress is shown.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

const AFTER_HELP: &str = "\
Examples:
  createdb --host db.example --username entourage work
  entourage move postgres://entourage@db.example/work
  entourage --data /srv/entourage move - < url        the URL from stdin: other users see the arguments of a program

Stop the server first: nothing else may work on the file meanwhile. The database on the server must be empty, and is \
of this program alone; its tables are created. All rows are moved in one transaction, then read back and compared with \
the file: counts, the last event of each tree, and digests of all transcripts, events and other rows. After any \
failure, also of the connection, the server has none of them, and you can try again.

The file entourage.db stays as it was, as a copy of that moment. Everything goes on where it was: runs, questions, \
timers, event numbers. Afterwards set ENTOURAGE_STORE to the URL for every server and command.";

/// Move everything in the database file to a PostgreSQL server
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Move {
    /// The empty database, postgres://USER:PASSWORD@HOST/DATABASE, or - to read that from stdin
    url: String,
}

impl Move {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let settings = globals.settings()?;
        let url = match self.url.as_str() {
            "-" => input::whole()
                .map_err(|error| Failure::failed(format!("the URL cannot be read from stdin: {error}")))?,
            _ => self.url,
        };
        let (from, to) = (entourage::database(&settings)?.place(), without_password(&url)?);
        let tells = !globals.json && !globals.quiet;
        let mut last = Instant::now();
        let tell = move |moved: Moved| {
            if tells && (last.elapsed() >= PROGRESS_INTERVAL) {
                last = Instant::now();
                out::note(described(moved));
            }
        };
        let moved = entourage::move_to_postgres(&settings, &url, Box::new(tell)).await;
        let moved = moved.map_err(refused)?;
        if globals.json {
            out::json(&json!({ "from": from, "to": to.as_str(), "rows": counts(&moved) }))?;
            return Ok(Exit::Done);
        }
        let [agents, items] = [RowKind::Agent, RowKind::Item].map(|kind| thousands(moved.rows(kind)));
        let all = thousands(moved.total());
        out::result(format!("{to} has all {all} rows of {from}, with {agents} agents and {items} items"))?;
        if tells {
            let secret = if to.as_str() == url { "" } else { ", with the password" };
            out::note(format!(
                "the file stays as it was. Every server and command uses the new database with ENTOURAGE_STORE={to}{secret}"
            ));
        }
        Ok(Exit::Done)
    }
}

/// The URL as it may be shown.
fn without_password(url: &str) -> Result<Url> {
    let wrong = |why: String| Failure::usage(format!("the URL of the database is wrong: {why}"));
    let mut shown = Url::parse(url).map_err(|error| {
        wrong(format!("{error}. It begins with postgres://, as in postgres://entourage@db.example/work"))
    })?;
    if !["postgres", "postgresql"].contains(&shown.scheme()) {
        return Err(wrong(
            "it begins with postgres://, as in postgres://entourage@db.example/work".to_owned(),
        ));
    }
    // Fails where a URL has no place for one.
    let _ = shown.set_password(None);
    let parameters: Vec<(String, String)> = shown
        .query_pairs()
        .filter(|(name, _)| name != "password")
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    if parameters.is_empty() {
        shown.set_query(None);
    } else {
        shown.query_pairs_mut().clear().extend_pairs(parameters);
    }
    Ok(shown)
}

fn described(Moved { step, rows, of }: Moved) -> String {
    let (rows, of) = (thousands(rows), thousands(of));
    match step {
        MoveStep::Write => format!("{rows} of about {of} rows written"),
        MoveStep::Compare => format!("{rows} of {of} rows compared"),
    }
}

fn counts(moved: &Inventory) -> Map<String, Value> {
    let named = RowKind::ALL.map(|kind| (kind.to_string().replace([' ', '-'], "_"), moved.rows(kind).into()));
    named.into_iter().collect()
}

/// Why nothing was moved.
fn refused(error: entourage::Error) -> Failure {
    match error {
        entourage::Error::Store(Error::InUse { path, holder }) => Failure::failed(format!(
            "another entourage{holder} works on {path}. Stop it first, and leave it stopped: what it wrote after the \
             move would be in the file alone"
        )),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_password() {
        for (url, shown) in [
            ("postgres://ann@db/work", "postgres://ann@db/work"),
            (
                "postgres://ann:secret@db:5433/work?sslmode=require",
                "postgres://ann@db:5433/work?sslmode=require",
            ),
            ("postgresql://db/work?user=ann&password=secret", "postgresql://db/work?user=ann"),
            ("postgres://db/work?password=secret", "postgres://db/work"),
        ] {
            assert_eq!(without_password(url).unwrap().as_str(), shown);
        }
        for wrong in ["work", "http://ann:secret@db/work", ""] {
            let refused = without_password(wrong).unwrap_err();
            assert!(
                refused.text().contains("postgres://") && !refused.text().contains("secret"),
                "{refused:?}"
            );
        }
    }
}
