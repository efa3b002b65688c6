//! What others may put into an agent's inbox. Only the agent itself writes its transcript.

use serde::{Deserialize, Serialize};

use crate::{
    Action, AgentId, Answer, Author, CallId, InterventionId, PostId, QuestionId, TaskId, TaskResult, Terms,
    Time, WakeupId,
};

/// One entry of an agent's inbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Post {
    /// Its id.
    pub id: PostId,
    /// Whose inbox.
    pub agent: AgentId,
    /// When it was posted.
    pub at: Time,
    /// The wake-up written with it; consumed when the run that read the post stops.
    pub wakeup: WakeupId,
    /// What it says.
    pub body: PostBody,
}

/// What a post says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PostBody {
    /// Somebody writes; with a task, the result is owed to its assigner.
    Message {
        /// Who.
        from: Author,
        /// What.
        text: String,
        /// The task it assigns.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        task: Option<TaskId>,
        /// Whether it waits for the next run when one is under way.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        queued: bool,
        /// What holds for the run that answers it, which is then a run of its own.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        terms: Option<Terms>,
    },
    /// A person intervenes.
    Intervention {
        /// The record of it.
        id: InterventionId,
        /// What the agent shall do.
        action: Action,
        /// The words that came with it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        text: Option<String>,
        /// The message whose answer it is about, where it is about no other.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        of: Option<PostId>,
    },
    /// A person answered a question.
    Answer {
        /// Which question.
        question: QuestionId,
        /// The call that waits for it.
        call: CallId,
        /// The answer.
        answer: Answer,
    },
    /// Another agent ended a task of this one.
    Done {
        /// Which task.
        task: TaskId,
        /// The call that assigned it.
        call: CallId,
        /// Who worked on it.
        from: AgentId,
        /// The kind of who worked on it.
        kind: String,
        /// What came of it.
        result: TaskResult,
    },
}

impl PostBody {
    /// The call that this post closes, if one is still open for it.
    #[must_use]
    pub fn call(&self) -> Option<CallId> {
        match self {
            Self::Message { .. } | Self::Intervention { .. } => None,
            Self::Answer { call, .. } | Self::Done { call, .. } => Some(*call),
        }
    }
}
