//! YAML in memory of the size of its text: an alias repeats values, and aliases of aliases repeat them without
//! end.

use serde::de::DeserializeOwned;
use serde_saphyr::{
    Error,
    budget::{Budget, BudgetBreach},
    options::Options,
};

/// The most values of one text: those of a large `output_schema`.
const MOST_VALUES: usize = 10_000;
/// The most bytes of its words: as many as a file has.
const MOST_BYTES: usize = 1 << 20;

/// Reads a text. Each time that an alias repeats a value counts.
///
/// # Errors
/// What is wrong with it, or too much in it.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_saphyr::from_str_with_options(text, options(text.len()))
}

/// What a text of so many bytes needs: a few of its values may be repeated.
fn options(bytes: usize) -> Options {
    let values = bytes.saturating_mul(2).saturating_add(100).min(MOST_VALUES);
    let mut budget = Budget::default();
    budget.max_nodes = values;
    budget.max_events = values * 4;
    budget.max_recorded_anchor_events = values * 4;
    budget.max_total_scalar_bytes = MOST_BYTES;
    budget.max_recorded_anchor_bytes = MOST_BYTES;
    let mut options = Options::default();
    options.budget = Some(budget);
    options
}

/// What a text has too much of, if that is what is wrong.
pub(super) fn too_much(error: &Error) -> Option<String> {
    match error {
        Error::WithSnippet { error, .. } | Error::AliasError { error, .. } => too_much(error),
        Error::Budget { breach, .. } => Some(in_words(breach)),
        _ => None,
    }
}

/// What exceeds the parser's limits.
fn in_words(breach: &BudgetBreach) -> String {
    let repeated = "counting each time that an alias (`*name`) repeats them";
    let text = match breach {
        BudgetBreach::Nodes { nodes } => {
            return format!("too many values: at most {} fit, {repeated}", nodes.saturating_sub(1));
        }
        BudgetBreach::ScalarBytes { .. } => {
            return format!("too long: the words have at most {MOST_BYTES} bytes, {repeated}");
        }
        BudgetBreach::Depth { .. } => "the front matter is nested too deeply",
        BudgetBreach::Events { .. } => "the front matter has too many values",
        BudgetBreach::InputBytes { .. } => "the front matter has too much text",
        BudgetBreach::Anchors { .. } => "the front matter has too many anchors (`&name`)",
        BudgetBreach::Aliases { .. } | BudgetBreach::AliasAnchorRatio { .. } => {
            "the front matter repeats its anchors (`&name`) too often: it has too many aliases (`*name`)"
        }
        BudgetBreach::RecordedAnchorEvents { .. } | BudgetBreach::RecordedAnchorBytes { .. } => {
            "the values of anchors (`&name`) in the front matter are too large"
        }
        BudgetBreach::MergeKeys { .. } => "the front matter has too many merge keys (`<<`)",
        BudgetBreach::Documents { .. } => "the front matter has too many YAML documents",
        BudgetBreach::SequenceUnbalanced => "the front matter closes a list or a map that it has not opened",
        _ => "the front matter is too large",
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use serde_json::{Value, json};

    use super::{
        super::{Severity, parse},
        *,
    };

    /// Levels of lists, each of which repeats the one before nine times.
    fn bomb(name: &str) -> String {
        let mut text = format!("{name}0: &a0 [x, x]\n");
        for level in 1..12 {
            let below = vec![format!("*a{}", level - 1); 9].join(",");
            writeln!(text, "{name}{level}: &a{level} [{below}]").unwrap();
        }
        text
    }

    #[test]
    fn aliases_that_repeat_too_much_are_a_mistake_that_says_so() {
        let (kind, findings) = parse("k.md", &format!("---\nname: k\n{}---\nDo.", bomb("key")));
        assert!(kind.is_none(), "{findings:?}");
        let text = &findings[0].text;
        assert!(text.starts_with("too many values: at most "), "{text}");
        assert!(text.ends_with("counting each time that an alias (`*name`) repeats them"), "{text}");
    }

    /// Beside text that is not valid YAML, each entry is read for itself; one that cannot be read is text.
    #[test]
    fn aliases_that_repeat_too_much_beside_invalid_yaml_are_text() {
        let hooks = bomb("key").trim_end().replace('\n', ", ");
        let front = format!("description: a: b\nhooks: {{{hooks}}}\n");
        let (kind, findings) = parse("k.md", &format!("---\nname: k\n{front}---\nDo."));
        assert!(kind.is_some(), "{findings:?}");
        let lines: Vec<_> = findings
            .iter()
            .filter(|found| found.text.ends_with("taken literally"))
            .map(|found| found.line)
            .collect();
        assert_eq!(lines, [3, 4], "{findings:?}");
    }

    #[test]
    fn a_word_that_aliases_repeat_too_often_is_too_long() {
        let aliases = vec!["*w"; 2_000].join(",");
        let error = read::<Value>(&format!("word: &w {}\nall: [{aliases}]", "w".repeat(1_000))).unwrap_err();
        assert!(too_much(&error).is_some_and(|text| text.starts_with("too long: ")), "{error}");
    }

    #[test]
    fn anchors_that_repeat_little_are_read() {
        let text = "effort: &words [read, look]\neffects: {pure: *words, idempotent: *words}\n";
        let (kind, _) = parse("k.md", &format!("---\nname: k\n{text}---\nDo."));
        let effects = kind.unwrap().effects;
        assert_eq!((effects.pure, effects.idempotent.len()), (vec!["read".to_owned(), "look".to_owned()], 2));
    }

    #[test]
    fn an_error_beyond_a_limit_of_the_parser_names_what_is_too_much() {
        let beyond = |value: String, why: &str| {
            let (_, findings) = parse("k.md", &format!("---\nname: k\ntools: {value}\n---\nHello.\n"));
            let [found] = &findings[..] else { panic!("{findings:?}") };
            assert_eq!((&*found.text, found.severity), (why, Severity::Mistake));
        };
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        beyond(deep, "the front matter is nested too deeply");
        let most =
            "too many values: at most 10000 fit, counting each time that an alias (`*name`) repeats them";
        beyond(format!("[{}]", "1,".repeat(250_001)), most);
        let repeated = format!("[&a x,{}]", "*a ,".repeat(200));
        let too_often =
            "the front matter repeats its anchors (`&name`) too often: it has too many aliases (`*name`)";
        beyond(repeated, too_often);
    }

    /// However dense a text is, without aliases it has no more values than may be.
    #[test]
    fn a_text_without_aliases_is_read_up_to_the_most_values() {
        for dense in ["[[],[],{}]", "a:"] {
            assert!(read::<Value>(dense).is_ok_and(|value| value != json!("")), "{dense}");
        }
        let listed = |many: usize| format!("[{}]", vec!["a"; many].join(","));
        assert!(read::<Value>(&listed(MOST_VALUES - 1)).is_ok());
        assert!(too_much(&read::<Value>(&listed(MOST_VALUES)).unwrap_err()).is_some());
    }
}
