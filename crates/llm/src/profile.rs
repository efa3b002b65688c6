//! What is known about a model before it is asked: a table, and a guess from its name's size.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::Provider;

/// What is known about a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// Whether it uses several tools in a row reliably; otherwise tools are offered as a schema of
    /// next actions.
    pub native_tools: bool,
    /// How many tokens of prompt and answer it holds.
    pub context_window: u32,
    /// The most tokens of one answer, where that is known.
    pub max_output: Option<u32>,
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
    /// The most tokens of one answer.
    pub max_output: Option<u32>,
}

/// Parts of names with the context window and the most output, in tokens; the first that occurs
/// counts, so the special stand before the general.
const KNOWN: &[(&str, u32, Option<u32>)] = &[
    ("claude-3", 200_000, Some(8_192)),
    ("claude-opus-4-6", 1_000_000, Some(64_000)),
    ("claude-opus-4.6", 1_000_000, Some(64_000)),
    ("claude-opus-4-7", 1_000_000, Some(64_000)),
    ("claude-opus-4.7", 1_000_000, Some(64_000)),
    ("claude-opus-4-8", 1_000_000, Some(128_000)),
    ("claude-opus-4.8", 1_000_000, Some(128_000)),
    ("claude-sonnet-4-6", 1_000_000, Some(64_000)),
    ("claude-sonnet-4.6", 1_000_000, Some(64_000)),
    ("claude-opus-4", 200_000, Some(32_000)),
    ("claude-sonnet-4", 200_000, Some(64_000)),
    ("claude-haiku-4", 200_000, Some(64_000)),
    ("claude-", 1_000_000, Some(64_000)),
    ("gpt-oss", 128_000, None),
    ("gpt-4o", 128_000, Some(16_384)),
    ("gpt-4-turbo", 128_000, Some(4_096)),
    ("gpt-4.1", 1_000_000, Some(32_768)),
    ("gpt-4", 8_000, None),
    ("gpt-3.5", 16_000, Some(4_096)),
    ("gpt-5.4", 400_000, Some(128_000)),
    ("gpt-5.5", 1_000_000, Some(128_000)),
    ("gpt-5.6", 1_000_000, Some(128_000)),
    ("gpt-5", 400_000, Some(128_000)),
    ("gpt-6", 1_000_000, Some(128_000)),
    ("gemini-", 1_000_000, None),
];

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
        let local = matches!(Provider::split(model), Ok((Provider::Ollama | Provider::Compatible, _)));
        // Local servers cut what exceeds their window without a word, and it is small unless set.
        let unknown = match (weak, local) {
            (true, _) => 4_096,
            (false, true) => 8_192,
            (false, false) => 128_000,
        };
        let known = KNOWN.iter().find(|(part, ..)| !local && name.contains(part));
        let (context_window, max_output) =
            known.map_or((unknown, None), |(_, window, output)| (*window, *output));
        Self { native_tools: !weak, context_window, max_output }
    }

    /// The same profile where the operator knows nothing better.
    #[must_use]
    pub fn with(self, settings: &ProfileSettings) -> Self {
        Self {
            native_tools: settings.native_tools.unwrap_or(self.native_tools),
            context_window: settings.context_window.unwrap_or(self.context_window),
            max_output: settings.max_output.or(self.max_output),
        }
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
