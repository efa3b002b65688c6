//! One inbox entry per run: a message gets one decision, a finished task one reply. The user receives a
//! result even if no model can phrase it.

use async_trait::async_trait;
use entourage_types::Output;

use super::Program;
use crate::{
    run::{Arrival, Interrupt, Run, TurnOutcome},
    titles::capitalised,
};

/// The output of calls beside the first one.
const ONE: &str = "Not run: each message allows one call, and the first one was made. If this call is still \
                   needed, say so in a text, or make it for a later message.";
/// The output of calls where only a text is wanted.
const WORDS: &str = "Not run: the task has ended. Write what the user should read about its result.";
/// The remark on a result that the user reads as it is.
const AS_IT_IS: &str = "This is the unedited result: the model could not rephrase it.";

/// What the user reads if a decision had more than one call.
const FIRST_ONLY: &str = "I handle one request per message, and did only the first of these. Please send the \
                          others separately.";
/// What the user reads if the call on a message was refused.
const COULD_NOT: &str = "I could not do that. Please say it in other words, or more precisely.";

/// The program `orchestrate`: takes one entry from the inbox and handles it. Every other entry gets a run of its own.
pub struct Orchestrate;

#[async_trait]
impl Program for Orchestrate {
    async fn run(&self, run: &mut Run<'_>) -> Result<String, Interrupt> {
        match run.receive_one().await? {
            Arrival::Said => answer(run).await,
            Arrival::Done => reply(run).await,
            Arrival::Failed { kind, why } => {
                Ok(run.say(format!("The {} could not finish its task: {why}", capitalised(&kind))))
            }
        }
    }

    fn handles_one_call(&self) -> bool {
        true
    }
}

/// Handles a message: an answer, or one call. Delegated work has no text for the user yet; its result
/// arrives by itself.
async fn answer(run: &mut Run<'_>) -> Result<String, Interrupt> {
    loop {
        let turn = run.call_model().await?;
        match turn.calls.first() {
            None if run.may_answer(&turn.text).await? => return Ok(turn.text),
            None => {}
            Some(first) => {
                run.decline(&turn.calls, 1, ONE).await?;
                match run.call_tools(&turn.calls).await? {
                    Some(TurnOutcome::Answer(words) | TurnOutcome::User(words)) => return Ok(words),
                    Some(TurnOutcome::Refused) => {}
                    None => match words_of(run.output_of(first.id)) {
                        UserText::Later if turn.calls.len() > 1 => return Ok(run.say(FIRST_ONLY)),
                        UserText::Later => return Ok(String::new()),
                        UserText::Now(words) if run.may_answer(&words).await? => return Ok(run.say(words)),
                        UserText::Now(_) | UserText::ForModel => {}
                    },
                }
            }
        }
        run.receive_one().await?;
    }
}

/// What the user reads after a call that was made on their message.
enum UserText {
    /// This text.
    Now(String),
    /// Nothing until the delegated work is done.
    Later,
    /// Nothing: the call returned an answer of theirs to the model.
    ForModel,
}

fn words_of(output: Option<&Output>) -> UserText {
    match output {
        Some(output) if output.has_asked() => UserText::ForModel,
        Some(output) if output.error => {
            // The text of a tool is for models, and is in the transcript.
            tracing::warn!(tool = output.tool, why = output.text, "a call on a message was refused");
            UserText::Now(COULD_NOT.to_owned())
        }
        Some(output) if output.task().is_none() => UserText::Now(output.text.clone()),
        _ => UserText::Later,
    }
}

/// Returns what the user reads of a result: a text of the model, or the result itself if no model can phrase
/// it.
async fn reply(run: &mut Run<'_>) -> Result<String, Interrupt> {
    let stop = match put_into_words(run).await {
        Err(Interrupt::Stopped(stop)) => stop,
        done => return done,
    };
    let Some(result) = run.opening_result() else { return Err(Interrupt::Stopped(stop)) };
    let words = format!("{result}\n\n({AS_IT_IS})");
    if !run.passes_output(&words).await? {
        return Err(Interrupt::Stopped(stop));
    }
    run.remark(stop);
    Ok(run.say(words))
}

async fn put_into_words(run: &mut Run<'_>) -> Result<String, Interrupt> {
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
