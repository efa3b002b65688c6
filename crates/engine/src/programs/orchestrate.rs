//! One thing at a time: a message gets one decision, a finished task one reply.

use crate::{
    client::capitalised,
    run::{Arrival, Interrupt, Run, Told},
};

/// What calls beside the first one are answered with.
const ONE: &str = "Not done: one call for each message, and the first one was made.";
/// What calls are answered with where only words are wanted.
const WORDS: &str = "Not done: the task has ended. Write what the user shall read of its result.";

/// Takes one thing from the inbox and deals with it. What else lies there gets a run of its own.
///
/// # Errors
/// An [`Interrupt`] when the run sleeps, is stopped or fails.
pub async fn orchestrate(run: &mut Run<'_>) -> Result<String, Interrupt> {
    match run.receive_one().await? {
        Arrival::Said => decide(run).await,
        Arrival::Done => reply(run).await,
        Arrival::Failed { kind, why } => {
            Ok(run.say(format!("The {} could not finish its task: {why}", capitalised(&kind))))
        }
    }
}

/// One decision: an answer, or one call. Work that was handed on says nothing yet; its result
/// arrives by itself.
async fn decide(run: &mut Run<'_>) -> Result<String, Interrupt> {
    let call = loop {
        let turn = run.call_model().await?;
        match turn.calls.first() {
            None if run.may_answer(&turn.text).await? => return Ok(turn.text),
            None => {}
            Some(first) => {
                run.decline(&turn.calls, 1, ONE).await?;
                match run.call_tools(&turn.calls).await? {
                    Some(Told::Answer(words) | Told::User(words)) => return Ok(words),
                    Some(Told::Refused) => {}
                    None => break first.id,
                }
            }
        }
        run.receive_one().await?;
    };
    Ok(match run.output_of(call).cloned() {
        Some(output) if output.error => run.say(format!("I could not do that: {}", output.text)),
        Some(output) if output.details.is_none() => run.say(output.text),
        _ => String::new(),
    })
}

/// What the user reads of a result: words, and no calls.
async fn reply(run: &mut Run<'_>) -> Result<String, Interrupt> {
    loop {
        let turn = run.call_model().await?;
        match turn.calls.is_empty() {
            true if run.may_answer(&turn.text).await? => return Ok(turn.text),
            true => {}
            false => run.decline(&turn.calls, 0, WORDS).await?,
        }
        run.receive_one().await?;
    }
}
