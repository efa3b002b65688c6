//! Builds an example call of a tool, for models that cannot follow a signature but can copy an example.

use entourage_types::ToolSpec;
use serde_json::{Map, Value, json};

/// Example values by argument name, where the schema offers nothing better.
const VALUES: [(&str, &str); 4] =
    [("path", "report.txt"), ("title", "Title"), ("question", "Which one?"), ("text", "Hello")];

/// Placeholders for arguments without a natural example value: they describe what belongs there. A model that
/// repeats one has not filled in the argument.
const STAND_INS: [(&str, &str); 5] = [
    ("url", "<the address of the page>"),
    ("query", "words to find"),
    ("content", "What to remember"),
    ("message", "What to find out or do, with all names and numbers"),
    ("task", "What to do, with all names and numbers"),
];

/// The name of the argument that holds an address.
const ADDRESS: &str = "url";

/// Returns an example value for each required argument of a tool.
pub(crate) fn arguments(tool: &ToolSpec) -> Value {
    let properties = tool.parameters.get("properties");
    let filled = required(tool).map(|name| {
        let schema = properties.and_then(|properties| properties.get(name));
        (name.to_owned(), value(name, schema.unwrap_or(&Value::Null)))
    });
    Value::Object(filled.collect::<Map<_, _>>())
}

/// Whether a tool requires an address.
pub(crate) fn needs_address(tool: &ToolSpec) -> bool {
    required(tool).any(|name| name == ADDRESS)
}

/// Returns the name of the argument that repeats its placeholder, if one does.
pub(crate) fn copied(arguments: &Value) -> Option<&str> {
    let is_copied = |(name, value): &(&String, &Value)| {
        STAND_INS.iter().any(|(known, words)| known == name && value.as_str() == Some(words))
    };
    arguments.as_object()?.iter().find(is_copied).map(|(name, _)| name.as_str())
}

fn required(tool: &ToolSpec) -> impl Iterator<Item = &str> {
    let required = tool.parameters.get("required").and_then(Value::as_array);
    required.into_iter().flatten().filter_map(Value::as_str)
}

fn value(name: &str, schema: &Value) -> Value {
    let first = |key: &str| schema.get(key)?.get(0).cloned();
    if let Some(given) = schema.get("const").or(schema.get("default")).cloned() {
        return given;
    }
    if let Some(given) = first("examples").or_else(|| first("enum")) {
        return given;
    }
    let kind = schema.get("type").and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
    match kind {
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => {
            let known = VALUES.iter().chain(&STAND_INS).find(|(known, _)| *known == name);
            let known = known.map(|(_, value)| (*value).to_owned());
            Value::String(known.unwrap_or_else(|| format!("<{name}>")))
        }
    }
}
