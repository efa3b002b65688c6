//! What others may put into an agent's inbox. Only the agent itself writes its transcript.

use serde::{Deserialize, Serialize};

use crate::{
    Action, AgentId, Answer, Author, CallId, InterventionId, PostId, QuestionId, RunOptions, TaskId,
    TaskResult, Time, WakeupId,
};

/// One entry of an agent's inbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Post {
    /// Its id.
    pub id: PostId,
    /// The agent whose inbox it is.
    pub agent: AgentId,
    /// When it was posted.
    pub at: Time,
    /// The wake-up written with it; consumed when the run that read the post stops.
    pub wakeup: WakeupId,
    /// Its content.
    pub body: PostBody,
}

impl Post {
    /// Creates a post to an agent, with the id of the wake-up that is written with it.
    #[must_use]
    pub fn new(agent: AgentId, at: Time, body: PostBody) -> Self {
        Self { id: PostId::new(), agent, at, wakeup: WakeupId::new(), body }
    }
}

/// The content of a post.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PostBody {
    /// A message; if it assigns a task, the agent owes the assigner a result.
    Message {
        /// Who wrote it.
        from: Author,
        /// The text.
        text: String,
        /// The task it assigns.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        task: Option<TaskId>,
        /// Whether it waits for the next run if one is under way.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        queued: bool,
        /// The options of the run that answers it, which then answers no other message.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        options: Option<RunOptions>,
    },
    /// A person intervenes.
    Intervention {
        /// The id of its record.
        id: InterventionId,
        /// What the agent must do.
        action: Action,
        /// The text that came with it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        text: Option<String>,
        /// The message whose answer it concerns, if it concerns one message only.
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
    /// Another agent ended a task that this one assigned.
    Done {
        /// Which task.
        task: TaskId,
        /// The call that assigned it.
        call: CallId,
        /// The agent that worked on it.
        from: AgentId,
        /// The kind of that agent.
        kind: String,
        /// Its result.
        result: TaskResult,
    },
}

impl PostBody {
    /// Returns the call that this post closes, if one is still open for it.
    #[must_use]
    pub fn call(&self) -> Option<CallId> {
        match self {
            Self::Message { .. } | Self::Intervention { .. } => None,
            Self::Answer { call, .. } | Self::Done { call, .. } => Some(*call),
        }
    }
}
