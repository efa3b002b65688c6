//! `entourage migrate`: migrates the database to this program's version.

use clap::Args;
use entourage_store::database::Migrated;
use serde_json::json;

use super::{backend::Result, failure::Exit, globals::Globals, out};

const AFTER_HELP: &str = "\
Examples:
  entourage migrate
  entourage --data /srv/entourage migrate --json

Every command that opens the database does this by itself, unless the settings say `store.migrate = false`. \
There is no way back: an older program cannot read the database afterwards. Each step is atomic.";

/// Migrate the database to this program's version
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Migrate {}

impl Migrate {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let settings = globals.settings()?;
        let path = entourage::database(&settings).place();
        let Migrated { before, version } = entourage::migrate(&settings).await?;
        if globals.json {
            out::json(&json!({ "path": path, "before": before, "version": version }))?;
            return Ok(Exit::Done);
        }
        out::result(match before {
            None => format!("{path} was created with version {version}"),
            Some(before) if before == version => format!("{path} already has version {version}"),
            Some(before) => format!("{path} was migrated from version {before} to version {version}"),
        })?;
        Ok(Exit::Done)
    }
}
