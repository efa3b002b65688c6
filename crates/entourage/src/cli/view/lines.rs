//! Shows progress without a terminal: a line for each event.

use std::mem;

use entourage_api::{Event, EventBody, ItemBody};
use entourage_types::{EntityKind, NoticeCode, QuestionStatus, ShownStatus};

use crate::cli::{describe, out, progress::Progress};

/// Writes a line for each event.
#[derive(Default)]
pub(crate) struct Lines {
    /// Whether the agents that outlast the root were named.
    waits: bool,
}

impl Lines {
    pub(super) fn event(&mut self, event: &Event, progress: &Progress) {
        line(event, progress);
        let others: Vec<String> = progress
            .outlasting()
            .map(|member| format!("{} ({})", member.kind, progress.doing(member)))
            .collect();
        let waited = mem::replace(&mut self.waits, !others.is_empty());
        if self.waits && !waited {
            let root = progress.members().first().map_or("agent", |root| root.kind.as_str());
            let others = others.join(", ");
            out::note(format!("{root} has ended; still to end: {others}. Ctrl-C leaves, nothing is lost"));
        }
    }
}

/// Writes a line for an event that is worth one.
pub(super) fn line(event: &Event, progress: &Progress) {
    let worth_a_line = match &event.body {
        EventBody::AgentCreated { .. } => true,
        // Open questions are shown with how to answer them, once all agents wait.
        EventBody::Question { question } => question.status != QuestionStatus::Open,
        EventBody::AgentStatus { status, .. } => status.is_terminal() && *status != ShownStatus::Succeeded,
        EventBody::Step { .. }
        | EventBody::Intervention { .. }
        | EventBody::Grant { .. }
        | EventBody::Session { .. }
        | EventBody::Budget { .. } => true,
        // What a caller says of an agent when it starts it.
        EventBody::Record { kind, .. } => kind != EntityKind::ANNOTATIONS.as_str(),
        EventBody::Item { item: Some(item), .. } => match &item.body {
            ItemBody::Turn { calls, .. } => !calls.is_empty(),
            ItemBody::Output { error, .. } | ItemBody::SubOutput { error, .. } => *error,
            ItemBody::SubCalls { .. } => true,
            // It is said to the model.
            ItemBody::Notice { code, .. } if code == NoticeCode::AskedToSend.as_str() => false,
            // The error of the whole work, which is shown at its end, has the cause.
            ItemBody::Notice { cause, .. } => cause.is_none() || event.agent != progress.root(),
            ItemBody::Message { .. }
            | ItemBody::Decision { .. }
            | ItemBody::Digest { .. }
            | ItemBody::Context { .. } => false,
        },
        // Of those whose end has a text.
        EventBody::Task { .. } => true,
        EventBody::Item { item: None, .. } | EventBody::Run { .. } => false,
    };
    let who = progress.member(event.agent).map_or("agent", |member| member.kind.as_str());
    if let Some(text) = describe::event(event).filter(|_| worth_a_line) {
        out::note(format!("{who} {text}"));
    }
}
