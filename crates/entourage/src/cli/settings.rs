//! `entourage settings`: lists every setting.

use clap::Args;
use entourage::settings;
use serde_json::{Value, json};

use super::{backend::Result, failure::Exit, globals::Globals, out};

const AFTER_HELP: &str = "\
Examples:
  entourage settings                                         every key, its meaning, its default
  entourage settings | grep retention
  entourage settings --json                                  one key a line; its default is TOML
  cargo run -p entourage -- settings > docs/settings.md      the copy in the repository

`entourage init` writes them to a file to start from. `entourage doctor` shows what is set up.";

/// Write every setting and variable with its default as a Markdown page
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Settings {}

impl Settings {
    pub(crate) fn run(self, globals: &Globals) -> Result<Exit> {
        match globals.json {
            true => settings::keys().iter().try_for_each(|key| out::json(&line(key)))?,
            false => out::piece(settings::markdown())?,
        }
        Ok(Exit::Done)
    }
}

/// A key, for programs.
fn line(key: &settings::Key) -> Value {
    let values = key.values.iter().map(|(value, what)| json!({ "value": value, "what": what }));
    let values: Vec<Value> = values.collect();
    json!({ "key": key.dotted(), "what": key.what, "values": values, "default": key.default })
}
