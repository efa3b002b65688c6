//! `entourage migrate`: migrates the database to this program's version.

use clap::Args;
use entourage::DATABASE;
use entourage_store_sqlite::{SqliteStore, VERSION};
use serde_json::json;

use super::{backend::Result, failure::Exit, globals::Globals, out};

const AFTER_HELP: &str = "\
Examples:
  entourage migrate
  entourage --data /srv/entourage migrate --json

Every command that opens the database does this by itself, unless the settings say `store.migrate = false`.
There is no way back: an older program cannot read the database afterwards. Each step is atomic.";

/// Migrate the database to this program's version
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Migrate {}

impl Migrate {
    pub(crate) fn run(self, globals: &Globals) -> Result<Exit> {
        let settings = globals.settings()?;
        let path = settings.data.join(DATABASE);
        let before = SqliteStore::version_of(&path)?.filter(|version| *version > 0);
        entourage::migrate(&settings)?;
        if globals.json {
            out::json(&json!({ "path": path, "before": before, "version": VERSION }))?;
            return Ok(Exit::Done);
        }
        let path = path.display();
        out::result(match before {
            None => format!("{path} was created with version {VERSION}"),
            Some(VERSION) => format!("{path} already has version {VERSION}"),
            Some(before) => format!("{path} was migrated from version {before} to version {VERSION}"),
        })?;
        Ok(Exit::Done)
    }
}
