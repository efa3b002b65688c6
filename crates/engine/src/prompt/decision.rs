//! The request for a decision of the model.

use std::{borrow::Cow, fmt::Write as _};

use entourage_llm::{Message, Request};
use entourage_types::{
    Decision, DecisionOutcome, DecisionPrompt, DecisionReads, Item, ItemBody, Kind, RunId,
};
use serde_json::{Map, Value};

use super::{PerItem, View, escaped, render_transcript, system::HOUSE_RULES};

/// What the request for a decision is rendered from: nothing else determines what a provider receives.
pub(crate) struct RenderedDecision<'a> {
    pub(crate) kind: &'a Kind,
    /// The model that is asked.
    pub(crate) model: Option<String>,
    pub(crate) prompt: &'a DecisionPrompt,
    /// The items of the session.
    pub(crate) items: &'a [Item],
    /// The run that needs the decision.
    pub(crate) run: RunId,
    /// The name of the decision.
    pub(crate) name: &'a str,
    /// The most tokens of the answer, if they are limited.
    pub(crate) max_tokens: Option<u32>,
}

impl RenderedDecision<'_> {
    /// Returns the request. Answers that did not fit follow the conversation and are no part of it, so that the
    /// request is the same whether the process went on or died in between.
    pub(crate) fn request(self) -> Request {
        let Self { kind, model, prompt, items, run, name, max_tokens } = self;
        let conversation = without_refused(items, run, name);
        let view = View::whole(&conversation, kind.limits.max_output_chars);
        let mut messages = Vec::new();
        let mut last = prompt.text.clone();
        match prompt.conversation {
            DecisionReads::Whole(most) => {
                let rendered = render_transcript(&view, most, PerItem::Share);
                let rendered = escaped(rendered.trim_end());
                last = format!("<conversation>\n{rendered}\n</conversation>\n\n{last}").trim_end().to_owned();
            }
            DecisionReads::Latest(number) => messages = view.exchanged(number as usize),
            DecisionReads::Before(number) => {
                let before = conversation.iter().take_while(|item| item.run != run).count();
                let view = View::whole(&conversation[..before], kind.limits.max_output_chars);
                messages = view.exchanged(number as usize);
            }
            DecisionReads::Nothing => {}
        }
        if !last.is_empty() || !matches!(messages.last(), Some(Message::User(_))) {
            messages.push(Message::User(if last.is_empty() { "Decide now.".to_owned() } else { last }));
        }
        for decision in refused(items, run, name) {
            if let DecisionOutcome::Refused { answer, why } = &decision.outcome {
                refuse(&mut messages, answer.clone(), why);
            }
        }
        let mut system = format!("{}\n\n{HOUSE_RULES}", prompt.instructions.trim_end());
        let schema = Some(&prompt.schema).filter(|schema| !schema.is_null());
        if let Some(schema) = schema {
            let _ = write!(
                system,
                "\n\nAnswer with one JSON object and nothing else. It must satisfy this JSON schema:\n{schema}"
            );
        }
        Request {
            model,
            system: system.into(),
            messages,
            output_schema: schema.cloned().map(Into::into),
            open_schema: schema.is_some_and(|schema| !is_closed(schema)),
            temperature: prompt.temperature.or(kind.temperature),
            max_tokens,
            ..Request::default()
        }
    }
}

/// Returns the answers to a decision of a run that did not fit, oldest first.
pub(crate) fn refused<'a>(
    items: &'a [Item],
    run: RunId,
    name: &'a str,
) -> impl DoubleEndedIterator<Item = &'a Decision> {
    items.iter().filter_map(move |item| refused_in(item, run, name))
}

fn refused_in<'a>(item: &'a Item, run: RunId, name: &str) -> Option<&'a Decision> {
    match &item.body {
        ItemBody::Decision(decision) => {
            let is_refused = matches!(decision.outcome, DecisionOutcome::Refused { .. });
            (is_refused && item.run == run && decision.name == name).then_some(decision)
        }
        _ => None,
    }
}

fn without_refused<'a>(items: &'a [Item], run: RunId, name: &str) -> Cow<'a, [Item]> {
    let is_refused = |item: &Item| refused_in(item, run, name).is_some();
    match items.iter().any(is_refused) {
        true => items.iter().filter(|item| !is_refused(item)).cloned().collect(),
        false => Cow::Borrowed(items),
    }
}

/// Adds an answer that does not fit to the messages, and what is wrong with it.
pub(crate) fn refuse(messages: &mut Vec<Message>, answer: String, why: &str) {
    messages.push(Message::Assistant { text: answer, calls: Vec::new() });
    messages.push(Message::Notice(format!(
        "<answer_refused>{}</answer_refused>\nAnswer again, with one JSON object that satisfies the schema.",
        escaped(why)
    )));
}

/// Whether every object of a schema names all its fields, requires them and allows no other: what providers demand of a
/// schema that they guarantee.
fn is_closed(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let properties = fields.get("properties").and_then(Value::as_object);
            let required = |name: &String| {
                fields
                    .get("required")
                    .and_then(Value::as_array)
                    .is_some_and(|all| all.iter().any(|one| one == name))
            };
            let is_object = properties.is_some() || fields.get("type").is_some_and(|of| of == "object");
            let closed = !is_object
                || (fields.get("additionalProperties") == Some(&Value::Bool(false))
                    && properties.into_iter().flat_map(Map::keys).all(required));
            closed && fields.values().all(is_closed)
        }
        Value::Array(values) => values.iter().all(is_closed),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_closed_if_no_object_in_it_leaves_anything_open() {
        let closed = json!({
            "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"],
            "additionalProperties": false,
        });
        let open =
            json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] });
        let optional = json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": false });
        let of = |inner: &Value| {
            json!({
                "type": "object", "properties": { "list": { "type": "array", "items": inner } },
                "required": ["list"], "additionalProperties": false,
            })
        };
        assert!(is_closed(&closed) && is_closed(&of(&closed)));
        for open in [&open, &optional, &of(&open), &of(&optional), &json!({ "type": "object" })] {
            assert!(!is_closed(open), "{open}");
        }
    }
}
