//! Assembles the chunks of a chat completion.

use entourage_types::Usage;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::{
    Delta, Deltas, Result,
    remote::{
        answer::Answer,
        failure::{Failure, MOST_CALLS},
    },
};

/// One chunk. Fields that a server omits or sets to null are none.
#[derive(Deserialize)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<Value>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Piece>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Piece {
    content: Option<Content>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
}

/// Text, or on some servers a list of text and reasoning parts.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Value>),
}

#[derive(Deserialize)]
struct CallPiece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionPiece>,
}

#[derive(Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    arguments: Option<Box<RawValue>>,
}

/// The answer assembled from the chunks so far.
#[derive(Default)]
pub(super) struct Collected {
    answer: Answer,
    calls: Vec<Call>,
    /// The size of text, reasoning and arguments so far, in bytes.
    said: usize,
}

#[derive(Default)]
struct Call {
    index: Option<u64>,
    name: String,
    arguments: String,
}

impl Collected {
    /// Returns the size of the answer so far, in bytes.
    pub(super) fn said(&self) -> usize {
        self.said
    }

    /// Adds the next chunk.
    pub(super) fn take(&mut self, data: &[u8], failure: &Failure<'_>, deltas: &mut dyn Deltas) -> Result<()> {
        let chunk: Chunk = serde_json::from_slice(data)
            .map_err(|error| failure.bad(&format!("not a chat completion ({error})")))?;
        if let Some(error) = chunk.error {
            return Err(failure.event(&error));
        }
        if let Some(usage) = chunk.usage {
            self.answer.usage = tokens(&usage);
        }
        // The request asks for one answer, so there is one choice.
        let Some(choice) = chunk.choices.into_iter().flatten().next() else { return Ok(()) };
        if let Some(piece) = choice.delta {
            self.piece(piece, failure, deltas)?;
        }
        self.answer.stop = choice.finish_reason.or(self.answer.stop.take());
        Ok(())
    }

    fn piece(&mut self, piece: Piece, failure: &Failure<'_>, deltas: &mut dyn Deltas) -> Result<()> {
        let reasoning = piece.reasoning_content.or(piece.reasoning).filter(|text| !text.is_empty());
        if let Some(text) = reasoning {
            self.said += text.len();
            deltas.delta(Delta::Reasoning(text));
        }
        let text = match piece.content {
            Some(Content::Text(text)) => text,
            Some(Content::Parts(parts)) => {
                parts.iter().filter_map(|part| part.get("text")?.as_str()).collect()
            }
            None => String::new(),
        };
        if !text.is_empty() {
            self.said += text.len();
            self.answer.text.push_str(&text);
            deltas.delta(Delta::Text(text));
        }
        for piece in piece.tool_calls.into_iter().flatten() {
            self.call(piece, deltas);
            if self.calls.len() > MOST_CALLS {
                return Err(failure.too_many_calls());
            }
        }
        Ok(())
    }

    /// Adds a piece to the call with its index. If the server sends no index, a piece with an id begins a
    /// call, and a piece without one continues the last call.
    fn call(&mut self, piece: CallPiece, deltas: &mut dyn Deltas) {
        let known = match piece.index {
            Some(_) => self.calls.iter().position(|call| call.index == piece.index),
            None if piece.id.is_some() => None,
            None => self.calls.len().checked_sub(1),
        };
        // An empty call takes memory as well.
        self.said += std::mem::size_of::<Call>();
        let at = known.unwrap_or_else(|| {
            self.calls.push(Call { index: piece.index, ..Call::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        let Some(function) = piece.function else { return };
        if let Some(name) = function.name.filter(|name| !name.is_empty() && call.name.is_empty()) {
            deltas.delta(Delta::Call { tool: name.clone() });
            call.name = name;
        }
        let Some(given) = function.arguments.filter(|given| given.get() != "null") else { return };
        match serde_json::from_str::<String>(given.get()) {
            Ok(text) => {
                self.said += text.len();
                call.arguments.push_str(&text);
            }
            // Whole arguments are read at the end, unless they have too many values.
            Err(_) => {
                self.said += given.get().len();
                call.arguments = given.get().to_owned();
            }
        }
    }

    pub(super) fn into_answer(self) -> Answer {
        let calls = self.calls.into_iter().map(|call| (call.name, Value::String(call.arguments)));
        Answer { calls: calls.collect(), ..self.answer }
    }
}

fn tokens(usage: &Value) -> Usage {
    let count = |of: &Value, name: &str| of.get(name).and_then(Value::as_u64).unwrap_or(0);
    let part = |of: &str, name: &str| usage.get(of).map_or(0, |details| count(details, name));
    Usage {
        input: count(usage, "prompt_tokens"),
        output: count(usage, "completion_tokens"),
        cached: part("prompt_tokens_details", "cached_tokens"),
        cache_written: part("prompt_tokens_details", "cache_write_tokens"),
        reasoning: part("completion_tokens_details", "reasoning_tokens"),
    }
}
