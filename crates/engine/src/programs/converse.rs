//! The loop of model and tools.

use async_trait::async_trait;
use entourage_types::Reply;

use super::Program;
use crate::{
    Interrupt,
    run::{Run, TurnOutcome},
};

/// The program `react`.
pub struct React;

#[async_trait]
impl Program for React {
    async fn run(&self, run: &mut Run<'_>) -> Result<String, Interrupt> {
        converse(run).await
    }
}

/// Repeats model, tools, results, until the model asks for no more tools, or a conversational agent has sent
/// the user its text.
///
/// # Errors
/// An [`Interrupt`] when the run sleeps, is stopped or fails.
pub async fn converse(run: &mut Run<'_>) -> Result<String, Interrupt> {
    loop {
        run.receive().await?;
        let turn = run.call_model().await?;
        if turn.calls.is_empty() {
            // The text that a call sent is the answer; the user does not read the text of the turn.
            let sent = run.last_said().filter(|_| run.kind().reply == Reply::SendMessage);
            if let Some(words) = sent {
                return Ok(words.to_owned());
            }
            if run.check_sent().await? && run.may_answer(&turn.text).await? {
                run.warn_if_unsent();
                return Ok(turn.text);
            }
            continue;
        }
        match run.call_tools(&turn.calls).await? {
            Some(TurnOutcome::Answer(words)) => return Ok(words),
            Some(TurnOutcome::User(words)) if run.kind().conversational => return Ok(words),
            Some(TurnOutcome::User(_) | TurnOutcome::Refused) | None => {}
        }
    }
}
