//! What an agent's model sees.

use entourage_api::{Block, Context};
use entourage_engine::Seen;

pub(crate) fn context(Seen { agent, model, window, tokens, cached, cost, blocks }: Seen) -> Context {
    let blocks = blocks.into_iter().map(block).collect();
    Context { agent, model, window, tokens, cached, cost, blocks }
}

fn block(block: entourage_engine::Block) -> Block {
    let entourage_engine::Block { name, items, tokens, cached, cost } = block;
    Block { name, items, tokens, cached, cost }
}
