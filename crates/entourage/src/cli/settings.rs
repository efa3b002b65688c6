//! `entourage settings`: lists every setting, or those that hold.

use clap::Args;
use entourage::settings;
use entourage_api::{HeldSettings, SetBy, Setting};
use serde_json::{Value, json};

use super::{backend::Result, failure::Exit, globals::Globals, installed::held, out, text::text};

const AFTER_HELP: &str = "\
Examples:
  entourage settings                                         every key, its meaning, its default
  entourage settings | grep retention
  entourage settings --in-force                              what holds here, and what set it
  entourage settings --json                                  one key a line; its default is TOML
  cargo run -p entourage -- settings > docs/settings.md      the copy in the repository

`entourage init` writes them to a file to start from. `entourage doctor` shows what is set up.";

/// Write every setting and variable with its default as a Markdown page
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Settings {
    /// Show which settings hold here and what set each, without secrets
    #[arg(long)]
    in_force: bool,
}

impl Settings {
    pub(crate) fn run(self, globals: &Globals) -> Result<Exit> {
        if self.in_force {
            return in_force(&held(&globals.settings()?), globals);
        }
        match globals.json {
            true => settings::keys().iter().try_for_each(|key| out::json(&line(key)))?,
            false => out::piece(settings::markdown())?,
        }
        Ok(Exit::Done)
    }
}

/// Writes the settings that hold, a line each: first those that something set.
fn in_force(held: &HeldSettings, globals: &Globals) -> Result<Exit> {
    if globals.json {
        held.data.iter().try_for_each(out::json)?;
        return Ok(Exit::Done);
    }
    let paint = out::stdout();
    let (given, unset): (Vec<_>, Vec<_>) =
        held.data.iter().partition(|setting| setting.set_by != SetBy::Default);
    for Setting { key, value, hidden, set_in, .. } in given.into_iter().chain(unset) {
        let value = match (value, hidden) {
            (Some(value), _) => value,
            (None, true) => "(set; not shown)",
            (None, false) => "(not set)",
        };
        let by = paint.dim(set_in.as_deref().unwrap_or("default"));
        out::result(text![paint.bold(key), " = ", value, "  ", by])?;
    }
    Ok(Exit::Done)
}

/// A key, for programs.
fn line(key: &settings::Key) -> Value {
    let values = key.values.iter().map(|(value, what)| json!({ "value": value, "what": what }));
    let values: Vec<Value> = values.collect();
    json!({ "key": key.dotted(), "what": key.what, "values": values, "default": key.default })
}
