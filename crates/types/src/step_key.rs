//! The key of a step within its run.

use std::{convert::Infallible, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::CallId;

/// The key of a step: stable, so that the engine finds the step again after a crash. Written as
/// text, such as `model/2`, `tool/<call id>` or `decision/<name>`. The names are the program's own, each
/// used once in a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StepKey {
    /// A model call, by its number in the run, from 1.
    Model(u32),
    /// A tool call.
    Tool(CallId),
    /// A decision of the model.
    Decision(String),
    /// The turn in which the program itself makes calls, or gives work to new agents.
    Calls(String),
    /// A text of the program: for the user, or for subscribers.
    Said(String),
    /// The last text of a program, which gives it no name.
    LastText,
    /// Why a program does without the model's text.
    Remark,
    /// The results of the work that a program gave to new agents.
    Join(String),
    /// The instruction with which a phase of the program began anew.
    Replaced(String),
    /// Counts how many times in a row a process ended while the run was at work.
    Restart,
    /// Records that the process that worked on the run shut down in order.
    ProcessEnded,
    /// A step of another version of this program.
    Other(String),
}

const MODEL: &str = "model/";
const TOOL: &str = "tool/";
const DECISION: &str = "decision/";
const CALLS: &str = "calls/";
const SAID: &str = "said/";
const JOIN: &str = "join/";
const REPLACED: &str = "replaced/";
const LAST_TEXT: &str = "last text";
const REMARK: &str = "remark";
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

    /// The name that a program gave the step, if it did.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Decision(name)
            | Self::Calls(name)
            | Self::Said(name)
            | Self::Join(name)
            | Self::Replaced(name)
            | Self::Other(name) => Some(name),
            Self::Model(_)
            | Self::Tool(_)
            | Self::LastText
            | Self::Remark
            | Self::Restart
            | Self::ProcessEnded => None,
        }
    }

    /// Whether a program takes the step itself, one after the other: its order replays the program.
    #[must_use]
    pub const fn is_of_program(&self) -> bool {
        match self {
            Self::Model(_)
            | Self::Decision(_)
            | Self::Calls(_)
            | Self::Said(_)
            | Self::LastText
            | Self::Remark
            | Self::Join(_)
            | Self::Replaced(_) => true,
            Self::Tool(_) | Self::Restart | Self::ProcessEnded | Self::Other(_) => false,
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
            Self::LastText => f.write_str(LAST_TEXT),
            Self::Remark => f.write_str(REMARK),
            Self::Restart => f.write_str(RESTART),
            Self::ProcessEnded => f.write_str(PROCESS_ENDED),
            Self::Decision(name) => write!(f, "{DECISION}{name}"),
            Self::Calls(name) => write!(f, "{CALLS}{name}"),
            Self::Said(name) => write!(f, "{SAID}{name}"),
            Self::Join(name) => write!(f, "{JOIN}{name}"),
            Self::Replaced(name) => write!(f, "{REPLACED}{name}"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

impl From<&str> for StepKey {
    fn from(text: &str) -> Self {
        let model = || text.strip_prefix(MODEL)?.parse().ok().map(Self::Model);
        let tool = || text.strip_prefix(TOOL)?.parse().ok().map(Self::Tool);
        let named = |prefix: &str, key: fn(String) -> Self| {
            text.strip_prefix(prefix).map(|name| key(name.to_owned()))
        };
        let known = match text {
            LAST_TEXT => Some(Self::LastText),
            REMARK => Some(Self::Remark),
            RESTART => Some(Self::Restart),
            PROCESS_ENDED => Some(Self::ProcessEnded),
            _ => model()
                .or_else(tool)
                .or_else(|| named(DECISION, Self::Decision))
                .or_else(|| named(CALLS, Self::Calls))
                .or_else(|| named(SAID, Self::Said))
                .or_else(|| named(JOIN, Self::Join))
                .or_else(|| named(REPLACED, Self::Replaced)),
        };
        // A text that is not in canonical form is another key.
        known.filter(|key| key.to_string() == text).unwrap_or_else(|| Self::Other(text.to_owned()))
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
            StepKey::LastText,
            StepKey::Said("last text".into()),
            StepKey::Remark,
            StepKey::Restart,
            StepKey::ProcessEnded,
            StepKey::Decision("clarify".into()),
            StepKey::Calls("ask/2".into()),
            StepKey::Said("plan".into()),
            StepKey::Join(String::new()),
            StepKey::Replaced("explore".into()),
            StepKey::Other("clarify".into()),
        ];
        for key in keys {
            assert_eq!(StepKey::from(key.to_string().as_str()), key);
        }
    }

    #[test]
    fn any_other_text_parses_as_another_key() {
        let shouted = format!("tool/{}", CallId::new()).to_uppercase().replace("TOOL/CALL_", "tool/call_");
        for text in ["model/", "model/01", "model/+1", "tool/x", "tool/", &shouted, "", "restart/1"] {
            let key = StepKey::from(text);
            assert_eq!(key, StepKey::Other(text.into()));
            assert_eq!(key.to_string(), text);
        }
    }
}
