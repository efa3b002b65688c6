//! The supported providers, as data.

use std::fmt;

use serde::Deserialize;

use crate::{Error, Result};

/// A provider: the part of a model's name before `::`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions.
    OpenAi,
    /// OpenAI's Responses.
    #[serde(rename = "openai_resp")]
    OpenAiResp,
    /// OpenRouter.
    OpenRouter,
    /// Ollama.
    Ollama,
    /// Any server with OpenAI's Chat Completions API: llama.cpp, vLLM, LM Studio.
    Compatible,
}

impl Provider {
    /// All providers.
    pub const ALL: [Self; 6] =
        [Self::Anthropic, Self::OpenAi, Self::OpenAiResp, Self::OpenRouter, Self::Ollama, Self::Compatible];

    /// The name, as in `anthropic::claude-…` and in the settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::OpenAiResp => "openai_resp",
            Self::OpenRouter => "openrouter",
            Self::Ollama => "ollama",
            Self::Compatible => "compatible",
        }
    }

    /// The environment variable of its key; none if it needs no key.
    #[must_use]
    pub const fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::OpenAi | Self::OpenAiResp => Some("OPENAI_API_KEY"),
            Self::OpenRouter => Some("OPENROUTER_API_KEY"),
            Self::Ollama | Self::Compatible => None,
        }
    }

    /// The environment variable of its address.
    #[must_use]
    pub const fn base_url_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::OpenAi | Self::OpenAiResp => "OPENAI_BASE_URL",
            Self::OpenRouter => "OPENROUTER_BASE_URL",
            Self::Ollama => "OLLAMA_BASE_URL",
            Self::Compatible => "COMPATIBLE_BASE_URL",
        }
    }

    /// Its default address; none if the address must be set.
    #[must_use]
    pub const fn default_base_url(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("https://api.anthropic.com/v1/"),
            Self::OpenAi | Self::OpenAiResp => Some("https://api.openai.com/v1/"),
            Self::OpenRouter => Some("https://openrouter.ai/api/v1/"),
            Self::Ollama => Some("http://127.0.0.1:11434/"),
            Self::Compatible => None,
        }
    }

    /// The default model if only its key is set; none if the models depend on the server.
    #[must_use]
    pub const fn default_model(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("anthropic::claude-sonnet-5-5"),
            Self::OpenAi => Some("openai::gpt-6.1-sol"),
            Self::OpenRouter => Some("openrouter::anthropic/claude-sonnet-5.5"),
            Self::OpenAiResp | Self::Ollama | Self::Compatible => None,
        }
    }

    /// Splits a name into the provider and the model's name there.
    ///
    /// # Errors
    /// [`Error::Configuration`] when the name has no provider, or an unknown one: nothing is guessed.
    pub fn split(model: &str) -> Result<(Self, &str)> {
        let unknown = |why: String| {
            let names = Self::ALL.map(Self::name).join(", ");
            Err(Error::Configuration(format!("{why}: write `provider::name` with one of {names}")))
        };
        let Some((provider, name)) = model.split_once("::").filter(|(_, name)| !name.is_empty()) else {
            return unknown(match may_be_a_key(model) {
                true => "what is given as the model looks like a key, and is not repeated here".to_owned(),
                false => format!("the model `{model}` names no provider"),
            });
        };
        match Self::ALL.into_iter().find(|known| known.name() == provider) {
            Some(provider) => Ok((provider, name)),
            None => unknown(format!("the model `{model}` names the unknown provider `{provider}`")),
        }
    }
}

/// Whether the model's name may be a key put there by mistake.
fn may_be_a_key(model: &str) -> bool {
    const LONG: usize = 40;
    model.starts_with("sk-") || model.len() >= LONG && !model.contains([' ', '/', ':'])
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
