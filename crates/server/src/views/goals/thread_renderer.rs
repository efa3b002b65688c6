//! Renders the messages of a thread from the items of a transcript and the events about it, one after the other.

use std::collections::HashMap;

use entourage_types::{
    About, Author, CallId, Failed, FailedTry, FailureClass, Item, ItemBody, Notice, NoticeCode, Output,
    Question, QuestionId, QuestionStatus, RunId, StopReason, Time, ToolCall, Turn, tool_names,
};
use serde_json::Value;

use super::{
    Agentable, ThreadMessageView, ToolCompleteView, ToolStartView,
    thread_message::{ActivityStatus, MessageType, Metadata, Source},
};
use crate::views::chats::sent_at;

/// The longest text of an activity, in characters.
const LONGEST: usize = 80;
/// How a failure begins after which no attempt is made.
const PERMANENTLY: &str = "Failed permanently";

/// What changes in a thread.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    /// A message is new, or replaces the one with the same id.
    Message(ThreadMessageView),
    /// A tool is used.
    ToolStart(ToolStartView),
    /// The use of a tool has ended.
    ToolComplete(ToolCompleteView),
}

/// Renders one thread.
#[derive(Debug, Clone)]
pub(crate) struct ThreadRenderer {
    of: Agentable,
    /// The activities that have not ended.
    open: HashMap<CallId, ThreadMessageView>,
    /// The calls that code has made, with the call whose code made them: no activity of theirs is shown.
    made_by: HashMap<CallId, CallId>,
    /// The open questions about the calls with activities, and about those that their code has made.
    asked: HashMap<CallId, Vec<QuestionId>>,
}

/// A failed attempt at a model call, which is followed by another.
#[derive(Debug, Clone)]
pub(crate) struct Failing<'a> {
    pub(crate) run: RunId,
    pub(crate) attempt: u32,
    pub(crate) error: &'a str,
    pub(crate) class: Option<FailureClass>,
    pub(crate) due: Time,
    pub(crate) at: Time,
}

impl ThreadRenderer {
    pub(crate) fn new(of: Agentable) -> Self {
        Self { of, open: HashMap::new(), made_by: HashMap::new(), asked: HashMap::new() }
    }

    /// Whether the use of a tool has not ended.
    pub(crate) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// What an item of the agent's transcript changes. Texts of the model are not shown: the agent sends what the user is
    /// to read (S4-R030).
    pub(crate) fn item(&mut self, item: &Item) -> Vec<Change> {
        match &item.body {
            ItemBody::Message(message) if message.from == Author::User => {
                let (id, created) = match message.post {
                    Some(post) => (post.to_string(), sent_at(post)),
                    None => (self.item_id(item), None),
                };
                let read = self.text(id, Source::User, message.text.clone(), created.unwrap_or(item.at));
                vec![Change::Message(ThreadMessageView { updated_at: item.at, ..read })]
            }
            ItemBody::Turn(turn) => self.turn(item, turn),
            ItemBody::Output(output) => self.output(item, output),
            ItemBody::SubCalls(made) => {
                self.made_by.extend(made.calls.iter().map(|call| (call.id, made.of)));
                Vec::new()
            }
            // The person who stopped it knows.
            ItemBody::Notice(_) if is_stop(item) => Vec::new(),
            ItemBody::Notice(notice) => match notice.code {
                NoticeCode::Ended(reason) => vec![Change::Message(self.failed(item, reason, notice))],
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// The message about an attempt that failed and is followed by another: one for each run, which changes with each
    /// attempt (S4-R107, R108).
    pub(crate) fn failing(&self, failing: &Failing<'_>) -> ThreadMessageView {
        let Failing { run, attempt, error, class, due, at } = failing;
        let content = match attempt {
            0 => format!("Its model was not asked yet ({error}). It is asked at {due}."),
            _ => format!("Attempt {attempt} failed ({error}). The next one is made at {due}."),
        };
        let failed = Failed { class: class.unwrap_or(FailureClass::Other), attempts: *attempt };
        let metadata = Metadata::of_failure(Some(failed), Some(*due));
        ThreadMessageView { metadata, ..self.text(error_id(*run), Source::Error, content, *at) }
    }

    /// The message about the end of a run that failed: it is the last one, also if there was one attempt alone (S4-R111).
    fn failed(&self, item: &Item, reason: StopReason, notice: &Notice) -> ThreadMessageView {
        // A run that met a limit, or was given up, has not failed.
        let is_failure = !reason.is_limit() && reason != StopReason::Stale;
        let content = match notice.text.strip_prefix(PERMANENTLY) {
            None if is_failure => format!("{PERMANENTLY}: {}", notice.text),
            _ => notice.text.clone(),
        };
        let metadata = Metadata::of_failure(notice.failed, None);
        ThreadMessageView { metadata, ..self.text(error_id(item.run), Source::Error, content, item.at) }
    }

    /// What a question about a call of the agent changes, or about one that the code of a call has made.
    pub(crate) fn question(&mut self, question: &Question) -> Option<Change> {
        if question.agent != self.of.agent || question.about == About::Information {
            return None;
        }
        let call = self.made_by.get(&question.call).copied().unwrap_or(question.call);
        let activity = self.open.get_mut(&call)?;
        let asked = self.asked.entry(call).or_default();
        asked.retain(|id| *id != question.id);
        if question.status == QuestionStatus::Open {
            asked.push(question.id);
        }
        // Code may have made several calls that wait for answers.
        activity.metadata.question_id = asked.first().copied();
        activity.metadata.status = Some(match asked.is_empty() {
            true => ActivityStatus::Running,
            false => ActivityStatus::AwaitingUser,
        });
        activity.updated_at = question.updated;
        Some(Change::Message(activity.clone()))
    }

    fn turn(&mut self, item: &Item, turn: &Turn) -> Vec<Change> {
        let mut changes = Vec::new();
        if let Some(asked) = &turn.asked {
            // The attempt that succeeded ends what the others said.
            changes.extend(self.overcome(item.run, &asked.failed, asked.held_back, item.at));
        }
        for call in turn.calls.iter().filter(|call| is_activity(&call.tool)) {
            let activity = self.activity(call, item.at);
            changes.push(Change::ToolStart(ToolStartView::of(call)));
            changes.push(Change::Message(activity.clone()));
            self.open.insert(call.id, activity);
        }
        changes
    }

    /// The message about the failed attempts of a run once more, if there was one: they are over.
    pub(crate) fn overcome(
        &self,
        run: RunId,
        failed: &[FailedTry],
        held_back: bool,
        at: Time,
    ) -> Option<Change> {
        let last = failed.last();
        if last.is_none() && !held_back {
            return None;
        }
        let class = last.and_then(|last| last.class).unwrap_or(FailureClass::Other);
        let failed = Failed { class, attempts: u32::try_from(failed.len()).unwrap_or(u32::MAX) };
        let metadata = Metadata { resolved: Some(true), ..Metadata::of_failure(Some(failed), None) };
        let gone = self.text(error_id(run), Source::Error, String::new(), at);
        Some(Change::Message(ThreadMessageView { metadata, ..gone }))
    }

    fn output(&mut self, item: &Item, output: &Output) -> Vec<Change> {
        let mut changes = Vec::new();
        if let Some(said) = output.said() {
            changes.push(Change::Message(self.text(
                self.item_id(item),
                Source::Agent,
                said.to_owned(),
                item.at,
            )));
        }
        changes.extend(self.ended(output, item.at));
        changes
    }

    /// What the end of a call changes, whose output is in the transcript or waits for those of its turn: once, whichever
    /// comes first.
    pub(crate) fn ended(&mut self, output: &Output, at: Time) -> Vec<Change> {
        let Some(mut activity) = self.open.remove(&output.call) else { return Vec::new() };
        self.asked.remove(&output.call);
        self.made_by.retain(|_, maker| *maker != output.call);
        activity.metadata.status =
            Some(if output.error { ActivityStatus::Failed } else { ActivityStatus::Completed });
        activity.metadata.question_id = None;
        activity.updated_at = at;
        vec![Change::ToolComplete(ToolCompleteView::of(output)), Change::Message(activity)]
    }

    fn activity(&self, call: &ToolCall, at: Time) -> ThreadMessageView {
        let metadata = Metadata {
            tool_name: Some(call.tool.clone()),
            tool_call_id: Some(call.id),
            status: Some(ActivityStatus::Running),
            ..Metadata::default()
        };
        ThreadMessageView {
            metadata,
            message_type: MessageType::Tool,
            ..self.text(call.id.to_string(), Source::Agent, what_it_does(call), at)
        }
    }

    fn text(&self, id: String, source: Source, content: String, at: Time) -> ThreadMessageView {
        ThreadMessageView::text(&self.of, id, source, content, at)
    }

    fn item_id(&self, item: &Item) -> String {
        format!("{}.{}", self.of.agent, item.seq)
    }
}

/// Whether an item is the end of a run that a person stopped: one that was given up has failed attempts.
pub(crate) fn is_stop(item: &Item) -> bool {
    match &item.body {
        ItemBody::Notice(notice) => {
            matches!(notice.code, NoticeCode::Ended(StopReason::Cancelled)) && notice.failed.is_none()
        }
        _ => false,
    }
}

/// The id of the message about the failures of a run.
fn error_id(run: RunId) -> String {
    format!("{run}.error")
}

/// Whether the use of a tool is shown: what is sent and asked is shown as a text.
fn is_activity(tool: &str) -> bool {
    tool != tool_names::SEND_MESSAGE && tool != tool_names::FINAL_ANSWER
}

/// The name of the tool in words, and the first text that it is given.
fn what_it_does(call: &ToolCall) -> String {
    let tool = call.tool.replace("__", ": ").replace('_', " ");
    let first =
        call.arguments.as_object().into_iter().flat_map(|given| given.values()).find_map(Value::as_str);
    let given: String = first.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = given.chars().take(LONGEST).collect();
    let more = if shown.len() < given.len() { "…" } else { "" };
    let mut letters = tool.chars();
    let tool: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    if shown.is_empty() { tool } else { format!("{tool}: {shown}{more}") }
}
