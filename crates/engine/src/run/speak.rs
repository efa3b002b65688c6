//! What a run has said, by the model or by itself, and the calls that it answers without making them.

use entourage_types::{CallId, ItemBody, Output, StepState, ToolCall, Turn};
use serde_json::{Value, json};

use super::{
    Result, Run,
    call_tools::{key, output},
};
use crate::client::said;

/// What the outputs of a turn say beside their texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Words for the user; a conversational run ends with them.
    User(String),
    /// The run's answer, which ends it.
    Answer(String),
    /// Words that a check refused: the model is to try again.
    Refused,
}

impl Run<'_> {
    /// Says something of its own, without the model: the program's last word, which is committed
    /// with the end of the run.
    pub fn say(&mut self, text: impl Into<String>) -> String {
        let text = text.into();
        let turn = Turn { text: text.clone(), ..Turn::default() };
        let item = self.item(ItemBody::Turn(turn), self.house.now());
        self.riding.push(item);
        text
    }

    /// Answers the calls from `from` on without making them.
    ///
    /// # Errors
    /// An [`Interrupt`](super::Interrupt) when the store fails.
    pub async fn decline(&mut self, calls: &[ToolCall], from: usize, why: &str) -> Result<()> {
        for index in from..calls.len() {
            let call = &calls[index];
            let done = self.steps.get(&key(call)).is_some_and(|step| step.state == StepState::Done);
            if !done && !self.answered.contains(&call.id) {
                self.finish(calls, index, output(call, why, true), vec![]).await?;
            }
        }
        Ok(())
    }

    /// What a call returned, once it has.
    #[must_use]
    pub fn output_of(&self, call: CallId) -> Option<&Output> {
        self.items.iter().rev().find_map(|item| match &item.body {
            ItemBody::Output(output) if output.call == call => Some(output),
            _ => None,
        })
    }

    /// What the outputs of these calls told: an answer before what is to be tried again, and that before
    /// words for the user.
    pub(super) fn told(&self, calls: &[ToolCall]) -> Option<Told> {
        let outputs = || calls.iter().rev().filter_map(|call| self.output_of(call.id));
        let answer = outputs().find_map(answered).map(|text| Told::Answer(text.to_owned()));
        let refused = || outputs().find_map(refused_by).map(|_| Told::Refused);
        answer.or_else(refused).or_else(|| outputs().find_map(said).map(|text| Told::User(text.to_owned())))
    }
}

/// What an output keeps beside the text for words that a call told: to the user, or as the answer.
pub(super) fn kept(said: Option<String>, answer: Option<String>) -> Option<Value> {
    match (said, answer) {
        (_, Some(words)) => Some(json!({ "answer": words })),
        (Some(words), None) => Some(json!({ "said": words })),
        (None, None) => None,
    }
}

/// What an output keeps for words that a check refused: the check's name.
pub(super) const REFUSED_BY: &str = "refused_by";

/// The check that refused what a call was to tell, if one did.
pub(super) fn refused_by(output: &Output) -> Option<&str> {
    output.details.as_ref()?.get(REFUSED_BY)?.as_str()
}

/// The answer that a call gave, if it gave one.
pub(crate) fn answered(output: &Output) -> Option<&str> {
    output.details.as_ref()?.get("answer")?.as_str()
}
