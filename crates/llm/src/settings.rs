//! The operator's settings for models. Everything has a default.

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::Deserialize;

use crate::{Price, ProfileSettings, Provider};

/// The operator's settings for models.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The model of every kind that names none, as `provider::name`, or `rehearsal`.
    pub default: Option<String>,
    /// The models to ask instead of the default, in this order, when it fails permanently.
    pub fallback: Vec<String>,
    /// The model for summaries of long or old conversations, usually a cheap one; by default the model of the
    /// agent itself.
    pub summary: Option<String>,
    /// The providers, by name: `anthropic`, `openai`, `openai_resp`, `openrouter`, `ollama`, `compatible`.
    #[schemars(with = "BTreeMap<String, Connection>")]
    pub providers: BTreeMap<Provider, Connection>,
    /// Prices that the bundled table lacks or has wrong, by `provider::name`.
    pub prices: BTreeMap<String, Price>,
    /// Corrections of the built-in table of models, by `provider::name`.
    pub profiles: BTreeMap<String, ProfileSettings>,
    /// Where to look for local servers if nothing else is set.
    pub local: Local,
}

/// How to reach one provider.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Connection {
    /// Its address, such as `http://127.0.0.1:8080/v1`; the provider's own by default.
    pub base_url: Option<String>,
    /// Its key; read from the environment when not set here.
    #[schemars(with = "Option<String>")]
    pub key: Option<SecretString>,
    /// At most this many concurrent calls to one of its models; 10 by default for Ollama, which is one
    /// machine, and 1,000 for the others. An owner that a token names leaves one of them to others, if there
    /// are two or more.
    pub concurrency: Option<usize>,
    /// At most this many requests to one of its models in any minute; unlimited if not set.
    pub requests_per_minute: Option<u32>,
    /// How many seconds its answer may take to begin. An attempt that takes longer counts as failed and is
    /// repeated.
    pub header_seconds: f64,
    /// How many seconds an answer in progress may be silent before the attempt counts as failed.
    pub silence_seconds: f64,
}

impl Default for Connection {
    fn default() -> Self {
        Self {
            base_url: None,
            key: None,
            concurrency: None,
            requests_per_minute: None,
            header_seconds: 60.0,
            silence_seconds: 60.0,
        }
    }
}

impl Connection {
    /// How long its answer may take to begin.
    #[must_use]
    pub fn header_timeout(&self) -> Duration {
        seconds(self.header_seconds)
    }

    /// How long an answer in progress may be silent.
    #[must_use]
    pub fn silence_timeout(&self) -> Duration {
        seconds(self.silence_seconds)
    }
}

/// Converts a setting; one that is not a valid duration becomes the default, so that every call ends.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).ok().filter(|d| !d.is_zero()).unwrap_or(Duration::from_secs(60))
}

/// Where to look for local servers, unless the address of one is set.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Local {
    /// Where to look for Ollama, unless `models.providers.ollama.base_url` or that of `compatible` is set.
    pub ollama: String,
    /// Where to look for llama.cpp's server, or any other with `/v1/models`, unless an address is set.
    pub compatible: String,
    /// How many milliseconds they may take to answer, since a start waits for them; at least 5,000 if the
    /// address of one is set.
    pub wait_ms: u64,
}

impl Default for Local {
    fn default() -> Self {
        Self {
            ollama: "http://127.0.0.1:11434".into(),
            compatible: "http://127.0.0.1:8080".into(),
            wait_ms: 150,
        }
    }
}
