//! Reads and writes a call's arguments.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

/// Returns the arguments as an object if they can be read as one. Missing arguments become an empty object,
/// and a string that holds a JSON object becomes that object; any other string stays, for the engine to
/// report.
pub(super) fn read(given: Value) -> Value {
    match given {
        Value::Null => Value::Object(Map::new()),
        Value::String(text) if text.trim().is_empty() => Value::Object(Map::new()),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(object)) => Value::Object(object),
            // Some models wrap the JSON into a string once more.
            Ok(Value::String(inner)) => match serde_json::from_str(&inner) {
                Ok(Value::Object(object)) => Value::Object(object),
                _ => Value::String(text),
            },
            _ => Value::String(text),
        },
        other => other,
    }
}

/// Returns the arguments as an object. Arguments that are not an object were answered with an error, and
/// providers only accept objects in the conversation.
pub(super) fn write(arguments: &Value) -> Cow<'_, Value> {
    if arguments.is_object() { Cow::Borrowed(arguments) } else { Cow::Owned(json!({"arguments": arguments})) }
}
