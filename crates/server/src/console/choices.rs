//! Whether people can tell what they choose from: a page shows some texts alike, and some not at all.

use std::collections::HashSet;

use serde_json::Value;

use super::exact;

/// What a choice says that leaves the argument out.
pub(super) const LEFT_OUT: &str = "left out";

/// What people read for a choice.
pub(super) fn reading(choice: &str) -> String {
    match serde_json::from_str(choice) {
        Ok(Value::String(text)) => text,
        _ => choice.to_owned(),
    }
}

/// Whether a line is shown as it is: a page shows many spaces as one, and those around it not at all.
pub(super) fn is_plain_line(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    !words.is_empty() && words.join(" ") == text && exact::unseen(text).is_none()
}

/// Whether people can tell each of these choices from the others.
pub(super) fn are_distinct(choices: &[String]) -> bool {
    let mut seen = HashSet::from([LEFT_OUT.to_owned()]);
    !choices.is_empty()
        && choices.iter().all(|choice| {
            let text = reading(choice);
            is_plain_line(&text) && seen.insert(text.chars().map(twin).collect())
        })
}

/// The letter that a letter of the Cyrillic or Greek alphabet, or a sign, looks like.
fn twin(char: char) -> char {
    match char {
        '\u{391}' | '\u{410}' => 'A',
        '\u{392}' | '\u{412}' => 'B',
        '\u{421}' => 'C',
        '\u{395}' | '\u{415}' => 'E',
        '\u{397}' | '\u{41d}' => 'H',
        '\u{408}' => 'J',
        '\u{39a}' | '\u{41a}' => 'K',
        '\u{39c}' | '\u{41c}' => 'M',
        '\u{39d}' => 'N',
        '0' | '\u{39f}' | '\u{41e}' => 'O',
        '\u{3a1}' | '\u{420}' => 'P',
        '\u{405}' => 'S',
        '\u{3a4}' | '\u{422}' => 'T',
        '\u{3a7}' | '\u{425}' => 'X',
        '\u{3a5}' | '\u{423}' => 'Y',
        '\u{396}' => 'Z',
        '\u{3b1}' | '\u{430}' => 'a',
        '\u{441}' => 'c',
        '\u{501}' => 'd',
        '\u{435}' => 'e',
        '\u{4bb}' => 'h',
        '\u{456}' => 'i',
        '\u{458}' => 'j',
        '\u{43a}' => 'k',
        'I' | '1' | '|' | '\u{399}' | '\u{406}' => 'l',
        '\u{3bf}' | '\u{43e}' => 'o',
        '\u{3c1}' | '\u{440}' => 'p',
        '\u{433}' => 'r',
        '\u{455}' => 's',
        '\u{3bd}' => 'v',
        '\u{445}' => 'x',
        '\u{443}' => 'y',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_distinct_if_people_can_tell_them_apart() {
        let are = |choices: &[&str]| {
            are_distinct(&choices.iter().map(|choice| (*choice).to_owned()).collect::<Vec<_>>())
        };
        for choices in [
            &["\"yes\"", "\"no\""][..],
            &["1", "2.5", "true", "\"a b\""],
            &["\"\u{434}\u{430}\"", "\"\u{43d}\u{435}\u{442}\""],
            &["\"rm\"", "\"ls\""],
        ] {
            assert!(are(choices), "{choices:?}");
        }
        for choices in [
            &[][..],
            &["\"1\"", "1"],
            &["true", "\"true\""],
            &["\"x\"", "\"x\""],
            &["\"x \"", "\"y\""],
            &["\"x\u{a0}y\"", "\"y\""],
            &["\"a  b\"", "\"c\""],
            &["\"\"", "\"y\""],
            &["\" \"", "\"y\""],
            &["\"a\u{200b}b\"", "\"c\""],
            &["\"a\\nb\"", "\"c\""],
            &["\"rm\"", "\"\u{433}m\""],
            &["\"l0\"", "\"I\u{41e}\""],
            &["\"left out\"", "\"left in\""],
        ] {
            assert!(!are(choices), "{choices:?}");
        }
    }
}
