//! Builds the simplest value that satisfies a JSON schema.

use serde_json::{Map, Value};

use super::decided::Decided;

/// How deep a schema is followed; a deeper one is recursive.
const DEPTH: u32 = 16;

/// Returns a value for the schema, with what was decided in it.
pub(super) fn of(schema: &Value, decided: &Decided) -> Value {
    build(schema, schema, decided, DEPTH)
}

fn build(root: &Value, schema: &Value, decided: &Decided, depth: u32) -> Value {
    if depth == 0 {
        return Value::Null;
    }
    let next = |schema: &Value| build(root, schema, decided, depth - 1);
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        return target.strip_prefix('#').and_then(|path| root.pointer(path)).map_or(Value::Null, next);
    }
    if let Some(value) = schema.get("const").or_else(|| schema.get("default")) {
        return value.clone();
    }
    if let Some(value) = schema.get("enum").and_then(|values| values.get(0)) {
        return value.clone();
    }
    if let Some(first) = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(key)?.get(0)) {
        return next(first);
    }
    let number = |key: &str| schema.get(key).and_then(Value::as_u64).unwrap_or(0);
    let kind = schema.get("type");
    let kind = kind.and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
    match kind {
        Some("string") => decided.text.as_str().into(),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| 0.into()),
        Some("boolean") => decided.yes.into(),
        Some("null") => Value::Null,
        Some("array") => {
            let items = schema.get("items").unwrap_or(&Value::Null);
            let texts = decided.list.iter().map(|text| Value::from(*text));
            match items.get("type").is_some_and(|kind| kind == "string") && !decided.list.is_empty() {
                true => texts.collect(),
                false => (0..number("minItems").min(8)).map(|_| next(items)).collect(),
            }
        }
        _ => {
            let required = schema.get("required").and_then(Value::as_array);
            let names = required.into_iter().flatten().filter_map(Value::as_str);
            let property = |name: &str| schema.get("properties")?.get(name);
            let fields: Map<String, Value> =
                names.map(|name| (name.to_owned(), next(property(name).unwrap_or(&Value::Null)))).collect();
            fields.into()
        }
    }
}
