//! The steps of a run: those with a record of their own, and those whose checkpoint is the item they
//! left in the transcript.

use std::collections::HashMap;

use entourage_store::ItemQuery;
use entourage_types::{CallId, Item, ItemBody, RunId, Step, StepState, Time};
use serde_json::{Value, json};

use super::Client;
use crate::{
    Result,
    run::{call_key, model_key},
};

impl Client {
    /// The steps of a run in the order they were begun, with what each model call used.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn steps(&self, id: RunId) -> Result<Vec<Step>> {
        let run = self.run(id).await?;
        let store = self.house.store();
        let recorded = store.steps(&self.scope, id).await?;
        let query = ItemQuery { run: Some(id), ..ItemQuery::of(run.agent, 0, u32::MAX) };
        Ok(merged(id, recorded, &store.items(&self.scope, query).await?))
    }
}

fn merged(run: RunId, recorded: Vec<Step>, items: &[Item]) -> Vec<Step> {
    let mut recorded: HashMap<String, Step> =
        recorded.into_iter().map(|step| (step.key.clone(), step)).collect();
    let mut done = |key: String, item: &Item, begun: Time| {
        let unrecorded = |key| Step {
            run,
            key,
            state: StepState::Done,
            value: Value::Null,
            attempt: 1,
            used: None,
            started: begun,
            updated: item.at,
        };
        let step = recorded.remove(&key).unwrap_or_else(|| unrecorded(key));
        Step { value: json!({ "item": item.seq }), ..step }
    };
    let mut steps = Vec::new();
    let mut asked: HashMap<CallId, Time> = HashMap::new();
    let mut turns = 0;
    for item in items {
        match &item.body {
            ItemBody::Turn(turn) => {
                asked.extend(turn.calls.iter().map(|call| (call.id, item.at)));
                if turn.used.is_some() {
                    turns += 1;
                    let step = done(model_key(turns), item, item.at);
                    steps.push(Step { used: turn.used.clone(), ..step });
                }
            }
            ItemBody::Output(output) => {
                let begun = asked.get(&output.call).copied().unwrap_or(item.at);
                steps.push(done(call_key(output.call), item, begun));
            }
            ItemBody::Message(_) | ItemBody::Decision(_) | ItemBody::Notice(_) | ItemBody::Digest(_) => {}
        }
    }
    steps.extend(recorded.into_values());
    steps.sort_by_key(|step| (step.started, step.updated));
    steps
}
