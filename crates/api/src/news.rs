//! News of everything that an owner has.

use entourage_types::AgentId;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{Delta, schema};

/// What changed within a moment: hints of where to read again, without facts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct News {
    /// The trees with new events; null if they are too many or news were lost: read everything again.
    #[schema(required)]
    pub trees: Option<Vec<TreeNews>>,
    /// What changed in the server itself; `kinds` if the kinds were reloaded.
    pub server: Vec<String>,
    /// Whether people or programs changed projects or documents of yours. Changes by agents are news of their trees.
    pub documents: bool,
    /// How many of your questions are open, counted up to 200.
    pub open_questions: u32,
}

/// A tree with new events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TreeNews {
    /// Its root.
    #[schema(value_type = schema::AgentId)]
    pub root: AgentId,
    /// The number of its last event; 0 if none is new, as when a message has come that nobody has read yet.
    pub seq: u64,
    /// The agents that they are about, at most 64; null if they are more, or unknown.
    #[schema(required, value_type = Option<Vec<schema::AgentId>>)]
    pub agents: Option<Vec<AgentId>>,
}

/// The first event of a stream of news.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Hello {
    /// The server's version.
    pub version: String,
    /// The digest of the console's scripts and styles: a page with others is of another version.
    pub assets: String,
    /// How many of your questions are open, counted up to 200.
    pub open_questions: u32,
}

/// The data of an event of a stream of news. That of `beat` is empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum NewsEvent {
    /// Of `news`.
    News(News),
    /// Of `delta`.
    Delta(Delta),
    /// Of `hello`.
    Hello(Hello),
    /// Of `beat`.
    Beat {},
}

/// What to follow beside everything.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FollowNews {
    /// The agent whose answers in progress are sent, too.
    #[param(value_type = Option<schema::AgentId>)]
    pub follow: Option<AgentId>,
}
