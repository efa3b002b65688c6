//! The conversation: the items of a session as the model reads them.

use entourage_llm::Message;
use entourage_types::{Author, Digest, Item, ItemBody, Kind, Notice, NoticeCode, StepKey, ToolCall};
use serde_json::Value;

use super::{
    cut::{cut, is_longer},
    escaped, task_result,
};

/// The size of a message beside its text, in bytes.
const FRAME: usize = 16;
/// The size of the mark where a text is cut, in bytes.
const MARK: usize = 96;

/// What the model sees of a session: the digest of the older items, and the items after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) digest: Option<&'a Digest>,
    pub(crate) items: &'a [Item],
    /// How many characters of an output the model sees.
    pub(crate) max_output: usize,
    /// How many characters of a message the model sees, if that is bounded.
    pub(crate) max_message: Option<usize>,
    /// Task results before the item with this number are hidden.
    pub(crate) results_from: u64,
}

impl<'a> View<'a> {
    /// Returns what an agent of this kind sees of these items, all of one session.
    pub(crate) fn of(items: &'a [Item], kind: &Kind) -> Self {
        let view = Self::whole(items, kind.limits.max_output_chars);
        kind.context.messages.map_or(view, |messages| view.latest(messages as usize))
    }

    /// Returns the view of these items, all of one session, with at most `max_output` characters of each
    /// output.
    pub(crate) fn whole(items: &'a [Item], max_output: usize) -> Self {
        let digest = items.iter().rev().find_map(|item| match &item.body {
            ItemBody::Digest(digest) => Some(digest),
            _ => None,
        });
        let from = digest.map_or(0, |digest| items.partition_point(|item| item.seq < digest.from));
        let view = Self { digest, items: &items[from..], max_output, max_message: None, results_from: 0 };
        view.bounded(digest.and_then(|digest| digest.max_chars))
    }

    /// Returns the view of only the latest `messages` messages between the agent and its counterpart, with
    /// all calls between them; a task result is seen only if it is the last message.
    fn latest(self, messages: usize) -> Self {
        let said = |item: &&Item| match &item.body {
            ItemBody::Message(message) => !message.is_result(),
            ItemBody::Turn(turn) => turn.calls.is_empty(),
            _ => false,
        };
        let first = self.items.iter().rev().filter(said).nth(messages.saturating_sub(1));
        let from = first.map_or(0, |first| self.items.partition_point(|item| item.seq < first.seq));
        let last = self.items.iter().rev().find(|item| matches!(item.body, ItemBody::Message(_)));
        let digest = self.digest.filter(|_| from == 0);
        let results_from = last.map_or(0, |item| item.seq);
        Self { digest, items: &self.items[from..], results_from, ..self }
    }

    /// Returns the view with at most `max` characters of each message and output.
    pub(crate) fn bounded(self, max: Option<usize>) -> Self {
        let max_output = max.map_or(self.max_output, |max| max.min(self.max_output));
        Self { max_output, max_message: max.or(self.max_message), ..self }
    }

    /// Returns the indexes at which a whole turn or a message begins: the view may begin only there.
    pub(crate) fn beginnings(&self) -> impl Iterator<Item = usize> {
        let begins = |item: &Item| matches!(item.body, ItemBody::Message(_) | ItemBody::Turn(_));
        self.items.iter().enumerate().filter(move |(_, item)| begins(item)).map(|(index, _)| index)
    }

    /// Renders the messages; `readable` says whether the model has the tool to read what is left out.
    pub(crate) fn messages(&self, readable: bool) -> Vec<Message> {
        let digest = self.digest.filter(|digest| !digest.text.is_empty()).map(|digest| {
            Message::Notice(format!(
                "<earlier_conversation>\n{}\n</earlier_conversation>",
                escaped(&digest.text)
            ))
        });
        // The tools of a program are not the model's, and providers refuse calls of tools that they do not know.
        let mut by_program = false;
        let messages = self.items.iter().filter_map(|item| {
            if let ItemBody::Turn(turn) = &item.body {
                by_program = turn.used.is_none() && !turn.calls.is_empty() && is_of_program(item);
            }
            if by_program { self.as_notice(item, readable) } else { self.message(item, readable) }
        });
        digest.into_iter().chain(messages).collect()
    }

    /// Renders a turn of a program and the outputs of its calls.
    fn as_notice(&self, item: &Item, readable: bool) -> Option<Message> {
        match &item.body {
            ItemBody::Turn(turn) => {
                let call = |call: &ToolCall| {
                    let (tool, arguments) = (escaped(&call.tool), call.arguments.to_string());
                    format!("<call tool=\"{tool}\">{}</call>", escaped(&arguments))
                };
                Some(Message::Notice(turn.calls.iter().map(call).collect::<Vec<_>>().join("\n")))
            }
            ItemBody::Output(output) => {
                let text = cut(&output.text, self.max_output, readable.then_some(item.seq));
                let text = escaped(&text);
                let failed = if output.error { " failed=\"true\"" } else { "" };
                let tool = escaped(&output.tool);
                Some(Message::Notice(format!(
                    "<call_result tool=\"{tool}\"{failed}>\n{text}\n</call_result>"
                )))
            }
            _ => self.message(item, readable),
        }
    }

    fn message(&self, item: &Item, readable: bool) -> Option<Message> {
        if self.hides(item) {
            return None;
        }
        let number = readable.then_some(item.seq);
        Some(match &item.body {
            ItemBody::Message(message) => {
                let text = match self.max_message {
                    Some(max) => cut(&message.text, max, number),
                    None => message.text.clone(),
                };
                match (message.ended, message.task, &message.from) {
                    (Some(ended), Some(task), Author::Agent { kind, .. }) => {
                        Message::Notice(task_result(task, kind, &text, ended))
                    }
                    _ => Message::User(text),
                }
            }
            ItemBody::Turn(turn) => Message::Assistant { text: turn.text.clone(), calls: turn.calls.clone() },
            ItemBody::Output(output) => {
                let text = cut(&output.text, self.max_output, number);
                Message::Output {
                    call: output.call.to_string(),
                    tool: output.tool.clone(),
                    text: if output.error { format!("Error: {text}") } else { text },
                }
            }
            // A decision is for the program. What it leads to is in the conversation by itself.
            ItemBody::Decision(_) => return None,
            ItemBody::Notice(notice) => Message::Notice(guidance(notice)?),
            ItemBody::Digest(_) => return None,
        })
    }

    /// Returns the latest `number` messages between the agent and its counterpart, without calls and their outputs.
    pub(crate) fn exchanged(&self, number: usize) -> Vec<Message> {
        let said = |item: &Item| match &item.body {
            ItemBody::Message(message) if !message.is_result() => Some(Message::User(message.text.clone())),
            ItemBody::Turn(turn) if turn.calls.is_empty() => Some(turn.text.clone()).map(assistant),
            ItemBody::Output(output) => {
                output.said().or(output.answer()).map(|text| assistant(text.to_owned()))
            }
            _ => None,
        };
        let mut latest: Vec<Message> = self.items.iter().rev().filter_map(said).take(number).collect();
        latest.reverse();
        latest
    }

    fn hides(&self, item: &Item) -> bool {
        let is_result = matches!(&item.body, ItemBody::Message(message) if message.is_result());
        is_result && item.seq < self.results_from
    }

    /// Returns the approximate size of the messages in bytes, without rendering them.
    pub(crate) fn weight(&self) -> usize {
        let digest = self.digest.map_or(0, |digest| digest.text.len() + FRAME);
        digest + self.weight_of_items()
    }

    /// Returns the approximate size of the messages without the digest, in bytes.
    pub(crate) fn weight_of_items(&self) -> usize {
        self.items.iter().map(|item| self.weight_of(item)).sum()
    }

    /// Returns the approximate size of one item as a message, in bytes.
    pub(crate) fn weight_of(&self, item: &Item) -> usize {
        if self.hides(item) {
            return 0;
        }
        FRAME
            + match &item.body {
                ItemBody::Message(message) => seen(&message.text, self.max_message.unwrap_or(usize::MAX)),
                ItemBody::Turn(turn) => {
                    let calls = turn.calls.iter().map(|call| FRAME + call.tool.len() + size(&call.arguments));
                    turn.text.len() + calls.sum::<usize>()
                }
                ItemBody::Output(output) => seen(&output.text, self.max_output),

                ItemBody::Notice(notice) => return guidance(notice).map_or(0, |text| FRAME + text.len()),
                ItemBody::Decision(_) | ItemBody::Digest(_) => return 0,
            }
    }
}

fn is_of_program(item: &Item) -> bool {
    matches!(item.step, Some(StepKey::Calls(_)))
}

fn assistant(text: String) -> Message {
    Message::Assistant { text, calls: Vec::new() }
}

/// Returns what the model reads of a notice, if it is for the model.
fn guidance(notice: &Notice) -> Option<String> {
    let text = escaped(&notice.text);
    match notice.code {
        NoticeCode::LastCall(_) => {
            Some(format!("<limit_met>{text}. No more calls: answer now with what there is.</limit_met>"))
        }
        NoticeCode::OutputRejected => Some(format!("<answer_refused>{text}</answer_refused>")),
        NoticeCode::AskedToSend => Some(format!("<nothing_sent>{text}.</nothing_sent>")),
        _ => None,
    }
}

/// Returns the approximate size of the first `max` characters of a text in bytes, estimated from its
/// beginning.
fn seen(text: &str, max: usize) -> usize {
    if text.len() <= max {
        return text.len();
    }
    let (bytes, chars) =
        text.chars().take(64).fold((0, 0), |(bytes, chars), char| (bytes + char.len_utf8(), chars + 1));
    text.len().min(max.saturating_mul(bytes) / chars.max(1) + MARK)
}

/// Whether the model does not see the whole of an item because of its length.
pub(crate) fn is_cut(body: &ItemBody, max_output: usize) -> bool {
    match body {
        ItemBody::Output(output) => is_longer(&output.text, max_output),
        ItemBody::Digest(digest) => digest.max_chars.is_some(),
        _ => false,
    }
}

/// Returns the approximate size of a value as JSON, in bytes.
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
