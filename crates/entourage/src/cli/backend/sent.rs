//! A conversation as a server sends it.

use entourage_engine::{Entry, Role};
use entourage_types::{AgentId, PostId, QuestionId, TaskId, Time};
use serde::Deserialize;

/// One visible entry.
#[derive(Deserialize)]
pub(super) struct Sent {
    role: String,
    text: String,
    at: Time,
    item_seq: Option<u64>,
    post: Option<PostId>,
    question: Option<QuestionId>,
    task: Option<TaskId>,
    agent: Option<AgentId>,
    retryable: Option<bool>,
}

impl From<Sent> for Entry {
    fn from(sent: Sent) -> Self {
        let Sent { role, text, at, item_seq, post, question, task, agent, retryable } = sent;
        let role = match role.as_str() {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "question" => Role::Question,
            _ => Role::Notice,
        };
        Self { role, text, at, item_seq, post, question, task, agent, retryable }
    }
}
