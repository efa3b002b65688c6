//! `entourage init`: writes a settings file and a kind to start from.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use clap::Args;
use entourage::settings::{FILE, template};
use serde_json::json;

use super::{
    backend::Result,
    failure::{Exit, Failure},
    globals::Globals,
    out, private,
};

const AFTER_HELP: &str = "\
Examples:
  entourage init                     entourage.toml and kinds/critic.md in the data directory
  entourage init --data ./agents     in a directory of your own; give the same --data to later commands

Nothing is overwritten. Every setting in the file is commented out with a `#`, and shows its default.";

/// The kind, as the README shows it.
const KIND: &str = "\
---
name: critic
description: Finds the weak points of a text.
tools: [read_file, ask_user]
---
You are a critic. Read what you are given, name its three weakest points, and say how to mend each.
";

/// Write a commented settings file and an example of a kind
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Init {}

impl Init {
    pub(crate) fn run(self, globals: &Globals) -> Result<Exit> {
        let settings = globals.settings()?;
        let file = settings.file.clone().unwrap_or_else(|| settings.data.join(FILE));
        let kind = settings.kinds.clone().unwrap_or_else(|| settings.data.join("kinds")).join("critic.md");
        let files = [(&file, template()), (&kind, KIND.to_owned())];
        let (there, missing): (Vec<_>, Vec<_>) = files.iter().partition(|(path, _)| path.exists());
        if missing.is_empty() {
            let there: Vec<String> = there.iter().map(|(path, _)| path.display().to_string()).collect();
            let text = format!("{} already exist, and nothing is overwritten", there.join(" and "));
            return Err(Failure::usage(format!("{text}. Move them away, or name another --data")));
        }
        for (path, _) in there.iter().filter(|_| !globals.quiet) {
            out::note(format!("{} already exists, and stays as it is", path.display()));
        }
        for (path, text) in missing {
            write(path, text)
                .map_err(|error| Failure::failed(format!("{} cannot be written: {error}", path.display())))?;
            match (globals.json, globals.quiet) {
                (true, _) => out::json(&json!({ "file": path }))?,
                (false, true) => {}
                (false, false) => out::result(format!("wrote {}", path.display()))?,
            }
        }
        if !globals.quiet {
            let again = globals.again();
            out::note(format!("next: entourage doctor{again}, and entourage kinds{again}"));
        }
        Ok(Exit::Done)
    }
}

/// Writes a new file, and the directories above it, private to their owner: keys may be written there.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        private::directory(directory)?;
    }
    private::open(fs::OpenOptions::new().create_new(true), path)?.write_all(text.as_bytes())
}
