//! The settings as the page `docs/settings.md`.

use std::fmt::Write as _;

use super::{Key, keys};
use crate::settings::variables::{OTHERS, OWN, PREFIX};

const HEAD: &str = "\
# Settings: every key, and its default

<!-- Written by `entourage settings`, from the types; a test compares. -->

All settings have defaults. Set them in `entourage.toml` in the data directory, or in the file named by \
`--config` or `ENTOURAGE_CONFIG`. `entourage init` writes that file with every key in it, each commented out. \
Later sources win: the defaults, the file, the environment, the command line. \
`entourage settings --in-force` shows what holds and what set it, `entourage doctor` whether it works.

A variable's name is `ENTOURAGE_` and the key in capitals, with two underscores between its parts: \
`ENTOURAGE_SERVER__BIND` sets `server.bind`. Separate the entries of a list by commas. Keys in `[[…]]` can be \
set in the file only. A variable that names no setting has no effect; a warning names the setting that it \
resembles. A wrong value of a setting is refused. Messages never repeat the value.

`NAME` stands for a name of your choice, or of a provider or model.
";

/// The page of all settings and variables.
#[must_use]
pub fn markdown() -> String {
    let keys = keys();
    let mut page = HEAD.to_owned();
    let mut section = None;
    for key in keys {
        if section != Some(&key.path[0]) {
            section = Some(&key.path[0]);
            let name = key.path[0].trim_end_matches("[]");
            // Writing to a String never fails.
            let _ = write!(page, "\n## {name}\n\n| key | meaning | default |\n| --- | --- | --- |\n");
        }
        let default = key.default.as_ref().map_or_else(String::new, |default| format!("`{default}`"));
        let _ = writeln!(page, "| `{}` | {} | {default} |", key.dotted(), what(key));
    }
    let _ = write!(page, "\n## Variables without a key\n\n| variable | meaning |\n| --- | --- |\n");
    for (name, what) in OWN {
        let _ = writeln!(page, "| `{PREFIX}{name}` | {what} |");
    }
    let _ = write!(
        page,
        "\nThese are variables of other programs, which apply where no setting is given:\n\n\
         | variable | stands for |\n| --- | --- |\n"
    );
    for (name, what) in OTHERS {
        let _ = writeln!(page, "| `{name}` | {what} |");
    }
    page
}

/// The description of a setting, with its values, as a cell of a table.
fn what(key: &Key) -> String {
    let mut text = key.what.clone();
    for (value, meaning) in &key.values {
        let meaning = meaning.trim_end_matches('.');
        let meaning = if meaning.is_empty() { String::new() } else { format!(": {meaning}") };
        let _ = write!(text, " `{value}`{meaning}.");
    }
    text.replace('|', "\\|")
}
