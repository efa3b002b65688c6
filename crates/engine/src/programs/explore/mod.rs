//! An exploration: it clarifies, asks for what is missing, has parts of the question explored side by side while the
//! agent works itself, and sums up.

mod decisions;
mod settings;

use async_trait::async_trait;
use entourage_types::{Kind, OnLimit, StopReason, tool_names};
use futures::FutureExt;

use super::{Program, converse};
use crate::{
    Interrupt,
    run::{CallResult, NewTask, Run},
};
use decisions::{Clarification, MayAsk, Missing, Subquestions, Summary, decide, shortened};
use settings::Settings;

/// What the user reads if they leave a question open before there is any result.
const NOTHING_YET: &str =
    "You left my question open, so I did not begin. Ask again, with what I wanted to know.";

/// The program `explore` (S3, steps 1 to 6). An agent that works for another one does the main work alone.
pub struct Explore;

#[async_trait]
impl Program for Explore {
    async fn run(&self, run: &mut Run<'_>) -> Result<String, Interrupt> {
        run.receive().await?;
        let settings: Settings = run.settings()?;
        if run.works_for_agent() {
            return converse(run).await;
        }
        let asked = run.phase("clarify", |run| ask::<Clarification>(run, settings.clarify.clone()).boxed());
        if asked.await? == Asked::LeftOpen {
            return Ok(run.say(NOTHING_YET));
        }
        for number in 1..=settings.max_questions {
            let phase = format!("missing {number}");
            match run.phase(&phase, |run| ask::<Missing>(run, settings.missing.clone()).boxed()).await? {
                Asked::Answered => {}
                Asked::Nothing => break,
                Asked::LeftOpen => return Ok(run.say(NOTHING_YET)),
            }
        }
        let found = run.phase("explore", |run| explore(run, settings.clone()).boxed()).await?;
        run.phase("summary", |run| sum_up(run, settings.summary.clone(), found.clone()).boxed()).await
    }

    fn tools(&self) -> &[&str] {
        &[tool_names::ASK_USER]
    }

    fn check(&self, kind: &Kind) -> Result<(), String> {
        Settings::check(kind)
    }
}

/// What came of a decision whether to ask the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// There was nothing to ask.
    Nothing,
    /// The user answered.
    Answered,
    /// The user declined, or did not answer in time.
    LeftOpen,
}

/// Decides whether the user must be asked something, and asks.
async fn ask<D: MayAsk>(run: &mut Run<'_>, instructions: String) -> Result<Asked, Interrupt> {
    let decision: D = decide(run, "decision", instructions).await?;
    match decision.question() {
        Some(question) => ask_user(run, question).await,
        None => Ok(Asked::Nothing),
    }
}

/// Puts a question to the user, and waits for what comes of it.
async fn ask_user(run: &mut Run<'_>, question: &str) -> Result<Asked, Interrupt> {
    match run.ask_user("question", question, &[]).await? {
        CallResult::Answered(_) => Ok(Asked::Answered),
        CallResult::Declined | CallResult::Expired => Ok(Asked::LeftOpen),
        CallResult::Returned(output) => {
            Err(Interrupt::failed(format!("a question could not be asked: {}", output.text)))
        }
    }
}

/// Has subquestions explored by children while the agent works itself, and waits for all of them. Returns what the agent
/// itself found.
async fn explore(run: &mut Run<'_>, settings: Settings) -> Result<String, Interrupt> {
    let mut work = Vec::new();
    if run.depth() == 0 {
        let found: Subquestions = decide(run, "subquestions", settings.subquestions).await?;
        let kind = run.kind().name.clone();
        let found = found.subquestions.into_iter().map(|text| shortened(&text).to_owned());
        let found = found.filter(|text| !text.is_empty());
        work.extend(found.take(settings.max_subquestions).map(|text| NewTask { kind: kind.clone(), text }));
    }
    let children = run.spawn("children", work).await?;
    let found = main_work(run).await?;
    run.join(&children).await?;
    Ok(found)
}

/// The main work. A limit of its loop ends the loop alone (S3-R045): what was found until then is summed up with what the
/// children find. The kind says so, as for any run (`on_limit: finish`); otherwise the limit ends the run.
async fn main_work(run: &mut Run<'_>) -> Result<String, Interrupt> {
    match converse(run).await {
        Err(Interrupt::Stopped(stop))
            if stop.reason.is_of_loop() && run.kind().on_limit == OnLimit::Finish =>
        {
            Ok(String::new())
        }
        done => done,
    }
}

/// Sums up what the agent and its children found. A last question is asked only if its answer would change the result;
/// without an answer, the result is what there is. A summary without words is what the agent itself found.
async fn sum_up(run: &mut Run<'_>, instructions: String, found: String) -> Result<String, Interrupt> {
    let mut summary: Summary = decide(run, "decision", instructions.clone()).await?;
    if let Some(question) = summary.question()
        && ask_user(run, question).await? == Asked::Answered
    {
        summary = decide(run, "decision with the answer", instructions).await?;
    }
    let result = if summary.summary.trim().is_empty() { found } else { summary.summary };
    if !run.passes_output(&result).await? {
        let cause = "an output guardrail refused the summary";
        return Err(Interrupt::stopped(StopReason::ValidationFailed, cause));
    }
    Ok(run.say(result))
}
