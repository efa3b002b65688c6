//! The key of a step within its run.

use std::{convert::Infallible, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::CallId;

/// The key of a step: stable, so that the engine finds the step again after a crash. Written as
/// text, such as `model/2` or `tool/<call id>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StepKey {
    /// A model call, by its number in the run, from 1.
    Model(u32),
    /// A tool call.
    Tool(CallId),
    /// Counts how many times in a row a process ended while the run was at work.
    Restart,
    /// Records that the process that worked on the run shut down in order.
    ProcessEnded,
    /// A step of a program, by the program's own name for it.
    Named(String),
}

const MODEL: &str = "model/";
const TOOL: &str = "tool/";
const RESTART: &str = "restart";
const PROCESS_ENDED: &str = "process ended";

impl StepKey {
    /// The tool call whose step it is, if any.
    #[must_use]
    pub const fn call(&self) -> Option<CallId> {
        match self {
            Self::Tool(call) => Some(*call),
            _ => None,
        }
    }

    /// Whether the step belongs to the work of the run rather than to the processes that worked on
    /// it.
    #[must_use]
    pub const fn is_work(&self) -> bool {
        !matches!(self, Self::Restart | Self::ProcessEnded)
    }
}

impl fmt::Display for StepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(number) => write!(f, "{MODEL}{number}"),
            Self::Tool(call) => write!(f, "{TOOL}{call}"),
            Self::Restart => f.write_str(RESTART),
            Self::ProcessEnded => f.write_str(PROCESS_ENDED),
            Self::Named(name) => f.write_str(name),
        }
    }
}

impl From<&str> for StepKey {
    fn from(text: &str) -> Self {
        let model = || text.strip_prefix(MODEL)?.parse().ok().map(Self::Model);
        let tool = || text.strip_prefix(TOOL)?.parse().ok().map(Self::Tool);
        let known = match text {
            RESTART => Some(Self::Restart),
            PROCESS_ENDED => Some(Self::ProcessEnded),
            _ => model().or_else(tool),
        };
        // A text that is not in canonical form is another key.
        known.filter(|key| key.to_string() == text).unwrap_or_else(|| Self::Named(text.to_owned()))
    }
}

impl FromStr for StepKey {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::from(text))
    }
}

impl Serialize for StepKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StepKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::from(text.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_key_parses_back_from_its_text() {
        let keys = [
            StepKey::Model(1),
            StepKey::Model(u32::MAX),
            StepKey::Tool(CallId::new()),
            StepKey::Restart,
            StepKey::ProcessEnded,
            StepKey::Named("clarify".into()),
        ];
        for key in keys {
            assert_eq!(StepKey::from(key.to_string().as_str()), key);
        }
    }

    #[test]
    fn any_other_text_parses_as_the_key_of_a_named_step() {
        let shouted = format!("tool/{}", CallId::new()).to_uppercase().replace("TOOL/CALL_", "tool/call_");
        for text in ["model/", "model/01", "model/+1", "tool/x", "tool/", &shouted, "", "restart/1"] {
            let key = StepKey::from(text);
            assert_eq!(key, StepKey::Named(text.into()));
            assert_eq!(key.to_string(), text);
        }
    }
}
