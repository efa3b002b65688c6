//! How deep JSON from outside may be nested, and how many values it may have.

use serde_json::Value;

/// The deepest nesting of JSON from outside that is stored. It is stored inside of other JSON, and nothing nested more
/// than 128 levels deep is read back.
const DEEPEST: u32 = 64;

/// The most values of JSON from outside that is read: each takes dozens of bytes of memory, however short its text.
/// A table of a thousand rows fits, which a model may well write for a tool.
pub const MOST_VALUES: usize = 100_000;

/// Why a text is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {MOST_VALUES} values")]
pub struct TooManyValues;

/// Checks that a JSON text from outside does not have too many values, before it is read.
///
/// # Errors
/// [`TooManyValues`] if it has more than 100,000.
pub fn check_values(text: &str) -> Result<(), TooManyValues> {
    if count_values(text) <= MOST_VALUES { Ok(()) } else { Err(TooManyValues) }
}

/// Counts the values of a JSON text, or a few more than there are.
#[must_use]
pub fn count_values(text: &str) -> usize {
    let (mut values, mut in_string, mut escaped) = (1_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            // Each begins at most one value.
            b'[' | b'{' | b',' if !in_string => values += 1,
            _ => {}
        }
    }
    values
}

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
    fn values_are_counted_outside_of_strings() {
        for value in ["[]", "{}", "1", r#"{"a": 1}"#, r#""a""#] {
            let list = |values: usize| format!("[{}]", vec![value; values].join(","));
            assert_eq!(check_values(&list(MOST_VALUES / 3)), Ok(()), "{value}");
            assert_eq!(check_values(&list(MOST_VALUES)), Err(TooManyValues), "{value}");
        }
        let text = serde_json::to_string(&r#"a, "[{\"#.repeat(MOST_VALUES)).unwrap();
        assert_eq!(check_values(&text), Ok(()));
    }

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
