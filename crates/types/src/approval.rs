//! Which calls wait for a person's approval: rules on tools, effects and arguments.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Effect, Verdict, status::words};

/// Between the conditions of a rule as text.
const AND: &str = " and ";

/// Selects the calls that wait until a person has decided on them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRule {
    /// The tools whose calls it selects, named as in [`crate::Kind::tools`].
    pub tools: Vec<String>,
    /// Restricts it to calls with one of these effects; empty for any effect.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub effects: Vec<Effect>,
    /// Restricts it to calls that meet all of these conditions.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub when: Vec<Condition>,
    /// Seconds that a person has for the decision; the time limit for any question if not given.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answer_seconds: Option<u64>,
    /// What the engine does after that: `approve` or `reject`.
    pub otherwise: Verdict,
}

impl ApprovalRule {
    /// Selects all calls of a tool; none is made without a decision in time.
    #[must_use]
    pub fn of(tool: impl Into<String>) -> Self {
        Self {
            tools: vec![tool.into()],
            effects: Vec::new(),
            when: Vec::new(),
            answer_seconds: None,
            otherwise: Verdict::Reject,
        }
    }
}

/// A test of one argument, in one line: `amount > 100`, `to !~ *@example.com`.
///
/// The argument may be nested (`order.total`). In a list, one matching entry is enough. A missing
/// argument, or one that cannot be compared, meets the condition: in doubt, a person decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Condition {
    /// The path of the argument, with dots between the levels.
    pub argument: String,
    /// How it is compared.
    pub comparison: Comparison,
    /// What it is compared with: a number, a word, or a pattern in which `*` matches any
    /// characters.
    pub value: Value,
}

words! {
    /// How an argument is compared.
    Comparison, "comparison" {
        /// The argument equals the value.
        Equal => "==",
        /// The argument differs from the value.
        Different => "!=",
        /// The argument is a smaller number.
        Less => "<",
        /// The argument is a smaller number, or equal.
        AtMost => "<=",
        /// The argument is a greater number.
        Greater => ">",
        /// The argument is a greater number, or equal.
        AtLeast => ">=",
        /// The argument is a text that matches the pattern.
        Like => "~",
        /// The argument is a text that does not match the pattern.
        Unlike => "!~",
    }
}

impl Comparison {
    /// Whether it compares numbers.
    #[must_use]
    pub const fn is_of_numbers(self) -> bool {
        matches!(self, Self::Less | Self::AtMost | Self::Greater | Self::AtLeast)
    }

    /// The value that a text stands for: JSON, or else the text itself. A pattern is always a text.
    fn value(self, text: &str) -> Value {
        let is_pattern = matches!(self, Self::Like | Self::Unlike);
        match serde_json::from_str(text) {
            Ok(value) if !is_pattern || matches!(value, Value::String(_)) => value,
            _ => Value::String(text.to_owned()),
        }
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.trim().splitn(3, char::is_whitespace);
        let mut word = || words.next().unwrap_or_default().trim();
        let (argument, comparison, value) = (word(), word(), word());
        let is_path = !argument.is_empty() && argument.split('.').all(|part| !part.is_empty());
        let unreadable = |why: &str| {
            let words = Comparison::WORDS.join(" ");
            format!(
                "`{text}` is no condition: {why}. Write `argument comparison value`, such as `amount > 100` \
                     or `to !~ *@example.com`; comparisons: {words}"
            )
        };
        if !is_path || value.is_empty() {
            return Err(unreadable("a part is missing"));
        }
        let comparison: Comparison = comparison.parse().map_err(|error: String| unreadable(&error))?;
        let read = comparison.value(value);
        if comparison.is_of_numbers() && !read.is_number() {
            return Err(unreadable(&format!("`{value}` is no number")));
        }
        Ok(Self { argument: argument.to_owned(), comparison, value: read })
    }
}

/// The condition as text, which parses back. A text is bare if that says the same, and the rest of a rule
/// cannot be taken for a part of it.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.argument, self.comparison)?;
        match &self.value {
            Value::String(text)
                if !text.is_empty()
                    && text.trim() == text
                    && !text.contains(AND)
                    && self.comparison.value(text) == self.value =>
            {
                f.write_str(text)
            }
            value => write!(f, "{value}"),
        }
    }
}

impl TryFrom<String> for Condition {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Condition> for String {
    fn from(condition: Condition) -> Self {
        condition.to_string()
    }
}

/// The rule as text. Two rules with the same text hold back the same calls.
impl fmt::Display for ApprovalRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |words: Vec<String>, between: &str| words.join(between);
        if !self.effects.is_empty() {
            let effects = self.effects.iter().map(ToString::to_string).collect();
            write!(f, "{} calls of ", joined(effects, " or "))?;
        }
        f.write_str(&self.tools.join(", "))?;
        if !self.when.is_empty() {
            write!(f, " when {}", joined(self.when.iter().map(ToString::to_string).collect(), AND))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_condition_parses_back_from_its_text_and_a_bad_one_is_refused() {
        for (text, argument, comparison, value) in [
            ("amount > 100", "amount", Comparison::Greater, json!(100)),
            ("to !~ *@example.com", "to", Comparison::Unlike, json!("*@example.com")),
            ("order.currency == EUR", "order.currency", Comparison::Equal, json!("EUR")),
            ("path ~ /srv/my files/*", "path", Comparison::Like, json!("/srv/my files/*")),
            ("force == true", "force", Comparison::Equal, json!(true)),
            ("code ~ 12*", "code", Comparison::Like, json!("12*")),
            ("code ~ 12", "code", Comparison::Like, json!("12")),
            ("bcc != \"\"", "bcc", Comparison::Different, json!("")),
            ("name == \" x\"", "name", Comparison::Equal, json!(" x")),
            ("code == \"5\"", "code", Comparison::Equal, json!("5")),
            ("code == 0123", "code", Comparison::Equal, json!("0123")),
            ("code ~ \"\\\"a\\\"\"", "code", Comparison::Like, json!("\"a\"")),
            ("a == \"x and b == y\"", "a", Comparison::Equal, json!("x and b == y")),
        ] {
            let condition: Condition = text.parse().unwrap();
            assert_eq!(condition, Condition { argument: argument.into(), comparison, value }, "{text}");
            assert_eq!(condition.to_string(), text);
        }
        for wrong in ["", "amount", "amount >", "amount > much", "amount is 3", ".a == 1", "a..b == 1"] {
            let why = wrong.parse::<Condition>().unwrap_err();
            assert!(why.contains("such as `amount > 100`"), "{why}");
        }
    }
}
