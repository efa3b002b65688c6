//! The conversation: the items of a session as the model reads them.

use entourage_llm::Message;
use entourage_types::{
    Author, Context, Digest, Item, ItemBody, Kind, Notice, NoticeCode, StepKey, Time, ToolCall,
};
use serde_json::Value;

use super::{
    cut::{cut, is_longer},
    escaped, sections, task_result,
};

/// The size of a message beside its text, in bytes.
const FRAME: usize = 16;
/// The size of the mark where a text is cut, in bytes.
const MARK: usize = 96;

/// What the model sees of a session: the digest of the older items, and the items after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) digest: Option<&'a Digest>,
    /// The context that was written with the digest: the model reads it before the items that remain, so that
    /// the last words it reads are still those of the conversation.
    pub(crate) opening: Option<&'a Item>,
    pub(crate) items: &'a [Item],
    /// How many characters of an output the model sees.
    pub(crate) max_output: usize,
    /// How many characters of a message the model sees, if that is bounded.
    pub(crate) max_message: Option<usize>,
    /// Task results before the item with this number are hidden.
    pub(crate) results_from: u64,
    /// Contexts before the item with this number are hidden: what they say was written again with the digest.
    pub(crate) contexts_from: u64,
}

impl<'a> View<'a> {
    /// Returns what an agent of this kind sees of these items, all of one session.
    pub(crate) fn of(items: &'a [Item], kind: &Kind) -> Self {
        Self::before(items, kind, 0)
    }

    /// Returns what an agent of this kind still sees of these items once so many messages have joined them.
    pub(crate) fn before(items: &'a [Item], kind: &Kind, coming: usize) -> Self {
        let view = Self::whole(items, kind.limits.max_output_chars);
        kind.context.messages.map_or(view, |messages| view.latest((messages as usize).saturating_sub(coming)))
    }

    /// Returns the view of these items, all of one session, with at most `max_output` characters of each
    /// output.
    pub(crate) fn whole(items: &'a [Item], max_output: usize) -> Self {
        let found = items.iter().enumerate().rev().find_map(|(at, item)| match &item.body {
            ItemBody::Digest(digest) => Some((at, digest)),
            _ => None,
        });
        let digest = found.map(|(_, digest)| digest);
        let opening = found.and_then(|(at, _)| items.get(at + 1)).filter(|item| context(item).is_some());
        let from = digest.map_or(0, |digest| items.partition_point(|item| item.seq < digest.from));
        let contexts_from = found.map_or(0, |(at, _)| items[at].seq);
        let items = &items[from..];
        let (max_message, results_from) = (None, 0);
        let view = Self { digest, opening, items, max_output, max_message, results_from, contexts_from };
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
        let first = match messages.checked_sub(1) {
            Some(nth) => self.items.iter().rev().filter(said).nth(nth).map(|first| first.seq),
            None => Some(u64::MAX),
        };
        let mut from = first.map_or(0, |first| self.items.partition_point(|item| item.seq < first));
        // What the model read right before a message belongs to it.
        while messages > 0 && from > 0 && context(&self.items[from - 1]).is_some() {
            from -= 1;
        }
        let last = self.items.iter().rev().find(|item| matches!(item.body, ItemBody::Message(_)));
        let digest = self.digest.filter(|_| from == 0);
        let opening = self.opening.filter(|_| from == 0);
        let results_from = last.map_or(0, |item| item.seq);
        Self { digest, opening, items: &self.items[from..], results_from, ..self }
    }

    /// Returns the view with at most `max` characters of each message and output.
    pub(crate) fn bounded(self, max: Option<usize>) -> Self {
        let max_output = max.map_or(self.max_output, |max| max.min(self.max_output));
        Self { max_output, max_message: max.or(self.max_message), ..self }
    }

    /// Returns the indexes at which a whole turn, or a message with the context before it, begins: the view may
    /// begin only there.
    pub(crate) fn beginnings(&self) -> impl Iterator<Item = usize> {
        let items = self.items;
        let is_message = |item: &Item| matches!(item.body, ItemBody::Message(_));
        let begins = move |at: &usize| match &items[*at].body {
            ItemBody::Message(_) => at.checked_sub(1).is_none_or(|before| context(&items[before]).is_none()),
            ItemBody::Turn(_) => true,
            ItemBody::Context(_) => items.get(at + 1).is_some_and(is_message),
            _ => false,
        };
        (0..items.len()).filter(begins)
    }

    /// Returns what the model reads beside the conversation, in the order in which it reads it.
    pub(crate) fn contexts(&self) -> impl Iterator<Item = &'a Context> {
        self.told().map(|(_, context)| context)
    }

    /// Returns the same, each with the time at which it was read.
    pub(super) fn told(&self) -> impl Iterator<Item = (Time, &'a Context)> {
        let (view, items) = (*self, self.items);
        let all = view.opening.into_iter().chain(items.iter().filter(move |item| !view.hides(item)));
        all.filter_map(|item| Some((item.at, context(item)?)))
    }

    /// Returns what determines how the items of this view are rendered. With the same frame, the messages of
    /// a longer conversation begin with those of a shorter one.
    pub(super) fn frame(&self, readable: bool) -> Frame {
        Frame {
            first: self.items.first().map(|item| item.seq),
            digest: self.digest.map(|_| self.contexts_from),
            opening: self.opening.map(|item| item.seq),
            bounds: (self.max_output, self.max_message),
            results_from: self.results_from,
            readable,
        }
    }

    /// Renders the messages; `readable` says whether the model has the tool to read what is left out.
    pub(crate) fn messages(&self, readable: bool) -> Vec<Message> {
        let digest = self.digest.filter(|digest| !digest.text.is_empty()).map(|digest| {
            Message::Notice(format!(
                "<earlier_conversation>\n{}\n</earlier_conversation>",
                escaped(&digest.text)
            ))
        });
        let opening =
            self.opening.and_then(context).map(|context| Message::Context(sections::render(context)));
        // Nearly all items are messages.
        let mut messages = Vec::with_capacity(self.items.len() + 2);
        messages.extend(digest);
        messages.extend(opening);
        messages.extend(self.items.iter().filter_map(|item| self.message(item, readable)));
        messages
    }

    /// Whether the model does not see the whole of a message or an output because of its length.
    pub(crate) fn has_cuts(&self) -> bool {
        let shown = self.items.iter().filter(|item| !self.hides(item));
        shown.map(|item| &item.body).any(|body| match body {
            ItemBody::Message(message) => self.max_message.is_some_and(|max| is_longer(&message.text, max)),
            ItemBody::Output(output) => is_longer(&output.text, self.max_output),
            _ => false,
        })
    }

    /// Whether an item is a turn in which a program made calls, or an output of such a call. The tools of a program
    /// are not the model's, and providers refuse calls of tools that they do not know.
    fn is_by_program(&self, item: &Item) -> bool {
        match &item.body {
            ItemBody::Turn(turn) => is_of_program(item) && !turn.calls.is_empty(),
            ItemBody::Output(_) => {
                let at = self.items.partition_point(|other| other.seq < item.seq);
                let turn = self.items[..at].iter().rev().find(|item| matches!(item.body, ItemBody::Turn(_)));
                turn.is_some_and(is_of_program)
            }
            _ => false,
        }
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
            _ => None,
        }
    }

    fn message(&self, item: &Item, readable: bool) -> Option<Message> {
        if self.hides(item) {
            return None;
        }
        if self.is_by_program(item) {
            return self.as_notice(item, readable);
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
            ItemBody::Context(context) => Message::Context(sections::render(context)),
            ItemBody::Digest(_) | ItemBody::SubCalls(_) | ItemBody::SubOutput(_) => return None,
        })
    }

    /// Returns the latest `number` messages between the agent and its counterpart, without calls and their outputs.
    pub(crate) fn exchanged(&self, number: usize) -> Vec<Message> {
        let said = |item: &Item| match &item.body {
            ItemBody::Message(message) if !message.is_result() => Some(Message::User(message.text.clone())),
            ItemBody::Turn(turn) if turn.calls.is_empty() => Some(assistant(turn.text.clone())),
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
        let is_opening = self.opening.is_some_and(|opening| opening.seq == item.seq);
        let is_old_context = context(item).is_some() && item.seq < self.contexts_from;
        is_result && item.seq < self.results_from || is_opening || is_old_context
    }

    /// Returns the approximate size of the messages in bytes, without rendering them.
    pub(crate) fn weight(&self) -> usize {
        let digest = self.digest.map_or(0, |digest| digest.text.len() + FRAME);
        let opening = self.opening.and_then(context).map_or(0, |context| sections::weight(context) + FRAME);
        digest + opening + self.weight_of_items()
    }

    /// Returns the approximate size of what the model reads beside the conversation, in bytes.
    pub(crate) fn weight_of_contexts(&self) -> usize {
        self.contexts().map(|context| sections::weight(context) + FRAME).sum()
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
                ItemBody::Context(context) => sections::weight(context),
                ItemBody::Notice(notice) => return guidance(notice).map_or(0, |text| FRAME + text.len()),
                ItemBody::Decision(_)
                | ItemBody::Digest(_)
                | ItemBody::SubCalls(_)
                | ItemBody::SubOutput(_) => return 0,
            }
    }
}

fn is_of_program(item: &Item) -> bool {
    matches!(item.step, Some(StepKey::Calls(_)))
}

fn assistant(text: String) -> Message {
    Message::Assistant { text, calls: Vec::new() }
}

/// What determines how the items of a view are rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    first: Option<u64>,
    digest: Option<u64>,
    opening: Option<u64>,
    bounds: (usize, Option<usize>),
    results_from: u64,
    readable: bool,
}

/// Returns what an item holds beside the conversation, if it is such an item.
fn context(item: &Item) -> Option<&Context> {
    match &item.body {
        ItemBody::Context(context) => Some(context),
        _ => None,
    }
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
