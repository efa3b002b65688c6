//! What a person writes as JSON, read as it is written or not at all: no number is rounded, no member is lost to another
//! of its name, and nothing is in it that cannot be seen.

use std::{collections::HashSet, fmt};

use entourage_types::shows_in;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Number, Value, value::RawValue};

use crate::Problem;

/// The JSON of a text.
pub(super) fn json(text: &str) -> Result<Value, Problem> {
    let value = serde_json::from_str(text).map_err(unread)?;
    if let Some(char) = unseen(text) {
        let code = u32::from(char);
        return Err(Problem::bad_body(format!(
            "the JSON has a character that cannot be seen, U+{code:04X}: write it as an escape"
        )));
    }
    check(text)?;
    Ok(value)
}

/// The number that a text writes; none for a text that is no number.
pub(super) fn number(text: &str) -> Option<Result<Number, Problem>> {
    let number: Number = text.parse().ok()?;
    let kept = number.to_string();
    if Decimal::of(text).is_some_and(|written| Some(written) == Decimal::of(&kept)) {
        return Some(Ok(number));
    }
    let shown: String = text.chars().take(40).collect();
    Some(Err(Problem::bad_body(format!(
        "the number {shown} would become {kept}: write one that can be kept"
    ))))
}

/// The first character of a text that cannot be seen. Browsers end lines as mails do.
pub(super) fn unseen(text: &str) -> Option<char> {
    let mut before = None;
    text.char_indices().find_map(|(at, char)| {
        let is_break = char == '\r' && text[at..].starts_with("\r\n");
        (!is_break && !shows_in(&mut before, char)).then_some(char)
    })
}

fn unread(error: serde_json::Error) -> Problem {
    Problem::bad_body(format!("the arguments are not JSON: {error}"))
}

/// Refuses what would be read otherwise than it is written. The text has been read: it is no deeper than a reader goes.
fn check(text: &str) -> Result<(), Problem> {
    match text.trim_start().as_bytes().first() {
        Some(b'{') => {
            let Members(members) = serde_json::from_str(text).map_err(unread)?;
            let mut names = HashSet::new();
            for (name, value) in &members {
                if !names.insert(name) {
                    return Err(Problem::bad_body(format!("the JSON has `{name}` twice: leave one of them")));
                }
                check(value.get())?;
            }
            Ok(())
        }
        Some(b'[') => {
            let values: Vec<&RawValue> = serde_json::from_str(text).map_err(unread)?;
            values.into_iter().try_for_each(|value| check(value.get()))
        }
        Some(b'-' | b'0'..=b'9') => number(text.trim()).map_or(Ok(()), |number| number.map(drop)),
        _ => Ok(()),
    }
}

/// The members of an object, also those of the same name, as they are written.
struct Members<'t>(Vec<(String, &'t RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;

        impl<'de> Visitor<'de> for All {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(All)
    }
}

/// What a number of JSON says, however it is written: its digits, and by which power of ten they count.
#[derive(Debug, PartialEq)]
struct Decimal {
    is_negative: bool,
    digits: String,
    power: i64,
}

impl Decimal {
    fn of(text: &str) -> Option<Self> {
        let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (number, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let all = format!("{whole}{part}");
        let digits = all.trim_end_matches('0');
        let power: i64 = power.parse().ok()?;
        let moved = i64::try_from(all.len() - digits.len()).ok()? - i64::try_from(part.len()).ok()?;
        let digits = digits.trim_start_matches('0').to_owned();
        let power = if digits.is_empty() { 0 } else { power.checked_add(moved)? };
        Some(Self { is_negative, digits, power })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_kept_or_refused() {
        for text in [
            "0",
            "-7",
            "2.0",
            "12.50",
            "1e2",
            "1E+2",
            "0.1",
            "-0",
            "0e5",
            "9007199254740993",
            "18446744073709551615",
            "-9223372036854775808",
            "1.7976931348623157e308",
            "5e-324",
        ] {
            assert!(number(text).unwrap().is_ok(), "{text}");
        }
        for text in [
            "18446744073709551616",
            "0.30000000000000000001",
            "9007199254740993.7",
            "123456789012345678901234567890",
            "1e-400",
            "1e-99999999999999999999",
        ] {
            let why = number(text).unwrap().unwrap_err().document.detail;
            assert!(why.contains("would become"), "{text}: {why}");
        }
        for text in ["", "two", "1e400", "NaN", "0x10", "1,5", "+1", "01", ".5"] {
            assert!(number(text).is_none(), "{text}");
        }
    }

    #[test]
    fn json_is_read_as_it_is_written() {
        let text = "{\"a\": [1, 2.5, {\"b\": \"\\u202e\"}],\r\n\t\"__proto__\": {\"a\": null, \"b\": true}}";
        let read = json!({"a": [1, 2.5, {"b": "\u{202e}"}], "__proto__": {"a": null, "b": true}});
        assert_eq!(json(text).unwrap(), read);
        for (text, why) in [
            ("{", "not JSON"),
            ("", "not JSON"),
            ("{\"a\": 1, \"a\": 1}", "`a` twice"),
            ("{\"a\": 1, \"\\u0061\": 2}", "`a` twice"),
            ("[{\"a\": {\"b\": 1, \"b\": 2}}]", "`b` twice"),
            ("{\"a\": [0.30000000000000000001]}", "would become 0.3"),
            ("{\"a\": 18446744073709551616 }", "would become"),
            ("{\"a\": 1e400}", "not JSON"),
            ("{\"a\": \"\u{202e}\"}", "U+202E"),
        ] {
            let refused = json(text).unwrap_err().document.detail;
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
