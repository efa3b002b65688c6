//! A run: where its time and its money went, step by step.

use std::collections::HashMap;

use askama::Template;
use axum::Json;
use entourage_api::{
    Agent, Cause, ItemBody, ListItems, OutputEffect, PageQuery, Run, Step, StepResult, WaitsFor,
};
use entourage_types::{CallId, RunId, ShownStatus, StepKey, StepStatus, Time};
use serde::Deserialize;

use super::{
    filters,
    named::tree_of,
    reason::Reason,
    shell::{Page, Section, Shown, Shows, View},
};
use crate::{
    extract::{Filter, Id},
    routes::v1::{agents, runs},
};

/// How many steps are on a page.
const EACH: u32 = 200;
/// How wide the waterfall is, in its own units.
const WIDTH: f64 = 1000.0;

#[derive(Deserialize)]
pub(super) struct At {
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "run.html")]
struct Waterfall {
    run: Run,
    agent: Agent,
    /// What its tree is called, if the agent is not its root.
    root: Option<String>,
    /// Whether the price of a model that it called is known.
    is_priced: bool,
    /// Why it does not go on.
    reason: Option<Reason>,
    /// Since when it is calling the model, if it is.
    calling: Option<Time>,
    rows: Vec<Row>,
    next: Option<String>,
}

/// A step, with its place in the time that the page shows.
struct Row {
    what: String,
    /// The page that shows more of it.
    path: Option<String>,
    step: Step,
    bars: Vec<Bar>,
    /// How long it took, in microseconds.
    took: u64,
    note: Option<String>,
}

/// A stretch of time.
struct Bar {
    x: f64,
    width: f64,
    /// Whether somebody works in it, or it is waited for something.
    class: &'static str,
}

/// What a call was, as the transcript tells it.
#[derive(Default)]
struct Made {
    tool: String,
    is_returned: bool,
    /// The output came from a person or another agent.
    was_waited_for: bool,
    task: Option<String>,
}

impl Page for Waterfall {
    const SECTION: Section = Section::Trees;

    fn title(&self) -> String {
        format!("Run of {}", filters::title_of(&self.agent.title, &self.agent.kind))
    }

    fn shows(&self) -> Shows {
        Shows::Tree(self.agent.root)
    }
}

pub(super) async fn show(view: View, Id(id): Id<RunId>, Filter(At { cursor }): Filter<At>) -> Shown {
    let caller = &view.caller;
    let Json(run) = runs::get(caller.clone(), Id(id)).await?;
    let Json(agent) = agents::get(caller.clone(), Id(run.agent)).await?;
    let wanted = PageQuery { limit: Some(EACH), cursor };
    let Json(page) = runs::steps(caller.clone(), Id(id), Filter(wanted)).await?;
    let first = page.data.iter().filter_map(item_of).min();
    let made = match first {
        Some(from) => {
            let wanted = ListItems { from, limit: Some(EACH) };
            let Json(items) = agents::items(caller.clone(), Id(run.agent), Filter(wanted)).await?;
            made(items.data.into_iter().map(|item| item.body))
        }
        None => HashMap::new(),
    };
    // Nothing goes on after its end.
    let now = run.ended.unwrap_or_else(|| view.now());
    let is_all_done = page.data.iter().all(|step| step.state == StepStatus::Done)
        && made.values().all(|made| made.is_returned);
    let last = page.data.iter().map(|step| step.updated).max().unwrap_or(run.started);
    let from = page.data.iter().map(|step| step.started).min().unwrap_or(run.started);
    let until = page.data.iter().map(|step| end(step, now)).max().unwrap_or(now);
    let span = micros(from, until).max(1);
    let rows = page.data.into_iter().map(|step| row(&run, step, &made, (from, span), now)).collect();
    let is_priced = run.model_calls == 0 || run.cost.nanos() > 0;
    let root = tree_of(caller, &agent).await;
    let reason = if run.waiting_on.is_some() || run.status == ShownStatus::Running {
        Some(Reason::of_any(caller, agent.id).await?)
    } else {
        None
    };
    // A model call is on record once it is answered: until then all that was begun before it is done.
    let is_calling = page.next_cursor.is_none()
        && run.status == ShownStatus::Running
        && reason.as_ref().is_some_and(|reason| matches!(reason.last(), Cause::Work))
        && is_all_done;
    let calling = is_calling.then_some(last);
    view.show(Waterfall { run, agent, root, is_priced, reason, calling, rows, next: page.next_cursor }).await
}

fn item_of(step: &Step) -> Option<u64> {
    match step.result {
        Some(StepResult::Item(seq)) => Some(seq),
        _ => None,
    }
}

/// The calls that these items tell of.
fn made(items: impl Iterator<Item = ItemBody>) -> HashMap<CallId, Made> {
    let mut made: HashMap<CallId, Made> = HashMap::new();
    for body in items {
        match body {
            ItemBody::Turn { calls, .. } | ItemBody::SubCalls { calls, .. } => {
                for call in calls {
                    made.entry(call.id).or_default().tool = call.tool;
                }
            }
            ItemBody::Output { call, tool, effect, .. } | ItemBody::SubOutput { call, tool, effect, .. } => {
                let entry = made.entry(call).or_default();
                entry.tool = tool;
                entry.is_returned = true;
                entry.was_waited_for = matches!(
                    effect,
                    Some(
                        OutputEffect::Asked(_)
                            | OutputEffect::Delegated(_)
                            | OutputEffect::Declined(_)
                            | OutputEffect::Expired(_)
                    )
                );
                if let Some(OutputEffect::Delegated(task)) = effect {
                    entry.task = Some(task.to_string());
                }
            }
            _ => {}
        }
    }
    made
}

/// When a step ended; one that has not ended goes on.
fn end(step: &Step, now: Time) -> Time {
    if step.state == StepStatus::Done { step.updated } else { now.max(step.updated) }
}

fn micros(from: Time, until: Time) -> u64 {
    u64::try_from(until.since(from).as_micros()).unwrap_or(u64::MAX)
}

fn row(run: &Run, step: Step, made: &HashMap<CallId, Made>, (from, span): (Time, u64), now: Time) -> Row {
    let until = end(&step, now);
    let bar = |class, begins: Time, ends: Time| {
        let at = |time: Time| micros(from, time) as f64 / span as f64 * WIDTH;
        let x = at(begins).min(WIDTH - 1.0);
        Bar { x, width: (at(ends) - x).max(1.0), class }
    };
    let call = step.key.call().and_then(|call| made.get(&call));
    let waits = step.waits_for.is_some() || call.is_some_and(|call| call.was_waited_for);
    let mut bars = Vec::new();
    match &step.asked {
        Some(asked) => {
            bars.push(bar("waits", step.started, asked.at));
            let first = asked.first_token.unwrap_or(until);
            bars.push(bar("thinks", asked.at, first));
            bars.push(bar("works", first, until));
            bars.extend(asked.failed.iter().map(|failed| bar("failed", failed.at, failed.at)));
        }
        // Between attempts it waits, far longer than they take.
        None => {
            let class = if waits || step.retry.is_some() { "waits" } else { "works" };
            bars.push(bar(class, step.started, until));
        }
    }
    if let Some(retry) = &step.retry {
        bars.extend(retry.failed.iter().map(|failed| bar("failed", failed.at, failed.at)));
    }
    let what = match (&step.key, call) {
        (StepKey::Model(number), _) => format!("model call {number}"),
        (StepKey::Tool(_), Some(call)) => call.tool.clone(),
        (key, _) => key.to_string(),
    };
    let path = match &step.key {
        StepKey::Model(number) if step.state == StepStatus::Done => {
            Some(format!("/console/runs/{}/requests/{number}", run.id))
        }
        _ => call.and_then(|call| call.task.as_ref()).map(|task| format!("/console/id/{task}")),
    };
    let note = match (&step.retry, &step.waits_for) {
        (Some(retry), _) => Some(format!("tried again: {}", retry.error)),
        (None, Some(WaitsFor::Question { .. })) => Some("waits for a person".to_owned()),
        (None, Some(WaitsFor::Task(_) | WaitsFor::Tasks(_))) => Some("waits for another agent".to_owned()),
        (None, Some(WaitsFor::SubCalls(_))) => Some("its code waits".to_owned()),
        (None, Some(WaitsFor::Until(_))) => Some("waits for a time".to_owned()),
        (None, None) => None,
    };
    Row { what, path, bars, took: micros(step.started, until), note, step }
}
