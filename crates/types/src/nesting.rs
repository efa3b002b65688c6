//! How deep JSON from outside may be nested.

use serde_json::Value;

/// The deepest nesting of JSON from outside that is stored. It is stored inside of other JSON, and nothing nested more
/// than 128 levels deep is read back.
const DEEPEST: u32 = 64;

/// Whether a value from outside is nested too deep to be stored.
#[must_use]
pub fn is_nested_too_deep(value: &Value) -> bool {
    !is_within(value, DEEPEST)
}

fn is_within(value: &Value, levels: u32) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_within(item, levels - 1)),
        Value::Object(fields) => levels > 0 && fields.values().all(|field| is_within(field, levels - 1)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_and_objects_are_counted_together() {
        let nested = |levels: usize| {
            let text = (0..levels).map(|at| if at % 2 == 0 { "[" } else { r#"{"a":"# }).collect::<String>();
            let end = (0..levels).rev().map(|at| if at % 2 == 0 { "]" } else { "}" }).collect::<String>();
            serde_json::from_str::<Value>(&format!("{text}1{end}")).unwrap()
        };
        assert!(!is_nested_too_deep(&nested(64)) && is_nested_too_deep(&nested(65)));
    }
}
