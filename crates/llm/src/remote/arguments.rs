//! Reads and writes a call's arguments.

use std::borrow::Cow;

use entourage_types::{MOST_VALUES, check_values, count_values};
use serde_json::{Map, Value, json};

/// Returns the arguments of all calls of an answer. Together they have no more values than those of one call may have: the
/// arguments of calls beyond that stay text, which the engine reports.
pub(super) fn read_all(given: Vec<(String, Value)>) -> Vec<(String, Value)> {
    let mut values = 0;
    let one = |(tool, given)| {
        let read = read(given);
        let text = read.to_string();
        values += count_values(&text);
        (tool, if values <= MOST_VALUES || read.is_string() { read } else { Value::String(text) })
    };
    given.into_iter().map(one).collect()
}

/// Returns the arguments as an object if they can be read as one. Missing arguments become an empty object,
/// and a string that holds a JSON object becomes that object; any other string stays, for the engine to
/// report, and what has too many values becomes one.
fn read(given: Value) -> Value {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty calls of nearly as many values as one may have would take a gigabyte.
    #[test]
    fn the_calls_of_an_answer_share_how_many_values_they_may_have() {
        let half = |name: &str| (name.to_owned(), json!({ "list": vec![0; MOST_VALUES / 2] }));
        let read = read_all(vec![half("a"), half("b"), ("c".to_owned(), json!({ "d": 1 }))]);
        assert!(
            read[0].1.is_object() && read[1].1.is_string() && read[2].1.is_string(),
            "beyond that it is text"
        );
        assert_eq!(read.len(), 3);
    }
}
