//! Progress without a terminal: a line for each thing that happens.

use entourage_types::{Event, EventBody, ItemBody, QuestionStatus, Status};

use crate::cli::{out, progress::Progress, words};

/// Writes a line for each thing that happens.
pub(crate) struct Lines;

impl Lines {
    pub(super) fn event(&self, event: &Event, progress: &Progress) {
        let worth_a_line = match &event.body {
            EventBody::AgentCreated { .. } => true,
            // Open ones are told with how to answer them, once everybody waits.
            EventBody::Question { question } => question.status != QuestionStatus::Open,
            EventBody::AgentStatus { status, .. } => status.is_terminal() && *status != Status::Succeeded,
            EventBody::Step { .. }
            | EventBody::Intervention { .. }
            | EventBody::Grant { .. }
            | EventBody::Session { .. } => true,
            EventBody::Item { item: Some(item), .. } => match &item.body {
                ItemBody::Turn(turn) => !turn.calls.is_empty(),
                ItemBody::Output(output) => output.error,
                ItemBody::Notice(_) => true,
                ItemBody::Message(_) | ItemBody::Decision(_) | ItemBody::Digest(_) => false,
            },
            EventBody::Item { item: None, .. } | EventBody::Run { .. } | EventBody::Task { .. } => false,
        };
        let who = progress.member(event.agent).map_or("agent", |member| member.kind.as_str());
        if let Some(text) = words::event(event).filter(|_| worth_a_line) {
            out::note(format!("{who} {text}"));
        }
    }
}
