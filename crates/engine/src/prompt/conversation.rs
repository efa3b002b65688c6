//! The conversation: the items of a session as the model reads them.

use entourage_llm::Message;
use entourage_types::{Item, ItemBody};

use super::cut::cut;

/// The items as messages; outputs with at most so many characters each.
pub(super) fn messages(items: &[Item], max_chars: usize) -> Vec<Message> {
    items.iter().filter_map(|item| message(item, max_chars)).collect()
}

fn message(item: &Item, max_chars: usize) -> Option<Message> {
    Some(match &item.body {
        ItemBody::Message(message) => Message::User(message.text.clone()),
        ItemBody::Turn(turn) => Message::Assistant { text: turn.text.clone(), calls: turn.calls.clone() },
        ItemBody::Output(output) => Message::Output {
            call: output.call.to_string(),
            tool: output.tool.clone(),
            text: match output.error {
                true => cut(&format!("Error: {}", output.text), max_chars),
                false => cut(&output.text, max_chars),
            },
        },
        ItemBody::Decision(decision) => {
            Message::Assistant { text: decision.value.to_string(), calls: Vec::new() }
        }
        ItemBody::Notice(_) => return None,
    })
}
