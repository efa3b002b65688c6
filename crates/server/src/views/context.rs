//! What an agent's model sees, as the API shows it.

use entourage_engine::{Block, Seen};
use entourage_types::{AgentId, Cost};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;

/// What an agent's model would see if it were called now. Tokens are estimates, corrected by the provider's
/// last count.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Context)]
pub(crate) struct ContextView {
    /// The agent.
    #[schema(value_type = schema::AgentId)]
    agent: AgentId,
    /// The model that answered last, as `provider::name`; null before the first answer.
    #[schema(required)]
    model: Option<String>,
    /// How many tokens the smallest of its models holds; null if that is unknown.
    #[schema(required)]
    window: Option<u64>,
    /// The tokens of all blocks.
    tokens: u64,
    /// How many of them the last call read from the provider's cache.
    cached: u64,
    /// What all of it costs at each call; null if the price is not known.
    #[schema(required, value_type = Option<schema::Cost>)]
    cost: Option<Cost>,
    /// The blocks, in the order in which the model reads them.
    blocks: Vec<BlockView>,
}

/// One part of what a model sees.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Block)]
struct BlockView {
    /// What it is: `tools`, `instructions`, `sessions`, `digest`, `conversation`, or the name of a
    /// section.
    name: String,
    /// The numbers of its first and last item; null if it is not made of items.
    #[schema(required)]
    items: Option<(u64, u64)>,
    /// Its tokens.
    tokens: u64,
    /// How many of them the last call read from the provider's cache.
    cached: u64,
    /// What it costs at each call; null if the price is not known.
    #[schema(required, value_type = Option<schema::Cost>)]
    cost: Option<Cost>,
}

impl From<Seen> for ContextView {
    fn from(seen: Seen) -> Self {
        let Seen { agent, model, window, tokens, cached, cost, blocks } = seen;
        let blocks = blocks.into_iter().map(BlockView::from).collect();
        Self { agent, model, window, tokens, cached, cost, blocks }
    }
}

impl From<Block> for BlockView {
    fn from(Block { name, items, tokens, cached, cost }: Block) -> Self {
        Self { name, items, tokens, cached, cost }
    }
}
