//! What is known about a model before a call: from the settings, from its server, from the table of models,
//! and guessed from the size in its name.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Provider, price_table};

/// What is known about a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// Whether it uses several tools in a row reliably; otherwise tools are offered as a schema of
    /// next actions.
    pub native_tools: bool,
    /// How many tokens the prompt and the answer may have together; none if unknown: then the engine
    /// summarizes only after the provider has refused a request as too long.
    pub context_window: Option<u32>,
    /// The source of `context_window`.
    pub window_from: KnownFrom,
}

/// The source of a context window's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownFrom {
    /// `models.profiles` in the settings.
    Settings,
    /// The server that the model runs on.
    Server,
    /// The table of models.
    Table,
    /// None of them.
    Nowhere,
}

impl fmt::Display for KnownFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Settings => "the settings say so",
            Self::Server => "its server says so",
            Self::Table => "the table of models says so",
            Self::Nowhere => "its size is unknown",
        })
    }
}

/// An operator's corrections of a model's profile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProfileSettings {
    /// Whether it uses several tools in a row reliably; otherwise tools are offered as a schema of next
    /// actions. By default, derived from a list of small families and the size in the name.
    pub native_tools: Option<bool>,
    /// How many tokens of prompt and answer it holds.
    pub context_window: Option<u32>,
}

/// Families that are small whatever the size in their name is, or whose names state none.
const SMALL: &[&str] = &["smollm", "tinyllama", "functiongemma"];

/// A model with up to so many million parameters is too weak for several tools in a row.
const WEAK: u32 = 3_999;

impl Profile {
    /// Returns what is known about a model from its `provider::name` alone.
    #[must_use]
    pub fn of(model: &str) -> Self {
        let name = model.to_ascii_lowercase();
        let weak = SMALL.iter().any(|family| name.contains(family))
            || parameters(&name).is_some_and(|millions| millions <= WEAK);
        let split = Provider::split(model).ok();
        let context_window = split.and_then(|(provider, name)| price_table::window(provider, name));
        let window_from = if context_window.is_some() { KnownFrom::Table } else { KnownFrom::Nowhere };
        Self { native_tools: !weak, context_window, window_from }
    }

    /// Returns the profile with the operator's settings in place of the known values.
    #[must_use]
    pub fn with(self, settings: &ProfileSettings) -> Self {
        let native_tools = settings.native_tools.unwrap_or(self.native_tools);
        match settings.context_window {
            None => Self { native_tools, ..self },
            window => Self { native_tools, context_window: window, window_from: KnownFrom::Settings },
        }
    }

    /// Returns the profile with the window that the model's server reports.
    pub(crate) fn served(self, window: u32) -> Self {
        Self { context_window: Some(window), window_from: KnownFrom::Server, ..self }
    }
}

/// Returns the size in a name, in millions of parameters: `1.5b`, `135m`; the largest if there are several.
fn parameters(name: &str) -> Option<u32> {
    name.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
        .flat_map(|word| [word, word.trim_end_matches(".gguf")])
        .filter_map(|word| {
            let number = word.strip_suffix(['b', 'm'])?;
            let size: f32 = number.parse().ok()?;
            let millions = if word.ends_with('b') { size * 1_000.0 } else { size };
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be in range"
            )]
            (millions.is_finite() && (1.0..1e9).contains(&millions)).then_some(millions as u32)
        })
        .max()
}
