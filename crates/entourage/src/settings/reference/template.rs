//! The settings as a file to start from.

use std::fmt::Write as _;

use super::{Key, LIST, keys};

/// A settings file in which every key is commented out, with its description and default.
#[must_use]
pub fn template() -> String {
    let mut file = "# Settings of entourage. Each commented line shows a default or an example.\n\
                    # docs/settings.md, or `entourage settings`, has the same as a page.\n"
        .to_owned();
    let mut keys: Vec<&Key> = keys().iter().collect();
    // In TOML a table's own keys come before the tables below it.
    keys.sort_by_key(|key| table(key));
    let mut current = String::new();
    for key in keys {
        let table = table(key);
        if table != current {
            let _ = write!(file, "\n#{table}\n");
            current = table;
        }
        for line in wrapped(&key.what) {
            let _ = writeln!(file, "# {line}");
        }
        for (value, meaning) in &key.values {
            let _ = writeln!(file, "#   {value}: {meaning}");
        }
        let name = key.path.last().map(String::as_str).unwrap_or_default();
        let _ = writeln!(file, "#{name} = {}", key.default.as_deref().unwrap_or("…"));
    }
    file
}

/// The head of a key's table; empty for keys at the top.
fn table(key: &Key) -> String {
    let tables = &key.path[..key.path.len().saturating_sub(1)];
    match tables.last() {
        None => String::new(),
        Some(last) if last.ends_with(LIST) => {
            format!("[[{}]]", tables.join(".").trim_end_matches(LIST))
        }
        Some(_) => format!("[{}]", tables.join(".")),
    }
}

/// Wraps a text into lines of a readable length.
fn wrapped(text: &str) -> Vec<String> {
    const LONG: usize = 100;
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + word.len() < LONG => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}
