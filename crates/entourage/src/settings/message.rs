//! Mistakes in settings, told without the values that are wrong: a key in the wrong place is still a key.

/// What stands before a value in the messages of deserializers.
const BEFORE: [&str; 3] = ["invalid type: ", "invalid value: ", "unknown variant "];
/// What stands behind it.
const BEHIND: &str = ", expected ";

/// A message on one line, without the value that it complains of.
pub(super) fn without_value(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let start = BEFORE.iter().filter_map(|before| Some(line.find(before)? + before.len())).min();
    // The last one: the value may hold these words, what is expected does not.
    let (Some(start), Some(end)) = (start, line.rfind(BEHIND)) else { return line };
    let Some(value) = line.get(start..end) else { return line };
    let sort = value.split(['`', '"', '\'']).next().unwrap_or_default();
    format!("{}{}", format!("{}{sort}", &line[..start]).trim_end(), &line[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_keeps_its_words_and_loses_the_value() {
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
            ("missing field `key`", "missing field `key`"),
        ];
        for (message, without) in told {
            assert_eq!(without_value(message), without);
        }
    }
}
