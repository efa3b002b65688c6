//! Lists every setting with its documentation and default, from the doc comments and values of the types.

mod markdown;
mod template;

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::{Settings, variables::SEPARATOR};

pub use markdown::markdown;
pub use template::template;

/// Stands in a path for a name that the operator chooses.
pub(super) const NAME: &str = "NAME";
/// The suffix of the name of a list of tables.
pub(super) const LIST: &str = "[]";

/// One setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// The tables that lead to it and its name: `server`, `bind`. `NAME` is one that the operator
    /// chooses; `mcp[]` is a list of tables.
    pub path: Vec<String>,
    /// Its description.
    pub what: String,
    /// Its possible values with their meanings, if they are limited.
    pub values: Vec<(String, String)>,
    /// Its default as TOML; none if it has no default.
    pub default: Option<String>,
    /// Whether it is a list of strings, which a variable separates by commas.
    pub is_list: bool,
    /// Whether its values are of any form: neither numbers, nor yes or no, nor some words.
    pub is_text: bool,
}

impl Key {
    /// Its path in dotted form.
    #[must_use]
    pub fn dotted(&self) -> String {
        self.path.join(".")
    }

    /// The variable that sets it, without its prefix; none for a key that only a file can set.
    pub(super) fn variable(&self) -> Option<String> {
        let is_in_list = self.path.iter().any(|part| part.ends_with(LIST));
        (!is_in_list).then(|| self.path.join(SEPARATOR).to_uppercase())
    }

    /// Whether these parts of a variable's name lead to it.
    pub(super) fn is_at(&self, parts: &[String]) -> bool {
        self.path.len() == parts.len()
            && self.path.iter().zip(parts).all(|(own, part)| own == part || (own == NAME && !part.is_empty()))
    }
}

/// Every setting, in the order of their paths.
#[must_use]
pub fn keys() -> &'static [Key] {
    static KEYS: LazyLock<Vec<Key>> = LazyLock::new(found);
    &KEYS
}

fn found() -> Vec<Key> {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<Settings>().to_value();
    let mut keys = Vec::new();
    walk(&schema, &mut Vec::new(), &mut keys);
    keys
}

/// Finds the settings below a place.
fn walk(schema: &Value, path: &mut Vec<String>, keys: &mut Vec<Key>) {
    let below = |part: &str, inner: &Value, path: &mut Vec<String>, keys: &mut Vec<Key>| {
        path.push(part.to_owned());
        walk(inner, path, keys);
        path.pop();
    };
    let choices = choices(schema);
    let tables: Vec<&Value> = choices.iter().copied().filter(|choice| is_table(choice)).collect();
    // A table that may be left out has a line of its own, which says what leaving it out means.
    if tables.len() < choices.len() || (is_table(schema) && schema["type"] != "object") {
        keys.push(key(schema, path, &choices));
    }
    for table in tables {
        for (name, property) in table["properties"].as_object().into_iter().flatten() {
            // A list may have any number of tables.
            match property.get("items").filter(|items| is_table(items)) {
                Some(items) => below(&format!("{name}{LIST}"), items, path, keys),
                None => below(name, property, path, keys),
            }
        }
        match table.get("additionalProperties").filter(|any| any.is_object()) {
            Some(named) if is_table(named) => below(NAME, named, path, keys),
            // A table of plain values is one setting.
            Some(_) => keys.push(key(schema, path, &choices)),
            None => {}
        }
    }
}

/// The alternatives of a value: the schema itself, or each that it offers.
fn choices(schema: &Value) -> Vec<&Value> {
    let offered = ["oneOf", "anyOf"].iter().find_map(|word| schema.get(word)?.as_array());
    match offered {
        Some(offered) => offered.iter().filter(|one| one["type"] != "null").flat_map(choices).collect(),
        None => vec![schema],
    }
}

/// Whether a value is a table, or a table that may be left out.
fn is_table(schema: &Value) -> bool {
    let sort = &schema["type"];
    sort == "object" || sort.as_array().is_some_and(|sorts| sorts.iter().any(|sort| sort == "object"))
}

/// Whether a value is a number, a yes or no, or one of a few words.
fn is_figure(schema: &Value) -> bool {
    let types = match &schema["type"] {
        Value::Array(types) => types.iter().collect(),
        one => vec![one],
    };
    let is_plain =
        |one: &&Value| *one == "integer" || *one == "number" || *one == "boolean" || *one == "null";
    types.iter().all(is_plain) || schema.get("const").is_some() || schema.get("enum").is_some()
}

fn key(schema: &Value, path: &[String], choices: &[&Value]) -> Key {
    let text = |schema: &Value| {
        let text = schema["description"].as_str().unwrap_or_default();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // Links within the code's documentation lead nowhere here.
        text.replace("[`", "`").replace("`]", "`")
    };
    let values = choices.iter().flat_map(|choice| {
        let one = choice.get("const").and_then(Value::as_str);
        let several = choice["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
        one.into_iter().chain(several).map(|value| (value.to_owned(), text(choice))).collect::<Vec<_>>()
    });
    let is = |what: &str| schema["type"] == what || schema["type"][0] == what;
    Key {
        path: path.to_vec(),
        what: text(schema),
        values: values.collect(),
        default: schema.get("default").and_then(|value| written(value, is("string"))),
        is_list: is("array"),
        is_text: choices.iter().any(|choice| !is_figure(choice)),
    }
}

/// A default as TOML; none if nothing is set.
pub(super) fn written(value: &Value, as_text: bool) -> Option<String> {
    const DAY: u64 = 24 * 60 * 60;
    // A duration, as it is serialized.
    if let Some(seconds) = value.get("secs").and_then(Value::as_u64) {
        return Some(match seconds {
            seconds if !as_text => seconds.to_string(),
            seconds if seconds.is_multiple_of(DAY) => format!("\"{}d\"", seconds / DAY),
            seconds => format!("\"{seconds}s\""),
        });
    }
    match value {
        Value::Null => None,
        Value::Object(table) if table.is_empty() => None,
        value => Some(value.to_string().replace("\",\"", "\", \"")),
    }
}
