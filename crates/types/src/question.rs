//! A question that only a person can answer. It waits on disk for as long as it takes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AgentId, CallId, Columns, EntityKind, EventBody, GrantSubject, NewEvent, Owner, QuestionId, Record,
    RunId, TaskId, Time, status::words,
};

/// A question that only a person can answer, asked by an agent at any depth of the tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Its id.
    pub id: QuestionId,
    /// Who may answer: the owner of the tree.
    pub owner: Owner,
    /// The top of the tree, where its user reads the question.
    pub root: AgentId,
    /// The agent that asks.
    pub agent: AgentId,
    /// The kind of that agent.
    pub kind: String,
    /// The run that waits.
    pub run: RunId,
    /// The call that waits.
    pub call: CallId,
    /// The task the asking agent works on, so that a client can show it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub task: Option<TaskId>,
    /// What it is about, which determines the possible answers.
    #[serde(default)]
    pub about: About,
    /// The text of the question.
    pub text: String,
    /// Suggested answers; any other text is accepted too.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub options: Vec<String>,
    /// The call in question; none if the agent only wants information.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub proposal: Option<Box<Proposal>>,
    /// When it expires; never, unless the kind sets a time limit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub due: Option<Time>,
    /// What the engine does when it expires; none for a question for information, which then stays
    /// unanswered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub otherwise: Option<Verdict>,
    /// Its status.
    pub status: QuestionStatus,
    /// The answer that closed it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answer: Option<Answer>,
    /// The agent whose text is the answer; none if a person answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answered_by: Option<AgentId>,
    /// When it was asked.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

/// A call about which a person is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// The JSON schema of the arguments, for a person who wants to change them.
    pub parameters: Value,
    /// SHA-256 of tool and arguments, in hex: an answer is valid for these and no others.
    pub digest: String,
    /// The version of the kind when the question was asked: an answer is valid for this version and
    /// no other.
    pub kind_version: String,
    /// What holds the call back; none for a call in doubt.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub held_by: Option<GrantSubject>,
}

words! {
    /// What a question is about.
    #[derive(Default)]
    About, "thing to ask about" {
        /// The agent wants information.
        #[default]
        Information => "information",
        /// A call waits for approval.
        Approval => "approval",
        /// A call was interrupted and may have taken effect.
        Doubt => "doubt",
    }
}

words! {
    /// What a person decides about a call in question, and what the engine does if the question
    /// expires.
    Verdict, "verdict" {
        /// The engine makes the call.
        Approve => "approve",
        /// The engine makes the call, and the rule that held it back no longer asks this agent
        /// about this tool.
        ApproveAlways => "approve_always",
        /// The engine does not make the call.
        Reject => "reject",
        /// The engine makes the call again.
        Retry => "retry",
        /// The agent continues without the call.
        GiveUp => "give_up",
    }
}

words! {
    /// The status of a question.
    QuestionStatus, "question status" {
        /// No person has answered.
        Open => "open",
        /// A person has answered.
        Answered => "answered",
        /// The person declined to answer.
        Declined => "declined",
        /// No person answered in time, or the asking agent has ended.
        Expired => "expired",
    }
}

/// The outcome of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The person's text; for a call in question, its result.
    Text(String),
    /// The person declined to answer.
    Declined,
    /// Make the call.
    Approve {
        /// The arguments to use instead of the agent's own.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        arguments: Option<Value>,
        /// Do not ask this agent again about calls of this tool that the rule holds back.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        always: bool,
        /// The digest of what the person saw, if the engine shall verify it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        digest: Option<String>,
    },
    /// Do not make the call.
    Reject {
        /// Why not, for the agent.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        reason: Option<String>,
    },
    /// Make the call again, whatever may have happened.
    Retry,
    /// Continue without the call.
    GiveUp,
    /// A grant given since covers the call, so that no person is asked. Only the engine sets it.
    Granted,
    /// No person answered in time. Only the engine sets it.
    Expired,
}

impl About {
    /// The verdicts that a person may give on the call in question.
    #[must_use]
    pub const fn verdicts(self) -> &'static [Verdict] {
        match self {
            Self::Information => &[],
            Self::Approval => &[Verdict::Approve, Verdict::ApproveAlways, Verdict::Reject],
            Self::Doubt => &[Verdict::Retry, Verdict::GiveUp],
        }
    }

    /// The same verdicts as texts to choose from.
    #[must_use]
    pub fn options(self) -> Vec<String> {
        self.verdicts().iter().map(|verdict| verdict.in_words()).collect()
    }
}

impl Verdict {
    /// The verdict as a person writes it.
    #[must_use]
    pub fn in_words(self) -> String {
        self.as_str().replace('_', " ")
    }
}

impl Answer {
    /// The verdict that it gives on the call in question.
    #[must_use]
    pub const fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Approve { always: false, .. } => Some(Verdict::Approve),
            Self::Approve { always: true, .. } | Self::Granted => Some(Verdict::ApproveAlways),
            Self::Reject { .. } => Some(Verdict::Reject),
            Self::Retry => Some(Verdict::Retry),
            Self::GiveUp => Some(Verdict::GiveUp),
            Self::Text(_) | Self::Declined | Self::Expired => None,
        }
    }

    /// Returns the answer as people read it; for an expired question, what the engine does `otherwise`.
    #[must_use]
    pub fn in_words(&self, otherwise: Option<Verdict>) -> Option<String> {
        let verdict = self.verdict().map(Verdict::in_words);
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Approve { arguments: Some(arguments), .. } => {
                verdict.map(|verdict| format!("{verdict} with {arguments}"))
            }
            Self::Reject { reason: Some(reason) } => verdict.map(|verdict| format!("{verdict}: {reason}")),
            Self::Expired => otherwise.map(Verdict::in_words),
            _ => verdict,
        }
    }
}

/// The verdict without any further data.
impl From<Verdict> for Answer {
    fn from(verdict: Verdict) -> Self {
        let approved = |always| Self::Approve { arguments: None, always, digest: None };
        match verdict {
            Verdict::Approve => approved(false),
            Verdict::ApproveAlways => approved(true),
            Verdict::Reject => Self::Reject { reason: None },
            Verdict::Retry => Self::Retry,
            Verdict::GiveUp => Self::GiveUp,
        }
    }
}

impl Question {
    /// Returns the answer as people read it; for an expired question, what the engine did instead.
    #[must_use]
    pub fn answer_in_words(&self) -> Option<String> {
        self.answer.as_ref().and_then(|answer| answer.in_words(self.otherwise))
    }
}

impl Record for Question {
    const KIND: EntityKind = EntityKind::QUESTION;
    type Status = QuestionStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.id.to_string(),
            owner: self.owner.clone(),
            root: Some(self.root),
            parent: Some(self.agent.into()),
            status: self.status.as_str(),
            created: self.created,
            updated: self.updated,
            name: None,
            text: None,
        }
    }

    fn event(&self) -> serde_json::Result<Option<NewEvent>> {
        Ok(Some(NewEvent {
            root: self.root,
            agent: self.agent,
            body: EventBody::Question { question: Box::new(self.clone()) },
        }))
    }
}
