//! What a person sees of a conversation.

use entourage_types::{AgentId, PostId, QuestionId, TaskId, Time};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::schema;

/// One visible entry of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Entry {
    /// The author.
    pub role: Role,
    /// The text.
    pub text: String,
    /// Its time.
    #[schema(value_type = schema::Time)]
    pub at: Time,
    /// The number of its item, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_seq: Option<u64>,
    /// The post of a person's message; there is no item until the agent reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::PostId>)]
    pub post: Option<PostId>,
    /// The question, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::QuestionId>)]
    pub question: Option<QuestionId>,
    /// The task that it is about: the one that the question belongs to, or whose result it reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::TaskId>)]
    pub task: Option<TaskId>,
    /// The agent that asks, or whose result it reports, if that is not the agent of this conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::AgentId>)]
    pub agent: Option<AgentId>,
    /// With a failure: `false`, because the server does not retry by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

/// The author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person.
    User,
    /// The agent.
    Assistant,
    /// An agent of the tree asks.
    Question,
    /// A notice of the server.
    Notice,
}

/// A message that was accepted; the agent reads it before its next model call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Posted {
    /// The agent that will read it.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// The post in its inbox.
    #[schema(value_type = schema::PostId)]
    pub post: PostId,
}

/// A message to send.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct SendMessage {
    /// The text.
    #[serde(alias = "text")]
    #[schema(min_length = 1, pattern = r"\S")]
    pub message: String,
}

/// Which part of a conversation to list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListMessages {
    /// Only what comes before the item with this number; not with `cursor`.
    pub before: Option<u64>,
    /// How many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    pub cursor: Option<String>,
}
