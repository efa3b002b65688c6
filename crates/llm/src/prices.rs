//! What a call costs.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{PoisonError, RwLock},
};

use entourage_types::{Cost, Usage};
use genai_prices::{PriceRequest, UsageKey};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};

use crate::{Provider, price_table};

/// The price of one model, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// US dollars for a million prompt tokens.
    #[serde(deserialize_with = "price")]
    pub input: f64,
    /// US dollars for a million tokens that the model writes.
    #[serde(deserialize_with = "price")]
    pub output: f64,
    /// The same for prompt tokens read from the cache; as `input` by default.
    #[serde(default, deserialize_with = "price_if_any")]
    pub cached: Option<f64>,
    /// The same for prompt tokens written to the cache; as `input` by default.
    #[serde(default, deserialize_with = "price_if_any")]
    pub cache_written: Option<f64>,
}

/// The highest price that anybody means.
const DEAREST: f64 = 1_000_000.0;

fn price<'de, D: Deserializer<'de>>(given: D) -> Result<f64, D::Error> {
    let price = f64::deserialize(given)?;
    if (0.0..=DEAREST).contains(&price) {
        return Ok(price);
    }
    Err(D::Error::custom(format!("a price is 0 to {DEAREST} US dollars for a million tokens, not {price}")))
}

fn price_if_any<'de, D: Deserializer<'de>>(given: D) -> Result<Option<f64>, D::Error> {
    price(given).map(Some)
}

/// Prices of calls: the operator's own, then the table of `genai-prices`.
#[derive(Debug, Default)]
pub struct Prices {
    own: BTreeMap<String, Price>,
    /// Models missing from the table: a miss requires a search through the whole table.
    unknown: RwLock<HashSet<String>>,
}

impl Prices {
    /// Creates prices with the operator's own, by `provider::name`, which take precedence over the table.
    #[must_use]
    pub fn new(own: BTreeMap<String, Price>) -> Self {
        Self { own, unknown: RwLock::default() }
    }

    /// Returns the price of a call to `model`, a `provider::name`; none if it is unknown.
    ///
    /// The first call for a model of a provider decodes that provider's table, once.
    #[must_use]
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<Cost> {
        if let Some(price) = self.own.get(model) {
            return price.of(usage);
        }
        let (provider, name) = Provider::split(model).ok()?;
        if self.unknown.read().unwrap_or_else(PoisonError::into_inner).contains(model) {
            return None;
        }
        let (table, id) = price_table::of(provider)?;
        let counts = counts(usage);
        match table.calculate(&PriceRequest::new(name, &counts).with_provider_id(id)) {
            Ok(price) => cost(price.total_price),
            Err(error) => {
                tracing::debug!(model, %error, "no price");
                if error.kind() == genai_prices::ErrorKind::ModelNotFound {
                    self.unknown.write().unwrap_or_else(PoisonError::into_inner).insert(model.to_owned());
                }
                None
            }
        }
    }
}

impl Price {
    /// Returns the cost of these tokens.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> Option<Cost> {
        let plain = usage.input.saturating_sub(usage.cached.saturating_add(usage.cache_written));
        let per_million = tokens(plain) * self.input
            + tokens(usage.cached) * self.cached.unwrap_or(self.input)
            + tokens(usage.cache_written) * self.cache_written.unwrap_or(self.input)
            + tokens(usage.output) * self.output;
        cost(per_million / 1_000_000.0)
    }
}

/// Converts usage for the table, which wants a part only if its count is not zero: for models without a cache
/// it has no price for cached tokens.
fn counts(usage: &Usage) -> genai_prices::Usage {
    let parts =
        [(UsageKey::CACHE_READ_TOKENS, usage.cached), (UsageKey::CACHE_WRITE_TOKENS, usage.cache_written)];
    [(UsageKey::INPUT_TOKENS, usage.input), (UsageKey::OUTPUT_TOKENS, usage.output)]
        .into_iter()
        .chain(parts.into_iter().filter(|(_, count)| *count > 0))
        .map(|(key, count)| (key, tokens(count)))
        .collect()
}

#[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 tokens")]
fn tokens(count: u64) -> f64 {
    count as f64
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
fn cost(dollars: f64) -> Option<Cost> {
    let nanos = (dollars * 1_000_000_000.0).round();
    (nanos.is_finite() && (0.0..=1e18).contains(&nanos)).then(|| Cost::from_nanos(nanos as u64))
}
