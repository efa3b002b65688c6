//! The result of a run.

use std::collections::HashMap;

use entourage_types::{Item, ItemBody, Level, Run, RunId, Status, StopReason, Tally};
use serde::Serialize;

use super::{Origin, RunItem};
use crate::{Client, Result, client::last_words};

/// The result of a run.
#[derive(Debug, Clone, Serialize)]
pub struct RunResult {
    /// The answer; none if the run failed.
    pub final_output: Option<String>,
    /// Why there is no answer.
    pub error: Option<RunError>,
    /// What this run produced, in order. `nested` has what the runs that worked for it produced.
    pub generated_items: Vec<RunItem>,
    /// What the models used and cost, those of the runs that worked for it included.
    pub usage: Tally,
    /// The agent, by name.
    pub agent: String,
    /// The chat; the next message goes on there if it names it.
    pub chat_id: String,
    /// The run.
    pub run_id: RunId,
    /// The runs that worked for this one, directly or through another, in the order of their calls.
    pub nested: Vec<NestedRun>,
}

/// Why a run gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunError {
    /// A stable word: `max_steps`, `validation_failed`, `empty_response`, `model_failed`, `cancelled`…
    pub code: StopReason,
    /// A sentence for people.
    pub text: String,
    /// The original error, such as a provider's, if `text` does not contain it: for logs and developers,
    /// since it may name models, addresses and accounts.
    pub cause: Option<String>,
}

/// A run that worked for another.
#[derive(Debug, Clone, Serialize)]
pub struct NestedRun {
    /// Its agent, caller, depth, run and the run whose call it worked for.
    pub origin: Origin,
    /// What it produced, in order.
    pub generated_items: Vec<RunItem>,
    /// What its own model calls used and cost.
    pub usage: Tally,
    /// The answer that its caller got; none if it failed.
    pub final_output: Option<String>,
    /// Why there is none.
    pub error: Option<RunError>,
}

impl RunResult {
    /// Reads the result of a run that has ended.
    pub(super) async fn read(client: &Client, chat_id: String, origin: Origin) -> Result<Self> {
        let run = client.run(origin.run).await?;
        let items = client.items_of(&run).await?;
        let mut usage = run.tally();
        let mut origins = HashMap::from([(run.id, origin.clone())]);
        let mut nested = Vec::new();
        for below in client.runs_below(&run, &items).await? {
            let Some(origin) = origins.get(&below.parent).map(|above| Origin::below(above, &below.task))
            else {
                continue;
            };
            let origin = Origin { run: below.run.id, ..origin };
            origins.insert(below.run.id, origin.clone());
            usage += below.run.tally();
            nested.push(NestedRun::of(client, &below.run, &below.items, origin));
        }
        let (final_output, error) = outcome(client, &origin.agent, &run, &items);
        let agent = origin.agent.clone();
        Ok(Self {
            final_output,
            error,
            generated_items: generated(&items, &origin),
            usage,
            agent,
            chat_id,
            run_id: run.id,
            nested,
        })
    }
}

impl NestedRun {
    fn of(client: &Client, run: &Run, items: &[Item], origin: Origin) -> Self {
        let (final_output, error) = outcome(client, &origin.agent, run, items);
        let generated_items = generated(items, &origin);
        Self { generated_items, origin, usage: run.tally(), final_output, error }
    }
}

fn generated(items: &[Item], origin: &Origin) -> Vec<RunItem> {
    items.iter().flat_map(|item| RunItem::of(item, origin)).filter(RunItem::is_generated).collect()
}

/// The answer of a run, or why there is none.
fn outcome(client: &Client, kind: &str, run: &Run, items: &[Item]) -> (Option<String>, Option<RunError>) {
    if run.status == Status::Succeeded {
        return (Some(last_words(items, client.reply_of(kind))), None);
    }
    let code = run.stop_reason.unwrap_or(StopReason::Error);
    // The run's own error is the cause; the text for people is in the notice of its end. A deleted run has
    // neither.
    let notice = items.iter().rev().find_map(|item| match &item.body {
        ItemBody::Notice(notice) if notice.level() == Level::Error => Some(notice),
        _ => None,
    });
    let text = notice.map_or_else(|| format!("the run is {}", run.status), |notice| notice.text.clone());
    let cause = notice.and_then(|notice| notice.cause.clone());
    (None, Some(RunError { code, text, cause }))
}
