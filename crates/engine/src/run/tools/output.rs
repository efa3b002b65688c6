//! The text of a run, from the model or from the program itself, and what the outputs of a turn mean for the
//! run.

use entourage_types::{
    Author, CallId, Item, ItemBody, Notice, NoticeCode, Output, OutputEffect, Reply, Status, SubOutput,
    ToolCall, tool_names,
};

use crate::run::{Result, Run};

/// What the outputs of a turn mean for the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnOutcome {
    /// A text for the user; a conversational run ends with it.
    User(String),
    /// The run's answer, which ends it.
    Answer(String),
    /// A guardrail refused a text: the model must try again.
    Refused,
}

impl Run<'_> {
    /// Returns the successful result of a task, if that opened this run.
    #[must_use]
    pub fn opening_result(&self) -> Option<String> {
        let opened_by = self.items().iter().find_map(|item| match &item.body {
            ItemBody::Message(message) if item.run == self.record.id => Some(message),
            _ => None,
        });
        opened_by
            .filter(|message| message.ended == Some(Status::Succeeded))
            .map(|message| message.text.clone())
    }

    /// Returns the output of a call, once it has one.
    #[must_use]
    pub fn output_of(&self, call: CallId) -> Option<&Output> {
        self.items().iter().rev().filter_map(output_in).find(|output| output.call == call)
    }

    /// Returns what the outputs of these calls mean for the run: an answer precedes a refusal, and that a
    /// text for the user. None if the user was asked: the run must not end before the model has read the
    /// reply.
    pub(in crate::run) fn turn_outcome(&self, calls: &[ToolCall]) -> Option<TurnOutcome> {
        let outputs = || calls.iter().rev().filter_map(|call| self.output_of(call.id));
        if outputs().any(Output::has_asked) {
            return None;
        }
        let answer = outputs().find_map(Output::answer).map(|text| TurnOutcome::Answer(text.to_owned()));
        let refused = || outputs().any(Output::is_refused).then_some(TurnOutcome::Refused);
        answer
            .or_else(refused)
            .or_else(|| outputs().find_map(Output::said).map(|text| TurnOutcome::User(text.to_owned())))
    }

    /// Returns the text that a call of this run last sent to the user, before the turn that the program has
    /// just passed.
    #[must_use]
    pub fn last_said(&self) -> Option<&str> {
        let of_run = self.until_turn().iter().rev().take_while(|item| item.run == self.record.id);
        of_run.filter_map(output_in).find_map(Output::said)
    }

    /// Whether the last turn may end the run. If only what is sent to the user is an answer and nothing was
    /// sent, the model reads a notice about that, once per run.
    ///
    /// # Errors
    /// An [`Interrupt`](crate::run::Interrupt) when that cannot be committed.
    pub async fn check_sent(&mut self) -> Result<bool> {
        if !self.is_unsent() {
            return Ok(true);
        }
        if self.finished_turn().is_some() {
            // A replayed turn: this was decided when the turn was new.
            return Ok(!self.since_turn().any(is_unsent));
        }
        // If only one model call is left, it is made without tools, so nothing could be sent.
        if self.was_asked_to_send() || self.limits().last_call().is_some() || self.limits().met().is_some() {
            return Ok(true);
        }
        let sends = tool_names::SEND_MESSAGE;
        let text = format!(
            "The user reads only what you send with `{sends}`, and you have sent nothing. Send it, or end again where \
             there is nothing to tell"
        );
        let at = self.engine.now();
        let mut writes = vec![self.append(ItemBody::Notice(Notice::new(NoticeCode::AskedToSend, text)), at)];
        writes.extend(self.resumed(at));
        self.commit(writes).await?;
        Ok(false)
    }

    /// Adds a warning for the person if the run ends without having sent anything.
    pub fn warn_if_unsent(&mut self) {
        if self.is_unsent() {
            let text = "The agent ended without sending anything; see its transcript for what it wrote";
            let notice = Notice::new(NoticeCode::NothingSent, text);
            let item = self.append(ItemBody::Notice(notice), self.engine.now());
            self.batch.push(item);
        }
    }

    /// Whether only what is sent to the user is an answer, and nothing was sent.
    fn is_unsent(&self) -> bool {
        let sends = self.kind.reply == Reply::SendMessage && self.offered.position().works_for.is_person();
        sends
            && !self.was_set_to_work_by_itself()
            && self.offered.tools().named(tool_names::SEND_MESSAGE).is_ok()
            && self.last_said().is_none()
    }

    /// Whether the run has read triggers and nothing else: nobody wrote, so nobody waits for an answer.
    fn was_set_to_work_by_itself(&self) -> bool {
        let own = self.items().iter().filter(|item| item.run == self.record.id);
        let mut read = own.filter_map(|item| match &item.body {
            ItemBody::Message(message) => Some(&message.from),
            _ => None,
        });
        read.next().is_some_and(|first| is_trigger(first) && read.all(is_trigger))
    }

    fn was_asked_to_send(&self) -> bool {
        self.items().iter().any(|item| item.run == self.record.id && is_unsent(item))
    }
}

fn is_trigger(author: &Author) -> bool {
    matches!(author, Author::Trigger { .. })
}

/// Whether an item is the notice that nothing was sent.
fn is_unsent(item: &Item) -> bool {
    matches!(&item.body, ItemBody::Notice(notice) if matches!(notice.code, NoticeCode::AskedToSend | NoticeCode::NothingSent))
}

fn output_in(item: &Item) -> Option<&Output> {
    match &item.body {
        ItemBody::Output(output) | ItemBody::SubOutput(SubOutput { output, .. }) => Some(output),
        _ => None,
    }
}

/// Returns what a completed call means for its run, beside the text that the model reads: an answer precedes
/// a text for the user.
pub(in crate::run) fn effect_of(said: Option<String>, answer: Option<String>) -> Option<OutputEffect> {
    answer.map(OutputEffect::Answer).or_else(|| said.map(OutputEffect::Said))
}
