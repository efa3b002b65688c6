//! A call's arguments, on their way in and out.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

/// The arguments as an object where they can be read as one. None at all is an empty object, and
/// a string that holds JSON is what it holds; any other string stays, for the engine to explain.
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

/// Arguments as an object. Others were answered with an error, and providers do not read them
/// back unless they are one.
pub(super) fn write(arguments: &Value) -> Cow<'_, Value> {
    if arguments.is_object() { Cow::Borrowed(arguments) } else { Cow::Owned(json!({"arguments": arguments})) }
}
