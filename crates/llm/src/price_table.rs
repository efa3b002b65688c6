//! The model data of `genai-prices`, one table per provider: decoding the whole table at the first call would
//! take most of the start time. `cargo xtask prices` extracts the files from the crate's own data.

use std::sync::LazyLock;

use genai_prices::{Calculator, PriceRequest, Usage};

use crate::Provider;

type Table = LazyLock<Option<Calculator>>;

static ANTHROPIC: Table = LazyLock::new(|| decoded(include_bytes!("../data/anthropic.json")));
static OPENAI: Table = LazyLock::new(|| decoded(include_bytes!("../data/openai.json")));
static OPENROUTER: Table = LazyLock::new(|| decoded(include_bytes!("../data/openrouter.json")));

/// Returns a provider's table, and the provider's id in it; none for self-hosted servers.
pub(crate) fn of(provider: Provider) -> Option<(&'static Calculator, &'static str)> {
    let (table, id) = match provider {
        Provider::Anthropic => (&ANTHROPIC, "anthropic"),
        Provider::OpenAi | Provider::OpenAiResp => (&OPENAI, "openai"),
        Provider::OpenRouter => (&OPENROUTER, "openrouter"),
        Provider::Ollama | Provider::Compatible => return None,
    };
    table.as_ref().map(|table| (table, id))
}

/// Returns a model's context window in tokens. If a gateway's table does not contain it, looks the model up
/// in its maker's table.
pub(crate) fn window(provider: Provider, name: &str) -> Option<u32> {
    let (table, id) = of(provider)?;
    let usage = Usage::default();
    let found = table.calculate(&PriceRequest::new(name, &usage).with_provider_id(id)).ok();
    let own = found.and_then(|found| {
        let mut models = table.find_provider(Some(id), None).ok()??.models();
        models.find(|model| model.id() == found.model_id)?.context_window()
    });
    own.and_then(|window| u32::try_from(window).ok()).or_else(|| {
        let (maker, name) = name.split_once('/').filter(|_| provider == Provider::OpenRouter)?;
        let maker =
            [Provider::Anthropic, Provider::OpenAi].into_iter().find(|known| known.name() == maker)?;
        window(maker, name)
    })
}

fn decoded(json: &[u8]) -> Option<Calculator> {
    let decoded = Calculator::from_json(json);
    decoded.inspect_err(|error| tracing::warn!(%error, "a table of prices cannot be read")).ok()
}
