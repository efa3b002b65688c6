//! What an agent's model sees.

use entourage_types::{AgentId, Cost};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// What an agent's model would see if it were called now. Tokens are estimates, corrected by the provider's
/// last count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Context {
    /// The agent.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// The model that answered last, as `provider::name`; null before the first answer.
    #[schema(required)]
    pub model: Option<String>,
    /// How many tokens the smallest of its models holds; null if that is unknown.
    #[schema(required)]
    pub window: Option<u64>,
    /// The tokens of all blocks.
    pub tokens: u64,
    /// How many of them the last call read from the provider's cache.
    pub cached: u64,
    /// What all of it costs at each call; null if the price is not known.
    #[schema(required, value_type = Option<schema::Cost>)]
    pub cost: Option<Cost>,
    /// The blocks, in the order in which the model reads them.
    pub blocks: Vec<Block>,
}

/// One part of what a model sees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Block {
    /// What it is: `tools`, `instructions`, `sessions`, `digest`, `conversation`, or the name of a
    /// section, whose lines stand between the items of the conversation.
    pub name: String,
    /// The numbers of its first and last item; null if it is not made of items.
    #[schema(required)]
    pub items: Option<(u64, u64)>,
    /// Its tokens.
    pub tokens: u64,
    /// How many of them the last call read from the provider's cache.
    pub cached: u64,
    /// What it costs at each call; null if the price is not known.
    #[schema(required, value_type = Option<schema::Cost>)]
    pub cost: Option<Cost>,
}
