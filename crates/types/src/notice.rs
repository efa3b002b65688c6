//! Notices: what the engine itself writes into a transcript.

use serde::{Deserialize, Serialize};

use crate::StopReason;

/// A remark of the engine, stored as level, code, text and cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Notice {
    /// What it is about. Decides how serious it is.
    pub code: NoticeCode,
    /// A sentence for people: the cause, and what can be done.
    pub text: String,
    /// The cause in the original text of the failed component, such as a provider, if people read
    /// another text.
    pub cause: Option<String>,
}

/// What a notice is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoticeCode {
    /// A limit of the run leaves it one last model call, to answer with what it has.
    LastCall(StopReason),
    /// The run ended early, for this reason.
    Ended(StopReason),
    /// The input guardrails accepted the messages before it.
    InputAccepted,
    /// A guardrail refused the answer before it, or could not be asked about it.
    OutputRejected,
    /// The model is asked to send what it wrote: only sent messages are answers.
    AskedToSend,
    /// The run ended without having sent anything.
    NothingSent,
    /// What a program does now, for subscribers.
    Progress,
    /// The text of a result is shown as it came, since no model put it into other words.
    ShownAsItIs,
    /// A budget has no room for the next model call, for which the run waits.
    OverBudget,
    /// A notice of another version of this program.
    Other {
        /// How serious it is.
        level: Level,
        /// Its code.
        code: String,
    },
}

/// How serious a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Worth knowing.
    Info,
    /// The run ended early, or something was repaired.
    Warning,
    /// Something failed.
    Error,
}

impl Notice {
    /// Creates a notice that needs no separate cause.
    #[must_use]
    pub fn new(code: NoticeCode, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), cause: None }
    }

    /// How serious it is.
    #[must_use]
    pub fn level(&self) -> Level {
        self.code.level()
    }

    /// Returns the limit that leaves the run one last model call, if this notice announces that.
    #[must_use]
    pub fn last_call(&self) -> Option<StopReason> {
        match self.code {
            NoticeCode::LastCall(limit) => Some(limit),
            _ => None,
        }
    }
}

impl NoticeCode {
    /// The stable code for programs, such as `model_failed` or `max_steps`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::LastCall(reason) | Self::Ended(reason) => reason.as_str(),
            Self::InputAccepted => "input_accepted",
            Self::OutputRejected => "output_rejected",
            Self::AskedToSend | Self::NothingSent => "nothing_sent",
            Self::Progress => "progress",
            Self::ShownAsItIs => "told_as_it_is",
            Self::OverBudget => "over_budget",
            Self::Other { code, .. } => code,
        }
    }

    /// How serious a notice of this code is.
    #[must_use]
    pub const fn level(&self) -> Level {
        match self {
            Self::LastCall(_)
            | Self::InputAccepted
            | Self::OutputRejected
            | Self::AskedToSend
            | Self::Progress
            | Self::ShownAsItIs => Level::Info,
            Self::NothingSent | Self::OverBudget => Level::Warning,
            Self::Ended(_) => Level::Error,
            Self::Other { level, .. } => *level,
        }
    }

    /// The code by its stored form; the same word at two levels is two codes.
    fn read(level: Level, code: String) -> Self {
        match (level, code.as_str(), code.parse::<StopReason>()) {
            (Level::Info, _, Ok(reason)) if reason.is_limit() => Self::LastCall(reason),
            (Level::Error, _, Ok(reason)) => Self::Ended(reason),
            (Level::Info, "input_accepted", _) => Self::InputAccepted,
            (Level::Info, "output_rejected", _) => Self::OutputRejected,
            (Level::Info, "nothing_sent", _) => Self::AskedToSend,
            (Level::Warning, "nothing_sent", _) => Self::NothingSent,
            (Level::Warning, "over_budget", _) => Self::OverBudget,
            (Level::Info, "progress", _) => Self::Progress,
            (Level::Info, "told_as_it_is", _) => Self::ShownAsItIs,
            _ => Self::Other { level, code },
        }
    }
}

/// The stored form of a notice.
#[derive(Serialize, Deserialize)]
struct Stored {
    level: Level,
    code: String,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    cause: Option<String>,
}

impl From<Stored> for Notice {
    fn from(Stored { level, code, text, cause }: Stored) -> Self {
        Self { code: NoticeCode::read(level, code), text, cause }
    }
}

impl From<Notice> for Stored {
    fn from(Notice { code, text, cause }: Notice) -> Self {
        Self { level: code.level(), code: code.as_str().to_owned(), text, cause }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notice_code_round_trips_through_json_even_an_unknown_one() {
        let limits = [StopReason::MaxSteps, StopReason::Stalled].map(NoticeCode::LastCall);
        let ended = [StopReason::MaxSteps, StopReason::ModelFailed].map(NoticeCode::Ended);
        let others = [(Level::Warning, "max_steps"), (Level::Info, "model_failed"), (Level::Error, "new")];
        let others = others.map(|(level, code)| NoticeCode::Other { level, code: code.to_owned() });
        let own = [
            NoticeCode::InputAccepted,
            NoticeCode::OutputRejected,
            NoticeCode::AskedToSend,
            NoticeCode::Progress,
            NoticeCode::NothingSent,
            NoticeCode::ShownAsItIs,
        ];
        for code in limits.into_iter().chain(ended).chain(others).chain(own) {
            let notice = Notice { cause: Some("c".to_owned()), ..Notice::new(code, "t") };
            let stored = serde_json::to_string(&notice).unwrap();
            assert_eq!(serde_json::from_str::<Notice>(&stored).unwrap(), notice, "{stored}");
        }
    }
}
