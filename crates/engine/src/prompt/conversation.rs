//! The conversation: the items of a session as the model reads them.

use entourage_llm::Message;
use entourage_types::{Digest, Item, ItemBody};
use serde_json::Value;

use super::{
    cut::{cut, is_longer},
    escaped,
};

/// What a message costs beside its text, in bytes.
const FRAME: usize = 16;
/// What the mark costs where a text is cut, in bytes.
const MARK: usize = 96;

/// What the model sees of a session: the digest of what is older, and the items behind it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) digest: Option<&'a Digest>,
    pub(crate) items: &'a [Item],
    /// How many characters of an output are seen.
    pub(crate) max_output: usize,
    /// How many of a message, where that is bounded.
    pub(crate) max_message: Option<usize>,
}

impl<'a> View<'a> {
    /// The view of these items, all of one session, with so many characters of each output.
    pub(crate) fn of(items: &'a [Item], max_output: usize) -> Self {
        let digest = items.iter().rev().find_map(|item| match &item.body {
            ItemBody::Digest(digest) => Some(digest),
            _ => None,
        });
        let from = digest.map_or(0, |digest| items.partition_point(|item| item.seq < digest.from));
        let view = Self { digest, items: &items[from..], max_output, max_message: None };
        view.bounded(digest.and_then(|digest| digest.max_chars))
    }

    /// The same with at most so many characters of each message and output.
    pub(crate) fn bounded(self, max: Option<usize>) -> Self {
        let max_output = max.map_or(self.max_output, |max| max.min(self.max_output));
        Self { max_output, max_message: max.or(self.max_message), ..self }
    }

    /// Where a whole turn, or a message, begins: only there may the view begin.
    pub(crate) fn beginnings(&self) -> impl Iterator<Item = usize> {
        let begins = |item: &Item| matches!(item.body, ItemBody::Message(_) | ItemBody::Turn(_));
        self.items.iter().enumerate().filter(move |(_, item)| begins(item)).map(|(index, _)| index)
    }

    /// The messages; `readable` says whether the model has the tool to read what is left out.
    pub(crate) fn messages(&self, readable: bool) -> Vec<Message> {
        let digest = self.digest.filter(|digest| !digest.text.is_empty()).map(|digest| {
            Message::User(format!(
                "<earlier_conversation>\n{}\n</earlier_conversation>",
                escaped(&digest.text)
            ))
        });
        digest.into_iter().chain(self.items.iter().filter_map(|item| self.message(item, readable))).collect()
    }

    fn message(&self, item: &Item, readable: bool) -> Option<Message> {
        let number = readable.then_some(item.seq);
        Some(match &item.body {
            ItemBody::Message(message) => Message::User(match self.max_message {
                Some(max) => cut(&message.text, max, number),
                None => message.text.clone(),
            }),
            ItemBody::Turn(turn) => Message::Assistant { text: turn.text.clone(), calls: turn.calls.clone() },
            ItemBody::Output(output) => {
                let text = cut(&output.text, self.max_output, number);
                Message::Output {
                    call: output.call.to_string(),
                    tool: output.tool.clone(),
                    text: if output.error { format!("Error: {text}") } else { text },
                }
            }
            ItemBody::Decision(decision) => {
                Message::Assistant { text: decision.value.to_string(), calls: Vec::new() }
            }
            ItemBody::Notice(_) | ItemBody::Digest(_) => return None,
        })
    }

    /// How many bytes the messages have, roughly, without making them.
    pub(crate) fn weight(&self) -> usize {
        let digest = self.digest.map_or(0, |digest| digest.text.len() + FRAME);
        digest + self.weight_of_items()
    }

    /// The same without the digest.
    pub(crate) fn weight_of_items(&self) -> usize {
        self.items.iter().map(|item| self.weight_of(item)).sum()
    }

    /// How many bytes one item has as a message, roughly.
    pub(crate) fn weight_of(&self, item: &Item) -> usize {
        FRAME
            + match &item.body {
                ItemBody::Message(message) => seen(&message.text, self.max_message.unwrap_or(usize::MAX)),
                ItemBody::Turn(turn) => {
                    let calls = turn.calls.iter().map(|call| FRAME + call.tool.len() + size(&call.arguments));
                    turn.text.len() + calls.sum::<usize>()
                }
                ItemBody::Output(output) => seen(&output.text, self.max_output),
                ItemBody::Decision(decision) => size(&decision.value),
                ItemBody::Notice(_) | ItemBody::Digest(_) => return 0,
            }
    }
}

/// How many bytes at most `max` characters of a text have, roughly: as its beginning goes on.
fn seen(text: &str, max: usize) -> usize {
    if text.len() <= max {
        return text.len();
    }
    let (bytes, chars) =
        text.chars().take(64).fold((0, 0), |(bytes, chars), char| (bytes + char.len_utf8(), chars + 1));
    text.len().min(max.saturating_mul(bytes) / chars.max(1) + MARK)
}

/// Whether the model does not see all of an item for its length.
pub(crate) fn is_cut(body: &ItemBody, max_output: usize) -> bool {
    match body {
        ItemBody::Output(output) => is_longer(&output.text, max_output),
        ItemBody::Digest(digest) => digest.max_chars.is_some(),
        _ => false,
    }
}

/// How many bytes a value has as JSON, roughly.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(values) => values.iter().map(|value| size(value) + 1).sum::<usize>() + 2,
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| name.len() + 4 + size(value)).sum::<usize>() + 2
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 5,
    }
}
