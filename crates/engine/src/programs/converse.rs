//! The loop.

use crate::run::{Interrupt, Run};

/// Model, tools, results, until the model asks for no more tools, or has told the user what a
/// conversational agent had to say.
///
/// # Errors
/// An [`Interrupt`] when the run sleeps, is stopped or fails.
pub async fn converse(run: &mut Run<'_>) -> Result<String, Interrupt> {
    loop {
        run.receive().await?;
        let turn = run.call_model().await?;
        if turn.calls.is_empty() {
            return Ok(turn.text);
        }
        let told = run.call_tools(&turn.calls).await?;
        if let Some(words) = told.filter(|_| run.kind().conversational) {
            return Ok(words);
        }
    }
}
