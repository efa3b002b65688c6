//! Notices: what the engine itself writes into a transcript.

use serde::{Deserialize, Serialize};

use crate::{Failed, StopReason};

/// A remark of the engine, stored as level, code, text and, where there are any, reason, cause and attempts.
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
    /// The attempts at a model call for which the run ended, if it ended for that.
    pub failed: Option<Failed>,
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
    UneditedResult,
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
        Self { code, text: text.into(), cause: None, failed: None }
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
    /// The stable code for programs, such as `last_call` or `run_ended`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::LastCall(_) => "last_call",
            Self::Ended(_) => "run_ended",
            Self::InputAccepted => "input_accepted",
            Self::OutputRejected => "output_rejected",
            Self::AskedToSend => "asked_to_send",
            Self::NothingSent => "nothing_sent",
            Self::Progress => "progress",
            Self::UneditedResult => "unedited_result",
            Self::OverBudget => "over_budget",
            Self::Other { code, .. } => code,
        }
    }

    /// The limit that leaves the run its last call, or why the run ended.
    #[must_use]
    pub const fn reason(&self) -> Option<StopReason> {
        match self {
            Self::LastCall(reason) | Self::Ended(reason) => Some(*reason),
            _ => None,
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
            | Self::UneditedResult => Level::Info,
            Self::NothingSent | Self::OverBudget => Level::Warning,
            Self::Ended(_) => Level::Error,
            Self::Other { level, .. } => *level,
        }
    }

    /// The code by its stored form.
    fn read(level: Level, code: String, reason: Option<&str>) -> Self {
        let reason = reason.and_then(|reason| reason.parse().ok());
        let known = match (code.as_str(), reason) {
            ("last_call", Some(reason)) => Some(Self::LastCall(reason)),
            ("run_ended", Some(reason)) => Some(Self::Ended(reason)),
            ("input_accepted", None) => Some(Self::InputAccepted),
            ("output_rejected", None) => Some(Self::OutputRejected),
            ("asked_to_send", None) => Some(Self::AskedToSend),
            ("nothing_sent", None) => Some(Self::NothingSent),
            ("over_budget", None) => Some(Self::OverBudget),
            ("progress", None) => Some(Self::Progress),
            ("unedited_result", None) => Some(Self::UneditedResult),
            _ => None,
        };
        known.filter(|known| known.level() == level).unwrap_or(Self::Other { level, code })
    }
}

/// The stored form of a notice.
#[derive(Serialize, Deserialize)]
struct Stored {
    level: Level,
    code: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    reason: Option<String>,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    cause: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    failed: Option<Failed>,
}

impl From<Stored> for Notice {
    fn from(Stored { level, code, reason, text, cause, failed }: Stored) -> Self {
        Self { code: NoticeCode::read(level, code, reason.as_deref()), text, cause, failed }
    }
}

impl From<Notice> for Stored {
    fn from(Notice { code, text, cause, failed }: Notice) -> Self {
        let reason = code.reason().map(|reason| reason.as_str().to_owned());
        Self { level: code.level(), code: code.as_str().to_owned(), reason, text, cause, failed }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::FailureClass;

    #[test]
    fn every_notice_code_round_trips_through_json_even_an_unknown_one() {
        let limits = [StopReason::MaxSteps, StopReason::Stalled].map(NoticeCode::LastCall);
        let ended = [StopReason::MaxSteps, StopReason::ModelFailed].map(NoticeCode::Ended);
        let others = [(Level::Warning, "progress"), (Level::Info, "run_ended"), (Level::Error, "new")];
        let others = others.map(|(level, code)| NoticeCode::Other { level, code: code.to_owned() });
        let own = [
            NoticeCode::InputAccepted,
            NoticeCode::OutputRejected,
            NoticeCode::AskedToSend,
            NoticeCode::Progress,
            NoticeCode::NothingSent,
            NoticeCode::UneditedResult,
            NoticeCode::OverBudget,
        ];
        for code in limits.into_iter().chain(ended).chain(others).chain(own) {
            let failed = Some(Failed { class: FailureClass::Network, attempts: 4 });
            let notice = Notice { cause: Some("c".to_owned()), failed, ..Notice::new(code, "t") };
            let stored = serde_json::to_string(&notice).unwrap();
            assert_eq!(serde_json::from_str::<Notice>(&stored).unwrap(), notice, "{stored}");
        }
    }

    #[test]
    fn what_a_notice_is_about_follows_from_its_code_alone() {
        let stored = |code| serde_json::to_value(Notice::new(code, "t")).unwrap();
        let reason = StopReason::MaxSteps;
        assert_eq!(
            stored(NoticeCode::LastCall(reason)),
            json!({"level": "info", "code": "last_call", "reason": "max_steps", "text": "t"})
        );
        assert_eq!(
            stored(NoticeCode::Ended(reason)),
            json!({"level": "error", "code": "run_ended", "reason": "max_steps", "text": "t"})
        );
        let sent =
            [NoticeCode::AskedToSend, NoticeCode::NothingSent].map(|code| stored(code)["code"].clone());
        assert_eq!(sent, ["asked_to_send", "nothing_sent"]);
    }
}
