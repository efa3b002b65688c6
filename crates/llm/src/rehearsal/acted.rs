//! What the rehearsal does as the document agent, by words of the user: so that a new user sees a document created, one
//! changed, and a question answered.

use serde_json::{Value, json};

use super::{
    DISCLAIMER,
    scene::{between, unescaped},
};
use crate::{Message, Request};

/// The user wants something written down.
const CREATES: [&str; 3] = ["create", "write down", "new document"];
/// The user wants something changed.
const EDITS: [&str; 6] = ["change", "edit", "add ", "shorten", "remove", "rewrite"];
/// What stands before the number of the document that the user has open.
const OPEN: &str = "The currently open document is the one with id ";

/// A message about the documents of a project, as a prompt shows it.
pub(super) struct Acted<'a> {
    prompt: &'a str,
    message: String,
}

/// A document of the prompt.
struct Listed<'a> {
    id: u64,
    name: String,
    content: Option<&'a str>,
}

impl<'a> Acted<'a> {
    /// The message that a request is about; none if it is about something else.
    pub(super) fn of(request: &'a Request) -> Option<Self> {
        let Some(Message::User(prompt)) = request.messages.last() else { return None };
        let message = between(prompt, "<user_message>", "</user_message>")?;
        Some(Self { prompt, message: unescaped(message).trim().to_owned() })
    }

    /// What is to be done.
    pub(super) fn decision(&self) -> Value {
        let lower = self.message.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let documents = self.documents();
        if says(&CREATES) {
            return json!({
                "should_create": true,
                "intent_statement": "I'll create a document.",
                "document_content": format!("# A document of the rehearsal\n\nAsked: {}\n", self.message),
                "content_summary": DISCLAIMER,
            });
        }
        if says(&EDITS)
            && let Some(meant) = self.meant(&documents)
        {
            return json!({
                "should_edit": true,
                "document_id": meant.id,
                "intent_statement": format!("I'll add a line to '{}'.", meant.name),
                "change_summary": "A line of the rehearsal.",
                "content_summary": DISCLAIMER,
            });
        }
        let names: Vec<&str> = documents.iter().map(|document| document.name.as_str()).collect();
        let there_is = if names.is_empty() { "none yet".to_owned() } else { names.join(", ") };
        let text =
            format!("{DISCLAIMER}\n\nAsked: {}\n\nThe documents of this project: {there_is}.", self.message);
        json!({ "conversational_response": text })
    }

    /// The text that is to be written: the content of the one document that the prompt shows, with a line at its end.
    pub(super) fn text(&self) -> String {
        match &self.documents()[..] {
            [Listed { content: Some(content), .. }] => {
                format!(
                    "{}\n\n(The rehearsal was asked: {})\n",
                    unescaped(content).trim_matches('\n'),
                    self.message
                )
            }
            _ => DISCLAIMER.to_owned(),
        }
    }

    /// The document that the message names, or else the one that is open, or else the first.
    fn meant<'d>(&self, documents: &'d [Listed<'a>]) -> Option<&'d Listed<'a>> {
        let lower = self.message.to_lowercase();
        let named = documents.iter().find(|document| lower.contains(&document.name.to_lowercase()));
        let open = between(self.prompt, OPEN, ":").and_then(|id| id.parse().ok());
        let open = documents.iter().find(|document| Some(document.id) == open);
        named.or(open).or(documents.first())
    }

    fn documents(&self) -> Vec<Listed<'a>> {
        let sections = self.prompt.split("<document ").skip(1);
        let listed = sections.filter_map(|section| {
            let id = between(section, "id=\"", "\"")?.parse().ok()?;
            let name = unescaped(between(section, "name=\"", "\"")?);
            Some(Listed { id, name, content: between(section, "<content>", "</content>") })
        });
        listed.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(message: &str, open: &str) -> Value {
        let documents = "<document id=\"3\" name=\"Soup &amp; stew\">\n<content>\nWater\n</content>\n</document>\n\
                         <document id=\"7\" name=\"Budget\">\n</document>";
        let prompt = format!("{documents}\n{open}\n<user_message>\n{message}\n</user_message>");
        let request = Request { messages: vec![Message::User(prompt)], ..Request::default() };
        Acted::of(&request).unwrap().decision()
    }

    #[test]
    fn words_of_the_user_say_what_is_done() {
        assert_eq!(decided("Create a plan.", "")["should_create"], true);
        assert_eq!(decided("Add a line to the budget.", "")["document_id"], 7);
        assert_eq!(decided("Shorten it.", &format!("{OPEN}7: you"))["document_id"], 7);
        assert_eq!(decided("Shorten it.", "")["document_id"], 3);
        let said = decided("What is there?", "");
        assert!(
            said["conversational_response"].as_str().unwrap().ends_with("Soup & stew, Budget."),
            "{said}"
        );
    }

    #[test]
    fn a_document_keeps_its_text_and_gets_a_line() {
        let prompt = "<document id=\"3\" name=\"Soup\">\n<content>\n1 &lt; 2\n</content>\n</document>\n\
                      <user_message>\nAdd salt.\n</user_message>";
        let request = Request { messages: vec![Message::User(prompt.into())], ..Request::default() };
        let text = Acted::of(&request).unwrap().text();
        assert_eq!(text, "1 < 2\n\n(The rehearsal was asked: Add salt.)\n");
        assert!(Acted::of(&Request::default()).is_none());
    }
}
