//! Reads the state of the conversation and decides what the script does next.
//!
//! Every tool is used at most once per request, so that every run ends, whatever the tools return.

use entourage_types::{ToolCall, ToolSpec, tool_names};
use serde_json::{Value, json};

use super::DISCLAIMER;
use crate::{Message, Request};

/// The longest quotation, in characters.
const QUOTE: usize = 300;
/// The largest file worth reading in a rehearsal, in bytes.
const SMALL: u64 = 64 * 1024;
const USER: &str = "user";
/// Introduces the user's answer in a delegated request.
const ASKED_BACK: &str = "Asked back, the user said:";

/// The next thing to do.
pub(super) enum Next {
    /// Use a tool.
    Call(&'static str, Value),
    /// Answer and end.
    Say(String),
}

/// The part of the conversation that belongs to the current request.
pub(super) struct Scene<'a> {
    tools: &'a [ToolSpec],
    /// The sub-agent that asks the user, by id.
    asking: Option<&'a str>,
    /// What the latest task came to.
    came_to: Option<&'a str>,
    request: String,
    /// The tools' outputs, by tool, in order.
    outputs: Vec<(&'a str, &'a str)>,
}

impl<'a> Scene<'a> {
    pub(super) fn of(request: &'a Request) -> Self {
        let ended = request.messages.iter().rposition(closes).map_or(0, |last| last + 1);
        let (asking, came_to) = (asking(&request.messages), came_to(&request.messages));
        let mut scene =
            Self { tools: &request.tools, asking, came_to, request: String::new(), outputs: Vec::new() };
        for message in &request.messages[ended..] {
            match message {
                Message::User(text) | Message::Notice(text) if scene.request.is_empty() => {
                    scene.request.push_str(text);
                }
                Message::User(text) | Message::Notice(text) => {
                    scene.request = format!("{}\n{text}", scene.request);
                }
                // It belongs to the message that ended the request before.
                Message::Output { tool, .. }
                    if scene.request.is_empty() && tool == tool_names::SEND_MESSAGE => {}
                Message::Output { tool, text, .. } => scene.outputs.push((tool, text)),
                Message::Assistant { .. } | Message::Context(_) => {}
            }
        }
        scene
    }

    /// Returns the script's next step.
    pub(super) fn next(&self) -> Next {
        if self.request.is_empty() {
            // No user message or notice since the last answer.
            return Next::Say(DISCLAIMER.to_owned());
        }
        let next = match (self.peer(), self.role()) {
            (Some(peer), _) => self.orchestrate(peer),
            (None, Some(role)) => self.lead(role),
            (None, None) if self.tool(tool_names::CREATE_TASK).is_some() => self.assign(),
            (None, None) => self.research(),
        };
        next.unwrap_or_else(|| self.answer())
    }

    /// Scripts an agent with peers: it asks the user if requested, then has a peer do the work.
    fn orchestrate(&self, peer: &str) -> Option<Next> {
        if let Some(question) = self.question() {
            return Some(question);
        }
        self.can(tool_names::SEND_MESSAGE).then(|| {
            let message = match self.output(tool_names::ASK_USER) {
                Some(answer) => format!("{}\n\n{ASKED_BACK} {answer}", self.request),
                None => self.request.clone(),
            };
            Next::Call(tool_names::SEND_MESSAGE, json!({ "recipient": peer, "message": message }))
        })
    }

    /// Returns the question to the user if the request demands one.
    fn question(&self) -> Option<Next> {
        // The agent that delegated the request may have asked already.
        let asked = self.request.to_lowercase().contains("ask me") && !self.request.contains(ASKED_BACK);
        let question = "You wanted to be asked: what should I keep in mind?";
        (asked && self.can(tool_names::ASK_USER))
            .then(|| Next::Call(tool_names::ASK_USER, json!({ "question": question })))
    }

    /// Scripts an agent that leads a chat: it reports a result, forwards an answer, or spawns an agent.
    fn lead(&self, role: &str) -> Option<Next> {
        if let Some(result) = between(&self.request, "<task_result", "</task_result>") {
            let result = result.split_once('>').map_or(result, |(_, text)| text);
            let result = without_disclaimer(&unescaped(result));
            return Some(Next::Say(format!("{DISCLAIMER}\n\n{result}")));
        }
        if let Some(agent) = self.asking
            && self.can(tool_names::REACTIVATE_AGENT)
        {
            let answer = json!({ "agent": agent, "message": self.request });
            return Some(Next::Call(tool_names::REACTIVATE_AGENT, answer));
        }
        let task = json!({ "kind": role, "task": self.request });
        self.can(tool_names::SPAWN_AGENT).then(|| Next::Call(tool_names::SPAWN_AGENT, task))
    }

    /// Scripts an agent that works towards a goal: it gives the request to a task, and goes on.
    fn assign(&self) -> Option<Next> {
        let task = json!({ "title": cut(first_line(&self.request), 60), "instructions": self.request });
        self.can(tool_names::CREATE_TASK).then(|| Next::Call(tool_names::CREATE_TASK, task))
    }

    /// Scripts an agent without peers: it asks the user if requested, lists files, reads, and writes down
    /// what it found.
    fn research(&self) -> Option<Next> {
        if let Some(question) = self.question() {
            return Some(question);
        }
        if self.can(tool_names::LIST_FILES) {
            return Some(Next::Call(tool_names::LIST_FILES, json!({})));
        }
        if self.can(tool_names::READ_FILE)
            && let Some(path) = match self.output(tool_names::LIST_FILES) {
                Some(listing) => small_text_file(listing),
                None => named_file(&self.request),
            }
        {
            return Some(Next::Call(tool_names::READ_FILE, json!({ "path": path })));
        }
        if self.can(tool_names::FETCH_URL)
            && let Some(url) = url(&self.request)
        {
            return Some(Next::Call(tool_names::FETCH_URL, json!({ "url": url })));
        }
        self.can(tool_names::CREATE_NOTE).then(|| {
            let title = format!("Rehearsal: {}", cut(first_line(&self.request), 60));
            let found = self.found();
            let content = if found.is_empty() { "Nothing was found to read.".to_owned() } else { found };
            Next::Call(tool_names::CREATE_NOTE, json!({ "title": title, "content": content }))
        })
    }

    /// Returns the final answer, as a message if agents of this kind reach their user by messages.
    fn answer(&self) -> Next {
        let text = match (self.peer(), self.output(tool_names::SEND_MESSAGE)) {
            // A peer's answer is forwarded without quotation, which would only make it harder to read.
            (Some(peer), Some(answer)) => {
                format!(
                    "{DISCLAIMER}\n\nThe {peer} was asked, and answered:\n\n{}",
                    without_disclaimer(answer)
                )
            }
            _ => {
                let found = self.found();
                let found = if found.is_empty() { "There was no tool to use.".to_owned() } else { found };
                let request = cut(&without_disclaimer(&self.request), QUOTE);
                match self.recipients() {
                    Some(_) => format!("{DISCLAIMER}\n\nAsked: {request}\n\n{found}"),
                    // Its result is listed by how it begins.
                    None => format!("Asked: {request}\n\n{found}\n\n{DISCLAIMER}"),
                }
            }
        };
        match self.recipients() {
            Some(recipients) if recipients.is_empty() => {
                Next::Call(tool_names::SEND_MESSAGE, json!({ "message": text }))
            }
            Some(recipients) if recipients.contains(&USER) => {
                Next::Call(tool_names::SEND_MESSAGE, json!({ "recipient": USER, "message": text }))
            }
            _ => Next::Say(text),
        }
    }

    /// Returns the tools' outputs, quoted, and what the latest task came to; if a list led to a file, the file without the
    /// list.
    fn found(&self) -> String {
        let was_read = self.output(tool_names::READ_FILE).is_some();
        let quoted = |text: &str| cut(&without_disclaimer(text), QUOTE).replace('\n', "\n> ");
        let returned = self
            .outputs
            .iter()
            .filter(|(tool, _)| !was_read || *tool != tool_names::LIST_FILES)
            .map(|(tool, text)| format!("`{tool}` returned:\n> {}", quoted(text)));
        let came_to = self.came_to.map(|result| quoted(&unescaped(result)));
        let came_to = came_to.map(|result| format!("The latest task came to:\n> {result}"));
        returned.chain(came_to).collect::<Vec<_>>().join("\n\n")
    }

    /// Whether a tool is offered and has not been used yet.
    fn can(&self, tool: &str) -> bool {
        self.tool(tool).is_some() && self.output(tool).is_none()
    }

    fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    fn output(&self, tool: &str) -> Option<&'a str> {
        self.outputs.iter().find(|(name, _)| *name == tool).map(|(_, text)| *text)
    }

    /// Returns the recipients of `send_message`, if it is offered; an empty list means the user.
    fn recipients(&self) -> Option<Vec<&str>> {
        let spec = self.tool(tool_names::SEND_MESSAGE)?;
        let names = spec.parameters.pointer("/properties/recipient/enum").and_then(Value::as_array);
        Some(names.into_iter().flatten().filter_map(Value::as_str).collect())
    }

    /// Returns the peer to write to.
    fn peer(&self) -> Option<&str> {
        researcher_or_first(self.recipients()?.into_iter().filter(|name| *name != USER))
    }

    /// Returns the kind of agent to spawn.
    fn role(&self) -> Option<&str> {
        let kinds =
            self.tool(tool_names::SPAWN_AGENT)?.parameters.pointer("/properties/kind/enum")?.as_array()?;
        researcher_or_first(kinds.iter().filter_map(Value::as_str))
    }
}

/// Whether a message ends a request: an answer, a message to the user, or delegated work whose result arrives
/// later.
fn closes(message: &Message) -> bool {
    let to_user = |call: &ToolCall| {
        let recipient = call.arguments.get("recipient").and_then(Value::as_str);
        call.tool == tool_names::SEND_MESSAGE && recipient.is_none_or(|name| name == USER)
    };
    let handed_on = |call: &ToolCall| {
        [tool_names::SPAWN_AGENT, tool_names::REACTIVATE_AGENT].contains(&call.tool.as_str())
    };
    let ends = |call: &ToolCall| to_user(call) || handed_on(call);
    matches!(message, Message::Assistant { calls, .. } if calls.is_empty() || calls.iter().any(ends))
}

/// Returns the sub-agent that asks the user, according to the last that the conversation says of each.
fn asking(messages: &[Message]) -> Option<&str> {
    let mut known: Vec<(&str, bool)> = Vec::new();
    let contexts = messages.iter().filter_map(|message| match message {
        Message::Context(text) => Some(text.as_str()),
        _ => None,
    });
    for line in contexts.flat_map(|text| text.split("<sub_agent ").skip(1)) {
        let Some(id) = between(line, "id=\"", "\"") else { continue };
        known.retain(|(other, _)| *other != id);
        known.push((id, line.contains("<question")));
    }
    known.into_iter().find(|(_, asks)| *asks).map(|(id, _)| id)
}

/// Returns what the latest task came to, according to the last that the conversation says of it.
fn came_to(messages: &[Message]) -> Option<&str> {
    messages.iter().rev().find_map(|message| match message {
        Message::Context(text) => between(text, "<result>", "</result>"),
        _ => None,
    })
}

/// Returns the researcher if there is one, else the first name.
fn researcher_or_first<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Option<&'n str> {
    names.clone().find(|name| *name == "researcher").or_else(|| names.clone().next())
}

/// Returns the text of a prompt section as it was before escaping.
pub(super) fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// Returns the text between the first `begin` and the next `end`.
pub(super) fn between<'t>(text: &'t str, begin: &str, end: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(begin)?;
    rest.split_once(end).map(|(inner, _)| inner)
}

/// The extensions of text files.
const TEXT: &[&str] = &[".md", ".txt", ".toml", ".json", ".yaml", ".yml", ".csv", ".rs", ".py", ".html"];

/// Returns the first file that a request names.
fn named_file(request: &str) -> Option<&str> {
    let words =
        request.split_whitespace().map(|word| word.trim_matches(['`', '"', '\'', '.', ',', '?', '!', ':']));
    words
        .filter(|word| !word.contains("://"))
        .find(|word| TEXT.iter().any(|ending| word.to_lowercase().ends_with(ending)))
}

/// Returns a small text file from a listing with lines such as `notes.md (120 bytes)`: the README, or else
/// the first one.
fn small_text_file(listing: &str) -> Option<&str> {
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

/// Returns the first web address in a text.
fn url(text: &str) -> Option<&str> {
    let start = text.find("https://").into_iter().chain(text.find("http://")).min()?;
    let address = text[start..].split(|c: char| c.is_whitespace() || "<>\"'`()[]".contains(c)).next()?;
    Some(address.trim_end_matches(['.', ',', ';', ':', '!', '?']))
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim()
}

/// Removes the disclaimer from a peer's answer, so that it appears only once.
fn without_disclaimer(text: &str) -> String {
    text.replace(DISCLAIMER, "").trim().to_owned()
}

/// Cuts a text to at most so many characters, at the end of a line or sentence if one is near, else of a
/// word.
fn cut(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let text = &text[..end];
    let last = |stops: &[&str]| {
        let ends = stops.iter().filter_map(|stop| Some(text.rfind(stop)? + stop.trim_end().len()));
        ends.max().filter(|whole| *whole > end / 2)
    };
    let whole = last(&["\n", ". "]).or_else(|| last(&[" "])).unwrap_or(end);
    format!("{}…", text[..whole].trim_end())
}
