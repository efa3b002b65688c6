//! Approval rules: whether one holds a call back.

use std::cmp::Ordering;

use entourage_types::{ApprovalRule, Comparison, Condition, Effect};
use serde_json::Value;

use crate::kinds::pattern;

/// Whether a rule applies to calls of this tool with this effect.
pub(crate) fn concerns(rule: &ApprovalRule, tool: &str, effect: Effect) -> bool {
    let of_tool = rule.tools.iter().any(|name| pattern::names(name, tool));
    of_tool && (rule.effects.is_empty() || rule.effects.contains(&effect))
}

/// Whether the arguments meet all conditions of a rule.
pub(crate) fn holds(rule: &ApprovalRule, arguments: &Value) -> bool {
    rule.when.iter().all(|condition| is_met(condition, arguments))
}

/// Whether the arguments meet a condition. Of a list, one entry that meets it is enough. A value that is
/// missing, also in a single entry of a list, or that cannot be compared meets it: a call must not get past a
/// rule by leaving an argument out.
fn is_met(condition: &Condition, arguments: &Value) -> bool {
    let names: Vec<&str> = condition.argument.split('.').collect();
    is_met_at(condition, &names, arguments)
}

/// Whether the value at the path `names` below `value` meets a condition.
fn is_met_at(condition: &Condition, names: &[&str], value: &Value) -> bool {
    if let Value::Array(entries) = value {
        return entries.is_empty() || entries.iter().any(|entry| is_met_at(condition, names, entry));
    }
    match names {
        [] => compares(condition, value),
        [name, deeper @ ..] => value.get(name).is_none_or(|value| is_met_at(condition, deeper, value)),
    }
}

fn compares(condition: &Condition, value: &Value) -> bool {
    let order = || Number::of(value)?.partial_cmp(&Number::of(&condition.value)?);
    let by = |fits: fn(Ordering) -> bool| order().is_none_or(fits);
    // Only a number is compared as a number: of two texts such as account numbers, `0123` is not `123`.
    let same = || {
        let as_numbers = condition.value.is_number() && order() == Some(Ordering::Equal);
        as_numbers || text(value) == text(&condition.value)
    };
    let like = || pattern::fits(&text(&condition.value), &text(value));
    match condition.comparison {
        Comparison::Equal => same(),
        Comparison::Different => !same(),
        Comparison::Less => by(Ordering::is_lt),
        Comparison::AtMost => by(Ordering::is_le),
        Comparison::Greater => by(Ordering::is_gt),
        Comparison::AtLeast => by(Ordering::is_ge),
        Comparison::Like => like(),
        Comparison::Unlike => !like(),
    }
}

/// A number, also one that is written as text.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    /// Compared as it is: a float has no room for the last digits of a long one.
    Whole(i128),
    Float(f64),
}

impl Number {
    fn of(value: &Value) -> Option<Self> {
        let text = match value {
            Value::Number(number) => number.to_string(),
            Value::String(text) => text.trim().to_owned(),
            _ => return None,
        };
        if let Ok(whole) = text.parse() {
            return Some(Self::Whole(whole));
        }
        // A text such as `NaN` or `inf` is no number here: NaN is neither greater nor less than any number.
        text.parse().ok().filter(|number: &f64| number.is_finite()).map(Self::Float)
    }

    #[allow(clippy::cast_precision_loss, reason = "the other one is a float")]
    const fn float(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Float(float) => float,
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => Some(one.cmp(other)),
            _ => self.float().partial_cmp(&other.float()),
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn condition_holds(condition: &str, arguments: &Value) -> bool {
        is_met(&condition.parse().unwrap(), arguments)
    }

    #[test]
    fn a_condition_compares_the_arguments_as_written() {
        let call = json!({"amount": 150, "to": "ann@example.com", "order": {"lines": [{"n": 1}, {"n": 9}]}, "dry": true});
        for yes in [
            "amount > 100",
            "amount >= 150",
            "amount <= 150",
            "amount == 150.0",
            "amount != 151",
            "to ~ *@example.com",
            "to !~ *@example.org",
            "order.lines.n > 5",
            "order.lines.n == 1",
            "dry == true",
        ] {
            assert!(condition_holds(yes, &call), "{yes}");
        }
        for no in [
            "amount > 150",
            "amount < 150",
            "amount != 150",
            "to !~ *@example.com",
            "to ~ ann",
            "dry == false",
            "order.lines.n > 9",
        ] {
            assert!(!condition_holds(no, &call), "{no}");
        }
    }

    #[test]
    fn long_numbers_and_texts_that_look_like_numbers_are_compared_exactly() {
        let call = json!({"account": 12_345_678_901_234_568_u64, "text": "12345678901234568", "code": "123"});
        for yes in [
            "account != 12345678901234567",
            "account > 12345678901234567",
            "text != 12345678901234567",
            "text == 12345678901234568",
            "code == 123",
            "code != 0123",
            "code != \"123.0\"",
            "code == \"123\"",
        ] {
            assert!(condition_holds(yes, &call), "{yes}");
        }
        for no in ["account == 12345678901234567", "account <= 12345678901234567", "code == \"0123\""] {
            assert!(!condition_holds(no, &call), "{no}");
        }
    }

    #[test]
    fn an_argument_that_cannot_be_compared_meets_every_condition() {
        let odd = json!({"amount": "NaN", "much": "1e9", "to": ["a@example.com", "b@evil.org"], "none": []});
        for yes in [
            "amount > 100",
            "amount < 100",
            "much > 100",
            "missing == 1",
            "missing.deeper ~ x",
            "to !~ *@example.com",
            "none == 1",
            "amount.deeper > 1",
        ] {
            assert!(condition_holds(yes, &odd), "{yes}");
        }
    }

    #[test]
    fn a_list_entry_without_the_compared_field_meets_the_condition() {
        for order in [
            json!([{"total": 1}, {}]),
            json!([{}, {"total": 1}]),
            json!([{"total": 1}, "x"]),
            json!([{"total": 1}, null]),
            json!([{"total": 1}, []]),
            json!([[{"total": 1}], [{"other": 1}]]),
        ] {
            assert!(condition_holds("order.total >= 5", &json!({ "order": order })), "{order}");
            assert!(
                condition_holds("order.lines.total >= 5", &json!({"order": [{"lines": order}]})),
                "{order}"
            );
        }
        assert!(!condition_holds("order.total >= 5", &json!({"order": [{"total": 1}, {"total": 2}]})));
    }
}
