//! How deep JSON from outside may be nested.

use serde_json::Value;

/// The deepest nesting of JSON from outside that is stored. It is stored inside of other JSON, and nothing nested more
/// than 128 levels deep is read back.
const DEEPEST: u32 = 64;

/// Why a value is not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nested more than {DEEPEST} levels deep")]
pub struct NestedTooDeep;

/// Checks that a value from outside can be stored and read back.
///
/// # Errors
/// [`NestedTooDeep`] if its arrays and objects are nested more than 64 levels deep.
pub fn check_nesting(value: &Value) -> Result<(), NestedTooDeep> {
    if is_within(value, DEEPEST) { Ok(()) } else { Err(NestedTooDeep) }
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
        assert_eq!(check_nesting(&nested(64)), Ok(()));
        assert_eq!(check_nesting(&nested(65)), Err(NestedTooDeep));
    }
}
