//! The loop.

use crate::run::{Interrupt, Run, Told};

/// Model, tools, results, until the model asks for no more tools, or has told the user what a
/// conversational agent had to say.
///
/// # Errors
/// An [`Interrupt`] when the run sleeps, is stopped or fails.
pub async fn converse(run: &mut Run<'_>) -> Result<String, Interrupt> {
    loop {
        run.receive().await?;
        let turn = run.call_model().await?;
        let words = match turn.calls.is_empty() {
            true => turn.text,
            false => match run.call_tools(&turn.calls).await? {
                Some(Told::Answer(words)) => words,
                Some(Told::User(words)) if run.kind().conversational => return Ok(words),
                _ => continue,
            },
        };
        if run.may_answer(&words).await? {
            return Ok(words);
        }
    }
}
