//! `entourage backup`: copies the database, also while a server works on it.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use clap::Args;
use entourage_store::{Error, database::Copied};
use serde_json::json;

use super::{
    backend::Result,
    failure::{Exit, Failure},
    globals::Globals,
    out,
};

/// How often the progress is shown.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

const AFTER_HELP: &str = "\
Examples:
  entourage backup monday.db
  entourage --data /srv/entourage backup /mnt/copies/$(date +%F).db

Agents and servers keep working meanwhile. The file appears once it is complete; an existing file is \
never overwritten. To restore a copy, stop the server and replace entourage.db with it (and remove \
entourage.db-wal, if there is one).";

/// Copy the database to a file, also while a server works on it
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Backup {
    /// The new file
    file: PathBuf,
}

impl Backup {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let (database, tells) = (entourage::database(&globals.settings()?)?, !globals.json && !globals.quiet);
        let mut last = Instant::now();
        let tell = move |copied: Copied| {
            if tells && last.elapsed() >= PROGRESS_INTERVAL {
                last = Instant::now();
                out::note(format!("{} of about {}", size(copied.bytes), size(copied.of)));
            }
        };
        let copied = database.copy(&self.file, Box::new(tell)).await;
        let bytes = copied.map_err(|error| unwritten(&self.file, error))?;
        if globals.json {
            out::json(&json!({ "file": self.file, "bytes": bytes }))?;
        } else {
            out::result(format!("{} holds a copy of {}", self.file.display(), size(bytes)))?;
        }
        Ok(Exit::Done)
    }
}

/// Why there is no copy. The store reports write errors as if they were of the database.
fn unwritten(file: &Path, error: Error) -> Failure {
    let why = match error {
        // This error names the file at fault.
        Error::Unusable { .. } | Error::Damaged(_) => return error.into(),
        Error::DiskFull(why) => format!("the disk is full ({why}). Free some space, or name another disk"),
        Error::Unavailable { cause, detail } => format!("{cause} ({detail})"),
        Error::Database(why) => why,
        error => error.to_string(),
    };
    Failure::failed(format!("{} was not written: {why}", file.display()))
}

fn size(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
