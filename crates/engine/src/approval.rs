//! Approval rules: whether one holds a call back.

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

/// The value as a number, also if it is written as text.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    // A text such as `NaN` or `inf` is no number here: NaN is neither greater nor less than any number.
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
