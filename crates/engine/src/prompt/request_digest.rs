//! The digest of a request. It covers all that a provider receives: the messages as a chain, each link over the
//! message and the link before it, so that a longer conversation is digested from where the shorter one ended.

use entourage_llm::{Message, Request, ToolChoice};
use entourage_types::{Sha256, ToolSpec, tool_names};
use sha2::{Digest as _, Sha256 as Hasher};

use super::{View, conversation::Frame};
use crate::digest::sha256;

/// The messages that were digested so far. It can be lost at any time: it saves digesting them again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chain {
    frame: Frame,
    /// How many messages.
    count: usize,
    link: [u8; 32],
}

impl Chain {
    /// Goes on with the messages of a view, or begins anew if the view is another one.
    pub(super) fn over(
        before: Option<Self>,
        view: &View<'_>,
        tools: &[ToolSpec],
        messages: &[Message],
    ) -> Self {
        let frame = view.frame(reads_on(tools));
        let known = before.filter(|before| before.frame == frame && before.count <= messages.len());
        let Self { count, link, .. } = known.unwrap_or(Self { frame, count: 0, link: [0; 32] });
        let link = messages[count..].iter().fold(link, next);
        Self { frame, count: messages.len(), link }
    }
}

/// Whether the model has the tool to read what was too long to be shown.
pub(super) fn reads_on(tools: &[ToolSpec]) -> bool {
    tools.iter().any(|tool| tool.name == tool_names::READ_OUTPUT)
}

/// The digest of a list of tools.
pub(crate) fn of_tools(tools: &[ToolSpec]) -> Sha256 {
    // Plain data is always written.
    sha256(&serde_json::to_string(tools).unwrap_or_default())
}

/// The digest of a request whose messages are a chain, and whose system prompt and tools have these digests.
pub(crate) fn of_request(request: &Request, chain: &Chain, system: Sha256, tools: Sha256) -> Sha256 {
    of_linked(request, chain.link, system, tools)
}

/// The digest of a request that no other one goes on from.
pub(crate) fn of_single_request(request: &Request) -> Sha256 {
    let link = request.messages.iter().fold([0; 32], next);
    of_linked(request, link, sha256(&request.system), of_tools(&request.tools))
}

fn of_linked(request: &Request, link: [u8; 32], system: Sha256, tools: Sha256) -> Sha256 {
    let Request {
        model,
        output_schema,
        open_schema,
        tool_choice,
        one_call,
        temperature,
        max_tokens,
        system: _,
        messages: _,
        // It follows from the messages.
        has_cuts: _,
        tools: _,
        priority: _,
        owner: _,
    } = request;
    let mut hasher = Hasher::new();
    for digest in [system.as_bytes(), tools.as_bytes(), &link] {
        hasher.update(digest);
    }
    hasher.update([u8::from(*tool_choice == ToolChoice::None), u8::from(*one_call)]);
    if *open_schema {
        hasher.update([1]);
    }
    let schema = output_schema.as_ref().map(ToString::to_string);
    let temperature = temperature.map(|temperature| temperature.to_bits().to_string());
    let max_tokens = max_tokens.map(|tokens| tokens.to_string());
    for option in [model, &schema, &temperature, &max_tokens] {
        hasher.update([u8::from(option.is_some())]);
        part(&mut hasher, option.as_deref().unwrap_or_default());
    }
    Sha256::from_bytes(hasher.finalize().into())
}

/// The link of a message after this one.
fn next(before: [u8; 32], message: &Message) -> [u8; 32] {
    let mut hasher = Hasher::new();
    hasher.update(before);
    match message {
        Message::User(text) => parts(&mut hasher, 0, [text]),
        Message::Notice(text) => parts(&mut hasher, 1, [text]),
        Message::Context(text) => parts(&mut hasher, 2, [text]),
        Message::Output { call, tool, text } => parts(&mut hasher, 3, [call, tool, text]),
        Message::Assistant { text, calls } => {
            parts(&mut hasher, 4, [text]);
            for call in calls {
                let (id, arguments) = (call.id.to_string(), call.arguments.to_string());
                parts(&mut hasher, 5, [&id, &call.tool, &arguments]);
            }
        }
    }
    hasher.finalize().into()
}

fn parts<const N: usize>(hasher: &mut Hasher, kind: u8, texts: [&String; N]) {
    hasher.update([kind]);
    texts.into_iter().for_each(|text| part(hasher, text));
}

/// Adds a text with its length, so that no two lists of texts are the same bytes.
fn part(hasher: &mut Hasher, text: &str) {
    hasher.update((text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, sync::Arc};

    use entourage_types::Owner;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_chain_goes_on_from_the_same_view_only() {
        let (view, other) = (View::whole(&[], 100), View::whole(&[], 200));
        let [one, two, changed] = ["one", "two", "changed"].map(|text| Message::User(text.to_owned()));
        let over = |before, view, messages: &[Message]| Chain::over(before, view, &[], messages);
        let before = over(None, &view, std::slice::from_ref(&one));
        let messages = [one, two.clone()];
        assert_eq!(over(Some(before), &view, &messages), over(None, &view, &messages));
        let messages = [changed, two];
        assert_eq!(over(Some(before), &other, &messages), over(None, &other, &messages));
    }

    /// Requests that differ in one thing each that a provider receives.
    fn variants(request: &Request) -> Vec<(&'static str, Request)> {
        let tool = ToolSpec::new("look_up", "Looks up.", json!({ "type": "object" }));
        let of = |change: &dyn Fn(&mut Request)| {
            let mut changed = request.clone();
            change(&mut changed);
            changed
        };
        vec![
            ("another model", of(&|request| request.model = Some("openai::other".into()))),
            ("another system prompt", of(&|request| request.system = "Be long.".into())),
            ("a message", of(&|request| request.messages.push(Message::User("More.".into())))),
            (
                "another sort of message",
                of(&|request| request.messages = vec![Message::Notice("Go.".into())]),
            ),
            ("a tool", of(&|request| request.tools = Arc::from([tool.clone()]))),
            ("no call allowed", of(&|request| request.tool_choice = ToolChoice::None)),
            ("one call at most", of(&|request| request.one_call = true)),
            ("a schema", of(&|request| request.output_schema = Some(Arc::new(json!({}))))),
            (
                "another schema",
                of(&|request| request.output_schema = Some(Arc::new(json!({ "type": "array" })))),
            ),
            ("an open schema", of(&|request| request.open_schema = true)),
            ("a temperature", of(&|request| request.temperature = Some(0.0))),
            ("another temperature", of(&|request| request.temperature = Some(0.5))),
            ("a limit", of(&|request| request.max_tokens = Some(1))),
            ("the same number as a temperature", of(&|request| request.temperature = Some(1.0))),
        ]
    }

    #[test]
    fn whatever_a_provider_receives_changes_the_digest() {
        let request = Request {
            system: "Be brief.".into(),
            messages: vec![Message::User("Go.".into())],
            ..Request::default()
        };
        let mut digests = HashMap::from([(of_single_request(&request), "the request")]);
        for (what, changed) in variants(&request) {
            let same = digests.insert(of_single_request(&changed), what);
            assert_eq!(same, None, "{what} has the digest of another");
        }
        // Who waits for the model, and how urgently, no provider receives.
        let urgent = Request { owner: Some(Owner::local()), ..request.clone() };
        assert_eq!(of_single_request(&urgent), of_single_request(&request));
    }
}
