//! What is known about a model before it is asked: by the settings, by its server, by the table of models,
//! and a guess from its name's size.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Provider, table};

/// What is known about a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// Whether it uses several tools in a row reliably; otherwise tools are offered as a schema of
    /// next actions.
    pub native_tools: bool,
    /// How many tokens of prompt and answer it holds; none where that is unknown: nothing is summed up
    /// then until a request is refused as too long.
    pub context_window: Option<u32>,
    /// Who says so.
    pub window_from: KnownFrom,
}

/// Who says how large a model's window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownFrom {
    /// `models.profiles` in the settings.
    Settings,
    /// The server that it runs on.
    Server,
    /// The table of models.
    Table,
    /// Neither of them.
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

/// What an operator knows better.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProfileSettings {
    /// Whether it uses several tools in a row reliably; otherwise tools are offered as a schema of next
    /// actions. By default, what a table says or the size in the name suggests.
    pub native_tools: Option<bool>,
    /// How many tokens of prompt and answer it holds.
    pub context_window: Option<u32>,
}

/// Families that are small whatever their name's size says, or whose names say none.
const SMALL: &[&str] = &["smollm", "tinyllama", "functiongemma"];

/// Up to so many million parameters a model is too weak for tools in a row.
const WEAK: u32 = 3_999;

impl Profile {
    /// What is known about a model by its `provider::name`.
    #[must_use]
    pub fn of(model: &str) -> Self {
        let name = model.to_ascii_lowercase();
        let weak = SMALL.iter().any(|family| name.contains(family))
            || parameters(&name).is_some_and(|millions| millions <= WEAK);
        let split = Provider::split(model).ok();
        let context_window = split.and_then(|(provider, name)| table::window(provider, name));
        let window_from = if context_window.is_some() { KnownFrom::Table } else { KnownFrom::Nowhere };
        Self { native_tools: !weak, context_window, window_from }
    }

    /// The same profile where the operator knows nothing better.
    #[must_use]
    pub fn with(self, settings: &ProfileSettings) -> Self {
        let native_tools = settings.native_tools.unwrap_or(self.native_tools);
        match settings.context_window {
            None => Self { native_tools, ..self },
            window => Self { native_tools, context_window: window, window_from: KnownFrom::Settings },
        }
    }

    /// The same profile with what the model's server says of its window.
    pub(crate) fn served(self, window: u32) -> Self {
        Self { context_window: Some(window), window_from: KnownFrom::Server, ..self }
    }
}

/// The size that a name gives, in millions of parameters: `1.5b`, `135m`; the largest where there
/// are several.
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
