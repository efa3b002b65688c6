//! Reads and writes a call's arguments.

use std::borrow::Cow;

use entourage_types::check_values;
use serde_json::{Map, Value, json};

/// Returns the arguments as an object if they can be read as one. Missing arguments become an empty object,
/// and a string that holds a JSON object becomes that object; any other string stays, for the engine to
/// report, and what has too many values becomes one.
pub(super) fn read(given: Value) -> Value {
    match given {
        Value::Null => Value::Object(Map::new()),
        Value::String(text) if text.trim().is_empty() => Value::Object(Map::new()),
        Value::String(text) => match parsed(&text) {
            Some(Value::Object(object)) => Value::Object(object),
            // Some models wrap the JSON into a string once more.
            Some(Value::String(inner)) => match parsed(&inner) {
                Some(Value::Object(object)) => Value::Object(object),
                // The reason to refuse it is in the inner text, unless that is no JSON at all.
                None if check_values(&inner).is_ok() => Value::String(text),
                _ => Value::String(inner),
            },
            _ => Value::String(text),
        },
        other => {
            let text = other.to_string();
            if check_values(&text).is_ok() { other } else { Value::String(text) }
        }
    }
}

/// Returns the value of a JSON text; none if it has too many values, each of which takes memory.
fn parsed(text: &str) -> Option<Value> {
    check_values(text).ok()?;
    serde_json::from_str(text).ok()
}

/// Returns the arguments as an object. Arguments that are not an object were answered with an error, and
/// providers only accept objects in the conversation.
pub(super) fn write(arguments: &Value) -> Cow<'_, Value> {
    if arguments.is_object() { Cow::Borrowed(arguments) } else { Cow::Owned(json!({"arguments": arguments})) }
}
