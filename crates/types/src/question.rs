//! Something only a person can answer. It waits on disk for as long as it takes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AgentId, CallId, Entity, EntityKind, Owner, QuestionId, Record, RunId, TaskId, Time, status::words,
};

/// Something only a person can answer, asked by an agent at any depth of the tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Its id.
    pub id: QuestionId,
    /// Who may answer: the owner of the tree.
    pub owner: Owner,
    /// The top of the tree, where its user is asked.
    pub root: AgentId,
    /// Who asks.
    pub agent: AgentId,
    /// The kind of who asks.
    pub kind: String,
    /// The run that waits.
    pub run: RunId,
    /// The call that waits.
    pub call: CallId,
    /// The task the asking agent works on, so that a client can point at it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub task: Option<TaskId>,
    /// What it is about, and so how it can be answered.
    #[serde(default)]
    pub about: About,
    /// The question.
    pub text: String,
    /// Suggested answers; any other text is fine too.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub options: Vec<String>,
    /// The call in question, unless the agent only wants to know something.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub proposal: Option<Box<Proposal>>,
    /// When it expires; never, unless the kind sets a time limit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub due: Option<Time>,
    /// What is done when it expires; a question for information is then just not answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub otherwise: Option<Verdict>,
    /// Where it stands.
    pub status: QuestionStatus,
    /// What was answered, in words; of an expired one what was done instead.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answer: Option<String>,
    /// The agent whose words the answer is; none where a person answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answered_by: Option<AgentId>,
    /// When it was asked.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

/// A call that somebody is asked about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// The JSON schema of the arguments, for whoever wants to change them.
    pub parameters: Value,
    /// SHA-256 of tool and arguments, in hex: an answer holds for these and no others.
    pub digest: String,
    /// The version of the kind under which it was asked: an answer holds for this and no other.
    pub kind_version: String,
    /// The rule that holds the call back, in its words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rule: Option<String>,
}

words! {
    /// What a question is about.
    #[derive(Default)]
    About, "thing to ask about" {
        /// The agent wants to know something.
        #[default]
        Information => "information",
        /// A call waits for leave.
        Approval => "approval",
        /// A call was interrupted and may have taken effect.
        Doubt => "doubt",
    }
}

words! {
    /// What a person says to a call in question, and what is done when nobody says anything.
    Verdict, "verdict" {
        /// It is made.
        Approve => "approve",
        /// It is made, and the rule that held it back does not ask this agent about this tool again.
        ApproveAlways => "approve_always",
        /// It is not made.
        Reject => "reject",
        /// It is called again.
        Retry => "retry",
        /// The agent goes on without it.
        GiveUp => "give_up",
    }
}

words! {
    /// Where a question stands.
    QuestionStatus, "question status" {
        /// Nobody has answered.
        Open => "open",
        /// Answered.
        Answered => "answered",
        /// The person would rather not say.
        Declined => "declined",
        /// Nobody answered in time, or the asking agent is gone.
        Expired => "expired",
    }
}

/// What came back for a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The person's words; for a call in question, its result.
    Text(String),
    /// The person would rather not say.
    Declined,
    /// Make the call.
    Approve {
        /// With these arguments instead of the agent's own.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        arguments: Option<Value>,
        /// Do not ask this agent again about what the rule holds back of this tool.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        always: bool,
        /// The digest of what the person saw, when it shall be checked.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        digest: Option<String>,
    },
    /// Do not make the call.
    Reject {
        /// Why not, for the agent.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        reason: Option<String>,
    },
    /// Call it again, whatever may have happened.
    Retry,
    /// Go on without the call.
    GiveUp,
    /// A grant that came since covers the call: nobody is asked any more. Only the engine says so.
    Granted,
    /// Nobody answered in time. Only the engine says so.
    Expired,
}

impl About {
    /// What a person may say to the call in question.
    #[must_use]
    pub const fn verdicts(self) -> &'static [Verdict] {
        match self {
            Self::Information => &[],
            Self::Approval => &[Verdict::Approve, Verdict::ApproveAlways, Verdict::Reject],
            Self::Doubt => &[Verdict::Retry, Verdict::GiveUp],
        }
    }

    /// The same in words, to choose from.
    #[must_use]
    pub fn options(self) -> Vec<String> {
        self.verdicts().iter().map(|verdict| verdict.in_words()).collect()
    }
}

impl Verdict {
    /// The verdict as a person says it.
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

    /// The answer as people read it, and as a question keeps it; of one that never came what is done `otherwise`.
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

/// The verdict and nothing besides.
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

impl Record for Question {
    const KIND: EntityKind = EntityKind::Question;

    fn entity(&self) -> serde_json::Result<Entity> {
        Ok(Entity {
            kind: Self::KIND,
            id: self.id.to_string(),
            owner: self.owner.clone(),
            root: Some(self.root),
            parent: Some(self.agent),
            status: self.status.as_str().to_owned(),
            created: self.created,
            updated: self.updated,
            text: None,
            body: serde_json::to_string(self)?,
        })
    }
}
