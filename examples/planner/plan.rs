//! A program of its own: it clarifies once, splits the work, has the parts done side by side, and sums up. Whatever
//! ends the process on the way, nothing is asked twice and no part is done twice.

use entourage::{
    async_trait,
    program::{DecisionRequest, Interrupt, NewTask, Program, Run},
    schemars::JsonSchema,
    serde::Deserialize,
    serde_json,
};

/// The kind of the agents that work on the parts.
pub(crate) const WORKER: &str = "Worker";

/// The program.
pub(crate) struct Planner;

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "entourage::serde")]
#[schemars(crate = "entourage::schemars")]
struct Clarity {
    /// What to ask the user; empty if the task is clear.
    question: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "entourage::serde")]
#[schemars(crate = "entourage::schemars")]
struct Plan {
    /// One to four parts, each a task of its own.
    parts: Vec<String>,
}

#[async_trait]
impl Program for Planner {
    async fn run(&self, run: &mut Run<'_>) -> Result<String, Interrupt> {
        run.receive().await?;
        let request = DecisionRequest::of::<Clarity>("Is the user's task clear?");
        let clarity: Clarity = serde_json::from_value(run.decide("clarity", request).await??)?;
        if !clarity.question.is_empty()
            && run.ask_user("clarity", &clarity.question, &[]).await?.answer().is_none()
        {
            return Ok(run.say("Then I leave it at that."));
        }
        let request = DecisionRequest::of::<Plan>("Split the task into independent parts.");
        let plan: Plan = serde_json::from_value(run.decide("plan", request).await??)?;
        run.progress("parts", format!("{} parts", plan.parts.len())).await?;
        let work = plan.parts.into_iter().take(4).map(|text| NewTask { kind: WORKER.into(), text });
        let workers = run.spawn("parts", work.collect()).await?;
        run.join(&workers).await?;
        Ok(run.call_model().await?.text)
    }

    fn tools(&self) -> &[&str] {
        &["ask_user"]
    }
}
