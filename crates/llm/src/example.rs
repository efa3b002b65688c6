//! A call of a tool as an example: what a model that follows no signature can copy.

use entourage_types::ToolSpec;
use serde_json::{Map, Value, json};

/// Values for arguments by what these are called, where the schema says nothing better.
const VALUES: [(&str, &str); 9] = [
    ("path", "report.txt"),
    ("url", "<the address of the page>"),
    ("query", "words to find"),
    ("title", "Title"),
    ("content", "What to remember"),
    ("question", "Which one?"),
    ("message", "What to find out or do, with all names and numbers"),
    ("text", "Hello"),
    ("task", "What to do, with all names and numbers"),
];

/// The arguments that a tool needs, each with a value.
pub(crate) fn arguments(tool: &ToolSpec) -> Value {
    let required = tool.parameters.get("required").and_then(Value::as_array).into_iter().flatten();
    let properties = tool.parameters.get("properties");
    let filled = required.filter_map(Value::as_str).map(|name| {
        let schema = properties.and_then(|properties| properties.get(name));
        (name.to_owned(), value(name, schema.unwrap_or(&Value::Null)))
    });
    Value::Object(filled.collect::<Map<_, _>>())
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
            let known = VALUES.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            Value::String(known.unwrap_or_else(|| format!("<{name}>")))
        }
    }
}
