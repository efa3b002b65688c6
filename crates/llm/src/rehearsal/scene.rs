//! What the conversation has come to, and what the script does next.
//!
//! Every tool is used at most once for one request, so that every run ends, whatever the tools
//! return.

use entourage_types::{ToolCall, ToolSpec};
use serde_json::{Value, json};

use super::DISCLAIMER;
use crate::{Message, Request};

/// The longest quotation, in characters.
const QUOTE: usize = 600;
/// The largest file worth reading in a rehearsal, in bytes.
const SMALL: u64 = 64 * 1024;
const USER: &str = "user";

/// The next thing to do.
pub(super) enum Next {
    /// Use a tool.
    Call(&'static str, Value),
    /// Answer and end.
    Say(String),
}

/// The part of the conversation that the current request has brought about.
pub(super) struct Scene<'a> {
    tools: &'a [ToolSpec],
    request: String,
    /// What came back, by tool, in order.
    outputs: Vec<(&'a str, &'a str)>,
}

impl<'a> Scene<'a> {
    pub(super) fn of(request: &'a Request) -> Self {
        let ended = request.messages.iter().rposition(closes).map_or(0, |last| last + 1);
        let mut scene = Self { tools: &request.tools, request: String::new(), outputs: Vec::new() };
        for message in &request.messages[ended..] {
            match message {
                Message::User(text) if scene.request.is_empty() => scene.request.push_str(text),
                Message::User(text) => scene.request = format!("{}\n{text}", scene.request),
                Message::Output { tool, text, .. } => scene.outputs.push((tool, text)),
                Message::Assistant { .. } => {}
            }
        }
        scene
    }

    /// The script.
    pub(super) fn next(&self) -> Next {
        if self.request.is_empty() {
            // Nobody asked anything since the last answer.
            return Next::Say(DISCLAIMER.to_owned());
        }
        let next = match self.peer() {
            Some(peer) => self.orchestrate(peer),
            None => self.research(),
        };
        next.unwrap_or_else(|| self.answer())
    }

    /// One with peers asks back when told to, then has a peer do the work.
    fn orchestrate(&self, peer: &str) -> Option<Next> {
        let asked = self.request.to_lowercase().contains("ask me");
        if asked && self.can("ask_user") {
            let question = "You wanted to be asked: what should I keep in mind?";
            return Some(Next::Call("ask_user", json!({ "question": question })));
        }
        self.can("send_message").then(|| {
            let message = match self.output("ask_user") {
                Some(answer) => format!("{}\n\nAsked back, the user said: {answer}", self.request),
                None => self.request.clone(),
            };
            Next::Call("send_message", json!({ "recipient": peer, "message": message }))
        })
    }

    /// One without peers looks around, reads, and writes down what it found.
    fn research(&self) -> Option<Next> {
        if self.can("list_files") {
            return Some(Next::Call("list_files", json!({})));
        }
        if self.can("read_file")
            && let Some(path) = self.output("list_files").and_then(small_text_file)
        {
            return Some(Next::Call("read_file", json!({ "path": path })));
        }
        if self.can("fetch_url")
            && let Some(url) = url(&self.request)
        {
            return Some(Next::Call("fetch_url", json!({ "url": url })));
        }
        self.can("create_note").then(|| {
            let title = format!("Rehearsal: {}", cut(first_line(&self.request), 60));
            let found = self.found();
            let content = if found.is_empty() { "Nothing was found to read.".to_owned() } else { found };
            Next::Call("create_note", json!({ "title": title, "content": content }))
        })
    }

    /// The last word: as a message where the kind speaks to its user by messages.
    fn answer(&self) -> Next {
        let found = self.found();
        let found = if found.is_empty() { "There was no tool to use.".to_owned() } else { found };
        let request = cut(&without_disclaimer(&self.request), QUOTE);
        let text = format!("{DISCLAIMER}\n\nAsked: {request}\n\n{found}");
        match self.recipients() {
            Some(recipients) if recipients.is_empty() => {
                Next::Call("send_message", json!({ "message": text }))
            }
            Some(recipients) if recipients.contains(&USER) => {
                Next::Call("send_message", json!({ "recipient": USER, "message": text }))
            }
            _ => Next::Say(text),
        }
    }

    /// What the tools returned, quoted.
    fn found(&self) -> String {
        let quote = |(tool, text): &(&str, &str)| {
            let text = cut(&without_disclaimer(text), QUOTE).replace('\n', "\n> ");
            format!("`{tool}` returned:\n> {text}")
        };
        self.outputs.iter().map(quote).collect::<Vec<_>>().join("\n\n")
    }

    /// Whether a tool is on offer and has not been used yet.
    fn can(&self, tool: &str) -> bool {
        self.tool(tool).is_some() && self.output(tool).is_none()
    }

    fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    fn output(&self, tool: &str) -> Option<&'a str> {
        self.outputs.iter().find(|(name, _)| *name == tool).map(|(_, text)| *text)
    }

    /// Whom `send_message` reaches, when it is on offer; nobody named means the user.
    fn recipients(&self) -> Option<Vec<&str>> {
        let spec = self.tool("send_message")?;
        let names = spec.parameters.pointer("/properties/recipient/enum").and_then(Value::as_array);
        Some(names.into_iter().flatten().filter_map(Value::as_str).collect())
    }

    /// The peer to write to: the researcher, or whoever comes first.
    fn peer(&self) -> Option<&str> {
        let peers = self.recipients()?;
        let mut peers = peers.into_iter().filter(|name| *name != USER);
        let first = peers.clone().next();
        peers.find(|name| *name == "researcher").or(first)
    }
}

/// Whether a message ends a request: an answer, or something said to the user.
fn closes(message: &Message) -> bool {
    let to_user = |call: &ToolCall| {
        let recipient = call.arguments.get("recipient").and_then(Value::as_str);
        call.tool == "send_message" && recipient.is_none_or(|name| name == USER)
    };
    matches!(message, Message::Assistant { calls, .. } if calls.is_empty() || calls.iter().any(to_user))
}

/// A small text file from a listing with lines such as `notes.md (120 bytes)`: the README, or
/// whichever comes first.
fn small_text_file(listing: &str) -> Option<&str> {
    const TEXT: &[&str] = &[".md", ".txt", ".toml", ".json", ".yaml", ".yml", ".csv", ".rs", ".py", ".html"];
    let mut files = listing.lines().filter_map(|line| {
        let line = line.trim_start_matches(['-', '*', ' ']).trim_end();
        let (name, size) = line.rsplit_once(" (").unwrap_or((line, ""));
        let bytes: u64 = size.split_once(' ').and_then(|(bytes, _)| bytes.parse().ok()).unwrap_or(0);
        let lower = name.to_lowercase();
        (bytes <= SMALL && TEXT.iter().any(|ending| lower.ends_with(ending))).then_some(name)
    });
    let first = files.clone().next();
    files.find(|name| name.to_lowercase().starts_with("readme")).or(first)
}

/// The first web address in a text.
fn url(text: &str) -> Option<&str> {
    let start = text.find("https://").into_iter().chain(text.find("http://")).min()?;
    let address = text[start..].split(|c: char| c.is_whitespace() || "<>\"'`()[]".contains(c)).next()?;
    Some(address.trim_end_matches(['.', ',', ';', ':', '!', '?']))
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim()
}

/// A peer's answer carries the same line; once is enough.
fn without_disclaimer(text: &str) -> String {
    text.replace(DISCLAIMER, "").trim().to_owned()
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
