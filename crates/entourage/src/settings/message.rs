//! Describes mistakes in settings without the wrong values: an API key in the wrong place is still a secret.

/// The text before a value in the messages of deserializers.
const BEFORE: [&str; 3] = ["invalid type: ", "invalid value: ", "unknown variant "];
/// The text after it.
const BEHIND: &str = ", expected ";

/// The text before the name of an unknown setting.
const UNKNOWN: &str = "unknown field `";

/// A message on one line, without the wrong value.
pub(super) fn without_value(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = without_strange_name(line);
    let start = BEFORE.iter().filter_map(|before| Some(line.find(before)? + before.len())).min();
    // The last match: the value may contain this text, the expectation does not.
    let (Some(start), Some(end)) = (start, line.rfind(BEHIND)) else { return line };
    let Some(value) = line.get(start..end) else { return line };
    let sort = value.split(['`', '"', '\'']).next().unwrap_or_default();
    format!("{}{}", format!("{}{sort}", &line[..start]).trim_end(), &line[end..])
}

/// The message without the name of an unknown setting, unless the name is a word: an API key may be where a
/// setting is named.
fn without_strange_name(line: String) -> String {
    let Some(begin) = line.find(UNKNOWN).map(|at| at + UNKNOWN.len()) else { return line };
    let Some(name) = line.get(begin..).and_then(|rest| rest.split('`').next()) else { return line };
    let is_word = name.len() <= 32 && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    if is_word { line } else { line.replacen(&format!(" `{name}`"), "", 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_settings_error_keeps_its_wording_and_drops_the_value() {
        let told = [
            (
                "invalid type: string \"sk-1, expected x\", expected a map",
                "invalid type: string, expected a map",
            ),
            ("invalid type: integer `1234`, expected a string", "invalid type: integer, expected a string"),
            (
                "unknown variant `sk-1`, expected `full` or `normal`",
                "unknown variant, expected `full` or `normal`",
            ),
            ("unknown field `bnd`, expected `bind`", "unknown field `bnd`, expected `bind`"),
            ("unknown field `sk-proj-9x`, expected `bind`", "unknown field, expected `bind`"),
            ("missing field `key`", "missing field `key`"),
        ];
        for (message, without) in told {
            assert_eq!(without_value(message), without);
        }
    }
}
