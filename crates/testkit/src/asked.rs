//! What a request of an exploration is for, so that a scripted model can answer each.

use entourage_llm::{Message, Request};

/// What a request of an exploration is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Whether the user's request is ambiguous.
    Clarify,
    /// Whether something is missing that only the user knows.
    Missing,
    /// What to explore side by side.
    Subquestions,
    /// The result, and whether it needs one more answer.
    Summary,
    /// The main work.
    Main,
    /// The work of the child that explores `part N`.
    Child(usize),
}

/// The words by which the prompt of each decision is known.
const PROMPTS: [(&str, Asked); 4] = [
    ("whether the user's request is ambiguous", Asked::Clarify),
    ("whether critical information is missing", Asked::Missing),
    ("independent subquestions", Asked::Subquestions),
    ("Write the whole result", Asked::Summary),
];

impl Asked {
    /// What a request is for: each decision has a prompt of its own, and each child a first message `part N`.
    #[must_use]
    pub fn by(request: &Request) -> Self {
        let decision = PROMPTS.into_iter().find(|(prompt, _)| request.system.contains(prompt));
        if let Some((_, decision)) = decision {
            return decision;
        }
        let part = request.messages.iter().find_map(|message| match message {
            Message::User(text) => text.strip_prefix("part "),
            _ => None,
        });
        part.and_then(|part| part.parse().ok()).map_or(Self::Main, Self::Child)
    }
}

/// All that a request shows the model of its conversation, a message a line.
#[must_use]
pub fn texts(request: &Request) -> String {
    let texts = request.messages.iter().map(|message| match message {
        Message::User(text) | Message::Notice(text) | Message::Context(text) => text.as_str(),
        Message::Assistant { text, .. } | Message::Output { text, .. } => text.as_str(),
    });
    texts.collect::<Vec<_>>().join("\n")
}
