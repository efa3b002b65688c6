//! Whether a rule holds a call back.

use entourage_types::{ApprovalRule, Comparison, Condition, Effect};
use serde_json::Value;

use crate::kinds::pattern;

/// Whether a rule speaks of calls of this tool at all.
pub(crate) fn concerns(rule: &ApprovalRule, tool: &str, effect: Effect) -> bool {
    let of_tool = rule.tools.iter().any(|name| pattern::names(name, tool));
    of_tool && (rule.effects.is_empty() || rule.effects.contains(&effect))
}

/// Whether all that a rule wants of the arguments holds.
pub(crate) fn holds(rule: &ApprovalRule, arguments: &Value) -> bool {
    rule.when.iter().all(|condition| is_met(condition, arguments))
}

/// Of a list one entry is enough. What is missing or cannot be compared is met: whoever leaves an
/// argument out must not get by.
fn is_met(condition: &Condition, arguments: &Value) -> bool {
    let mut found = vec![arguments];
    for name in condition.argument.split('.') {
        found = found.into_iter().flat_map(entries).filter_map(|value| value.get(name)).collect();
    }
    let found: Vec<&Value> = found.into_iter().flat_map(entries).collect();
    found.is_empty() || found.iter().any(|value| compares(condition, value))
}

/// The entries of a list, however deep; anything else is its own entry.
fn entries(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(entries) => entries.iter().flat_map(self::entries).collect(),
        value => vec![value],
    }
}

fn compares(condition: &Condition, value: &Value) -> bool {
    let by = |compare: fn(&f64, &f64) -> bool| match (number(value), number(&condition.value)) {
        (Some(value), Some(other)) => compare(&value, &other),
        _ => true,
    };
    let same = || {
        let as_numbers = number(value).zip(number(&condition.value)).is_some_and(|(a, b)| a == b);
        as_numbers || text(value) == text(&condition.value)
    };
    let like = || pattern::fits(&text(&condition.value), &text(value));
    match condition.comparison {
        Comparison::Equal => same(),
        Comparison::Different => !same(),
        Comparison::Less => by(f64::lt),
        Comparison::AtMost => by(f64::le),
        Comparison::Greater => by(f64::gt),
        Comparison::AtLeast => by(f64::ge),
        Comparison::Like => like(),
        Comparison::Unlike => !like(),
    }
}

/// A number, also one that was written as a text.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    // What is no number compares as neither greater nor less.
    number.filter(|number| number.is_finite())
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

    fn met(condition: &str, arguments: &Value) -> bool {
        is_met(&condition.parse().unwrap(), arguments)
    }

    #[test]
    fn conditions_hold_as_they_read() {
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
            assert!(met(yes, &call), "{yes}");
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
            assert!(!met(no, &call), "{no}");
        }
    }

    #[test]
    fn what_cannot_be_compared_does_not_get_by() {
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
            assert!(met(yes, &odd), "{yes}");
        }
    }
}
