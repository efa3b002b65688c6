//! Which of a run's texts is its answer.

use entourage_types::{Item, ItemBody, Output, Reply};

/// The answer of a run: that of a call of its last turn; otherwise the last message that it sent, if only
/// sent messages are answers; otherwise the text of its last turn.
pub(crate) fn last_words(items: &[Item], reply: Reply) -> String {
    let outputs = |from: usize| {
        items[from..].iter().rev().filter_map(|item| match &item.body {
            ItemBody::Output(output) => Some(output),
            _ => None,
        })
    };
    let Some(at) = items.iter().rposition(|item| matches!(item.body, ItemBody::Turn(_))) else {
        return String::new();
    };
    let sent = || outputs(0).find_map(Output::said).filter(|_| reply == Reply::SendMessage);
    let called = outputs(at).find_map(Output::answer).or_else(|| outputs(at).find_map(Output::said));
    match (called.or_else(sent), &items[at].body) {
        (Some(words), _) => words.to_owned(),
        (None, ItemBody::Turn(turn)) => turn.text.clone(),
        (None, _) => String::new(),
    }
}
