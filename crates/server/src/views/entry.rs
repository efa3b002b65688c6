//! What a person sees of a conversation.

use entourage_api::{Entry, Posted, Role};
use entourage_engine as engine;

pub(crate) fn entry(entry: engine::Entry) -> Entry {
    let engine::Entry { role, text, at, item_seq, post, question, task, agent, retryable } = entry;
    let role = match role {
        engine::Role::User => Role::User,
        engine::Role::Assistant => Role::Assistant,
        engine::Role::Question => Role::Question,
        engine::Role::Notice => Role::Notice,
    };
    Entry { role, text, at, item_seq, post, question, task, agent, retryable }
}

pub(crate) fn posted(engine::Posted { agent, post }: engine::Posted) -> Posted {
    Posted { agent, post }
}
