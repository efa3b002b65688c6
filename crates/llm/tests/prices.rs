//! Prices of calls.

use std::collections::BTreeMap;

use entourage_llm::{Price, Prices, Profile};
use entourage_types::Usage;

const MILLION: u64 = 1_000_000;

fn nanos(prices: &Prices, model: &str, usage: Usage) -> Option<u64> {
    prices.cost(model, &usage).map(|cost| cost.nanos())
}

#[test]
fn the_price_table_covers_cached_tokens_and_tiers() {
    let prices = Prices::default();
    let model = "anthropic::claude-sonnet-4-5";
    let usage =
        |input, output, cached, cache_written| Usage { input, output, cached, cache_written, reasoning: 0 };
    assert_eq!(nanos(&prices, model, usage(1000, 0, 0, 0)), Some(3_000_000));
    assert_eq!(nanos(&prices, model, usage(0, 1000, 0, 0)), Some(15_000_000));
    assert_eq!(nanos(&prices, model, usage(1000, 0, 1000, 0)), Some(300_000));
    assert_eq!(nanos(&prices, model, usage(1000, 0, 0, 1000)), Some(3_750_000));
    assert_eq!(nanos(&prices, model, usage(MILLION, 0, 0, 0)), Some(6_000_000_000), "above 200,000 tokens");
    let gateway = nanos(&prices, "openrouter::anthropic/claude-sonnet-4.5", usage(1000, 0, 0, 0));
    assert_eq!(gateway, Some(3_000_000));
}

/// Shows: S4-R135.
#[test]
fn every_default_model_has_a_price() {
    let prices = Prices::default();
    for model in entourage_llm::Provider::ALL.into_iter().filter_map(entourage_llm::Provider::default_model) {
        assert!(prices.cost(model, &Usage { input: 1, ..Usage::default() }).is_some(), "{model}");
    }
}

#[test]
fn an_unknown_model_has_no_price() {
    let prices = Prices::default();
    let usage = Usage { input: 10, output: 10, ..Usage::default() };
    for model in
        ["anthropic::nobody", "anthropic::nobody", "ollama::qwen3", "compatible::gpt-5", "gpt-5", "rehearsal"]
    {
        assert_eq!(prices.cost(model, &usage), None, "{model}");
    }
}

/// Shows: S4-R135.
#[test]
fn a_configured_price_overrides_the_table() {
    let own = BTreeMap::from([
        (
            "compatible::x".to_owned(),
            Price { input: 1.0, output: 2.0, cached: Some(0.1), cache_written: None },
        ),
        (
            "anthropic::claude-sonnet-4-5".to_owned(),
            Price { input: 0.0, output: 0.0, cached: None, cache_written: None },
        ),
    ]);
    let prices = Prices::new(own);
    let usage =
        Usage { input: 3 * MILLION, output: MILLION, cached: MILLION, cache_written: MILLION, reasoning: 0 };
    assert_eq!(
        nanos(&prices, "compatible::x", usage),
        Some(1_000_000_000 + 100_000_000 + 1_000_000_000 + 2_000_000_000)
    );
    assert_eq!(nanos(&prices, "anthropic::claude-sonnet-4-5", usage), Some(0));
}

/// `cargo xtask prices` regenerates our tables.
#[test]
fn our_tables_match_those_of_genai_prices() {
    let prices = Prices::default();
    let usage = Usage { input: 1_000, output: 1_000, ..Usage::default() };
    let theirs = genai_prices::Usage::from([
        (genai_prices::UsageKey::INPUT_TOKENS, 1_000.0),
        (genai_prices::UsageKey::OUTPUT_TOKENS, 1_000.0),
    ]);
    let table = genai_prices::Calculator::bundled();
    let (mut models, mut windows) = (0, 0);
    for id in ["anthropic", "openai", "openrouter"] {
        let provider = table.find_provider(Some(id), None).expect("a table").expect("a provider");
        for model in provider.models() {
            let request = genai_prices::PriceRequest::new(model.id(), &theirs).with_provider_id(id);
            let price = table.calculate(&request).ok();
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a price")]
            let price = price.map(|price| (price.total_price * 1e9).round() as u64);
            let name = format!("{id}::{}", model.id());
            assert_eq!(nanos(&prices, &name, usage), price, "{name}");
            models += 1;
            // The maker's table fills gaps in a gateway's table.
            if model.context_window().is_some() || id != "openrouter" {
                let window = Profile::of(&name).context_window.map(u64::from);
                assert_eq!(window, model.context_window(), "{name}");
                windows += usize::from(window.is_some());
            }
        }
    }
    assert!(models > 500 && windows > 400, "{models}, {windows}");
}
