//! A program among the participants: it decides, asks, gives work to new agents whose results it joins, and then
//! converses.

use async_trait::async_trait;
use entourage_engine::{DecisionRequest, Interrupt, NewTask, Program, Run, programs::converse};
use serde_json::{Value, json};

/// The name of the program.
pub(super) const PLAN: &str = "plan";
/// The kind of the agents that it starts.
const WORKER: &str = "queueing";
/// More than an agent may have children, now and then.
pub(super) const MOST_PARTS: usize = 4;

/// The program.
pub(super) struct Plan;

#[async_trait]
impl Program for Plan {
    async fn run(&self, run: &mut Run<'_>) -> Result<String, Interrupt> {
        run.receive().await?;
        let clear = decided(run, "clear").await?;
        if clear["yes"] == json!(false) {
            run.ask_user("which", "Which one?", &[]).await?;
        }
        let parts = decided(run, "parts").await?["parts"].as_u64().unwrap_or_default();
        let work = (0..parts).map(|nth| NewTask { kind: WORKER.into(), text: format!("part {nth}") });
        let started = run.spawn("parts", work.collect()).await?;
        if clear["yes"] == json!(true) {
            let calls = run.call_model().await?.calls;
            run.call_tools(&calls).await?;
        }
        let joined = run.join(&started).await?;
        run.progress("joined", format!("{} of {parts} parts", joined.len())).await?;
        converse(run).await
    }

    fn tools(&self) -> &[&str] {
        &["ask_user"]
    }
}

/// Takes a decision, or goes on without it.
async fn decided(run: &mut Run<'_>, name: &str) -> Result<Value, Interrupt> {
    let schema = json!({
        "type": "object", "required": ["yes", "parts"],
        "properties": { "yes": { "type": "boolean" }, "parts": { "type": "integer" } },
    });
    let request = DecisionRequest { attempts: 3, ..DecisionRequest::new(format!("Decide: {name}."), schema) };
    Ok(run.decide(name, request).await?.unwrap_or_default())
}
