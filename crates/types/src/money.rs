//! Money as people write it in a setting: `$0.50`, or a number of dollars.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::Cost;

/// Billionths in a dollar, and the number of their digits.
const NANOS: u64 = 1_000_000_000;
const DIGITS: usize = 9;

impl FromStr for Cost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is no amount of money; write dollars in digits with at most nine decimals, such as `$0.50`"
            )
        };
        let amount = text.trim();
        let amount = amount.strip_prefix('$').unwrap_or(amount).trim_start();
        let (whole, part) = amount.split_once('.').unwrap_or((amount, "0"));
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(part) || part.len() > DIGITS {
            return Err(wrong());
        }
        let dollars: u64 = whole.parse().map_err(|_| wrong())?;
        let nanos: u64 = format!("{part:0<DIGITS$}").parse().map_err(|_| wrong())?;
        let total = dollars.checked_mul(NANOS).and_then(|sum| sum.checked_add(nanos));
        total.map(Self::from_nanos).ok_or_else(wrong)
    }
}

/// An amount of money as people write it in a setting or a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dollars(pub Cost);

/// The exact amount, which reads back.
impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.nanos();
        write!(f, "${}.{:0DIGITS$}", nanos / NANOS, nanos % NANOS)
    }
}

impl Serialize for Dollars {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "an amount of money in dollars, such as `$0.50`")]
        enum Written {
            Text(String),
            Number(f64),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Text(text) => text,
            Written::Number(dollars) => dollars.to_string(),
        };
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

/// Writes the exact amount, so that [`deserialize`] reads it back.
pub(crate) fn serialize<S: Serializer>(cost: &Option<Cost>, serializer: S) -> Result<S::Ok, S::Error> {
    cost.map(Dollars).serialize(serializer)
}

/// Reads an amount in dollars, given as text or as a number.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cost>, D::Error> {
    Ok(Option::<Dollars>::deserialize(deserializer)?.map(|dollars| dollars.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    #[test]
    fn a_cost_limit_in_dollars_round_trips_exactly_to_the_billionth() {
        let limit = |json: &str| serde_json::from_str::<Limits>(json).map(|limits| limits.max_cost);
        for (written, nanos) in [
            (r#""$0.50""#, 500_000_000),
            (r#""0.5""#, 500_000_000),
            ("0.1", 100_000_000),
            ("2", 2_000_000_000),
            (r#""$12.000000001""#, 12_000_000_001),
        ] {
            let cost = Some(Cost::from_nanos(nanos));
            assert_eq!(limit(&format!(r#"{{"max_cost": {written}}}"#)).unwrap(), cost, "{written}");
            let limits = Limits { max_cost: cost, ..Limits::default() };
            assert_eq!(limit(&serde_json::to_string(&limits).unwrap()).unwrap(), cost);
        }
        let refusal = |wrong: &str| limit(&format!(r#"{{"max_cost": {wrong}}}"#)).unwrap_err().to_string();
        for wrong in [r#""half a dollar""#, r#""$""#, r#""1e3""#, "-1", r#""0.0000000001""#, "1e300"] {
            let error = refusal(wrong);
            assert!(error.contains("at most nine decimals, such as `$0.50`"), "{wrong}: {error}");
        }
        assert!(refusal("[]").contains("an amount of money in dollars, such as `$0.50`"));
        assert_eq!(limit("{}").unwrap(), None);
    }
}
