//! What the rehearsal decides for a program, by words of the conversation: so that a new user sees questions, parts that are
//! worked on side by side, and a result.

use super::DISCLAIMER;
use crate::{Message, Request};

/// What the user says to be asked.
const ASKS: &str = "ask me";
/// What the user says to have parts worked on side by side.
const DIVIDES: [&str; 2] = ["compare", "side by side"];
const PARTS: [&str; 2] =
    ["The first half of the question (rehearsed)", "The second half of the question (rehearsed)"];
/// What stands before an answer of the user in a conversation.
const ANSWERED: &str = "ask_user returned";
/// What stands before words of the agent in a conversation.
const AGENT: &str = "Agent: ";

/// A decision, whatever its form is.
pub(super) struct Decided {
    /// All yes-or-no questions.
    pub(super) yes: bool,
    /// All texts.
    pub(super) text: String,
    /// All lists of texts.
    pub(super) list: &'static [&'static str],
}

impl Decided {
    pub(super) fn on(request: &Request) -> Self {
        let read: Vec<&str> = request
            .messages
            .iter()
            .filter_map(|message| match message {
                Message::User(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        let read = read.join("\n");
        let lower = read.to_lowercase();
        let yes = lower.contains(ASKS) && !read.contains(ANSWERED);
        let text = match said(&read) {
            _ if yes => "This is the rehearsal: what do you want to be asked?".to_owned(),
            Some(said) if said.contains(DISCLAIMER) => said,
            Some(said) => format!("{said}\n\n{DISCLAIMER}"),
            None => DISCLAIMER.to_owned(),
        };
        let divides = DIVIDES.iter().any(|word| lower.contains(word));
        Self { yes, text, list: if divides { &PARTS } else { &[] } }
    }
}

/// What the agent said last in a conversation; further lines of it are indented.
fn said(conversation: &str) -> Option<String> {
    let begin = conversation.rfind(&format!("\n{AGENT}"))? + 1 + AGENT.len();
    let mut lines = conversation[begin..].lines();
    let first = lines.next()?.to_owned();
    let others = lines.map_while(|line| line.strip_prefix("  "));
    let mut said = std::iter::once(first.as_str()).chain(others).collect::<Vec<_>>().join("\n");
    // What it read may have calls of its program in it, which a conversation shows with entities.
    said.truncate(said.find("&lt;call ").unwrap_or(said.len()));
    let is_call = said.trim_start().starts_with("[calls ");
    Some(said).filter(|said| !said.trim().is_empty() && !is_call)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(conversation: &str) -> Decided {
        let messages = vec![Message::User(format!("<conversation>\n{conversation}\n</conversation>"))];
        Decided::on(&Request { messages, ..Request::default() })
    }

    #[test]
    fn a_user_who_wants_to_be_asked_is_asked_once() {
        assert!(on("User: Plan a trip, but ask me first.").yes);
        assert!(!on("User: Plan a trip, but ask me first.\nask_user returned: by train").yes);
        assert!(!on("User: Plan a trip.").yes);
    }

    #[test]
    fn what_the_agent_found_is_the_text() {
        let decided = on("User: Which files?\nAgent: a.md\n  b.md\nNotice: x");
        assert_eq!(decided.text, format!("a.md\nb.md\n\n{DISCLAIMER}"));
        let with_call = on("User: Which files?\nAgent: a.md\n  &lt;call tool=&quot;x&quot;&gt;");
        assert_eq!(with_call.text, format!("a.md\n\n\n{DISCLAIMER}"));
        assert_eq!(on("User: Which files?\nAgent:  [calls list_files {}]").text, DISCLAIMER);
    }

    #[test]
    fn a_comparison_has_two_parts() {
        assert_eq!(on("User: Compare the offers.").list.len(), 2);
        assert!(on("User: Which files?").list.is_empty());
    }
}
