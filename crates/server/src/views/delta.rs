//! A piece of an answer under way.

use entourage_api::{Delta, Piece};
use entourage_engine as engine;

pub(crate) fn delta(delta: &engine::AgentDelta) -> Delta {
    let engine::AgentDelta { agent, run, item_seq, attempt, offset, piece } = delta;
    let piece = match piece {
        engine::Piece::Text(text) => Piece::Text(text.clone()),
        engine::Piece::Reasoning(text) => Piece::Reasoning(text.clone()),
        engine::Piece::Call(tool) => Piece::Call(tool.clone()),
        engine::Piece::Reset => Piece::Reset(true),
    };
    Delta { agent: *agent, run: *run, item_seq: *item_seq, attempt: *attempt, offset: *offset, piece }
}
