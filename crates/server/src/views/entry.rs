//! What a person sees of a conversation, as the API shows it.

use entourage_engine::{Entry, Posted, Role};
use entourage_types::{AgentId, PostId, QuestionId, TaskId, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;

/// One visible entry of a conversation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Entry)]
pub(crate) struct EntryView {
    /// The author.
    role: RoleView,
    /// The text.
    text: String,
    /// Its time.
    #[schema(value_type = schema::Time)]
    at: Time,
    /// The number of its item, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    item_seq: Option<u64>,
    /// The post of a person's message; there is no item until the agent reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::PostId>)]
    post: Option<PostId>,
    /// The question, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::QuestionId>)]
    question: Option<QuestionId>,
    /// The task that it is about: the one that the question belongs to, or whose result it reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::TaskId>)]
    task: Option<TaskId>,
    /// The agent that asks, or whose result it reports, if that is not the agent of this conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::AgentId>)]
    agent: Option<AgentId>,
    /// With a failure: `false`, because the server does not retry by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    retryable: Option<bool>,
}

/// The author.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Role)]
#[serde(rename_all = "snake_case")]
enum RoleView {
    /// The person.
    User,
    /// The agent.
    Assistant,
    /// An agent of the tree asks.
    Question,
    /// A notice of the server.
    Notice,
}

impl From<Entry> for EntryView {
    fn from(entry: Entry) -> Self {
        let Entry { role, text, at, item_seq, post, question, task, agent, retryable } = entry;
        let role = match role {
            Role::User => RoleView::User,
            Role::Assistant => RoleView::Assistant,
            Role::Question => RoleView::Question,
            Role::Notice => RoleView::Notice,
        };
        Self { role, text, at, item_seq, post, question, task, agent, retryable }
    }
}

/// A message that was accepted; the agent reads it before its next model call.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Posted)]
pub(crate) struct PostedView {
    /// The agent that will read it.
    #[schema(value_type = schema::AgentId)]
    agent: AgentId,
    /// The post in its inbox.
    #[schema(value_type = schema::PostId)]
    post: PostId,
}

impl From<Posted> for PostedView {
    fn from(Posted { agent, post }: Posted) -> Self {
        Self { agent, post }
    }
}
