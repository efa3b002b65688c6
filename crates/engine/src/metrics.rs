//! The engine's metrics. Without a recorder in the process they go nowhere. Counters are of this process and
//! begin at its start, and a step whose commit was lost is counted again: the exact usage is in the runs.
//!
//! Labels are terms of the engine and names of models and receivers. Ids make no series.

use std::time::Duration;

use ::metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge};
use entourage_llm::{GateState, GateStatus};
use entourage_store::metrics::{COMMIT, READ};
use entourage_types::{Delivery, DeliveryStatus, ModelUse, Scope, Status, StopReason};

use crate::{
    Engine, Result,
    pages::{DueWakeups, pages},
};

const RUNS: &str = "entourage_runs_total";
const STEPS: &str = "entourage_steps_total";
const TOKENS: &str = "entourage_tokens_total";
const CACHED: &str = "entourage_cached_tokens_total";
const REASONING: &str = "entourage_reasoning_tokens_total";
const COST: &str = "entourage_cost_nanos_total";
const UNPRICED: &str = "entourage_unpriced_calls_total";
const SPANS_DROPPED: &str = "entourage_spans_dropped_total";
const DELIVERIES: &str = "entourage_webhook_attempts_total";
const QUEUE_AGE: &str = "entourage_queue_age_seconds";
const PLACES: &str = "entourage_dispatch_places";
const READY: &str = "entourage_dispatch_ready";
const GATE_DOOR: &str = "entourage_gate_door";
const GATE_IN_FLIGHT: &str = "entourage_gate_in_flight";
const GATE_WAITING: &str = "entourage_gate_waiting";
const GATE_KEPT_AWAY: &str = "entourage_gate_kept_away";

/// Describes all metrics to the recorder.
pub fn describe() {
    describe_counter!(RUNS, "Runs that ended, by status and stop reason");
    describe_counter!(STEPS, "Steps done: answers of models, summaries included, and outputs of tools");
    describe_counter!(TOKENS, "Tokens of models, in and out, those of useless answers included");
    describe_counter!(CACHED, "Tokens in that providers read from their caches; they are part of those in");
    describe_counter!(REASONING, "Tokens out that were spent on reasoning; they are part of those out");
    describe_counter!(COST, "What models cost, in billionths of a US dollar");
    describe_counter!(UNPRICED, "Answers of models whose price is not known; their cost is in no sum");
    describe_counter!(SPANS_DROPPED, "Trace spans that were dropped before they reached a collector");
    describe_counter!(DELIVERIES, "Delivery attempts, by receiver and outcome");
    let age = "How long the oldest wake-up has been due while its agent is not at work; 0 without one";
    describe_gauge!(QUEUE_AGE, Unit::Seconds, age);
    describe_gauge!(PLACES, "Places for agents at work, busy and free");
    describe_gauge!(READY, "Agents that wait for a place");
    let door = "1 for the current state of a model's rate gate: open, paused (the provider asked for it, or the rate \
                is used up) or broken (too many calls failed)";
    describe_gauge!(GATE_DOOR, door);
    describe_gauge!(GATE_IN_FLIGHT, "Calls in progress, by model");
    describe_gauge!(GATE_WAITING, "Callers that wait at a model's rate gate");
    describe_histogram!(COMMIT, Unit::Seconds, "Time until a commit was durable or refused");
    describe_histogram!(READ, Unit::Seconds, "Time until a read of the store was answered");
}

/// Counts spans that were lost on the way to their collector.
pub fn spans_dropped(lost: u64) {
    counter!(SPANS_DROPPED).increment(lost);
}

/// Counts a run that ended.
pub(crate) fn run_ended(status: Status, reason: Option<StopReason>) {
    let reason = reason.map_or("none", StopReason::as_str);
    counter!(RUNS, "status" => status.as_str(), "stop_reason" => reason).increment(1);
}

/// Counts an answer of a model.
pub(crate) fn model_step_done() {
    counter!(STEPS, "step" => "model").increment(1);
}

/// Counts an output of a tool.
pub(crate) fn tool_step_done() {
    counter!(STEPS, "step" => "tool").increment(1);
}

/// Counts the usage of a model's answer, useful or not.
pub(crate) fn charged(used: &ModelUse) {
    let (model, usage) = (|| used.model.clone(), used.usage);
    counter!(TOKENS, "model" => model(), "direction" => "in").increment(usage.input);
    counter!(TOKENS, "model" => model(), "direction" => "out").increment(usage.output);
    counter!(CACHED, "model" => model()).increment(usage.cached);
    counter!(REASONING, "model" => model()).increment(usage.reasoning);
    match used.cost {
        Some(cost) => counter!(COST, "model" => model()).increment(cost.nanos()),
        None => counter!(UNPRICED, "model" => model()).increment(1),
    }
}

/// Counts an attempt at a delivery.
pub(crate) fn attempted(delivery: &Delivery) {
    let outcome = match delivery.status {
        DeliveryStatus::Pending => "failed",
        DeliveryStatus::Delivered | DeliveryStatus::GivenUp => delivery.status.as_str(),
    };
    counter!(DELIVERIES, "receiver" => delivery.receiver.clone(), "outcome" => outcome).increment(1);
}

/// Sets the dispatcher's gauges: agents at work, all places, agents that wait for a place.
pub(crate) fn dispatched(busy: usize, places: usize, ready: usize) {
    gauge!(PLACES, "state" => "busy").set(float(busy));
    gauge!(PLACES, "state" => "free").set(float(places.saturating_sub(busy)));
    gauge!(READY).set(float(ready));
}

impl Engine {
    /// Sets the gauges that are read from state: the gates before the models, and the age of the queue. Call
    /// it right before the metrics are read.
    ///
    /// # Errors
    /// When the store cannot be read; the gauges of the gates are set by then.
    pub async fn measure(&self) -> Result<()> {
        self.model().gates().iter().for_each(stands);
        gauge!(QUEUE_AGE).set(self.queue_age().await?.as_secs_f64());
        Ok(())
    }

    /// How long the oldest wake-up whose agent is not at work has been due. Wake-ups of agents at work exist
    /// until they are served, and are skipped.
    async fn queue_age(&self) -> Result<Duration> {
        let now = self.now();
        let mut pages = pages(&**self.store(), &Scope::All, DueWakeups(now));
        while let Some(page) = pages.next().await? {
            if let Some(oldest) = page.iter().find(|wakeup| !self.inner.activations.is_at_work(wakeup.agent))
            {
                return Ok(now.since(oldest.due));
            }
        }
        Ok(Duration::ZERO)
    }
}

/// Sets the gauges of a gate.
fn stands(gate: &GateState) {
    let model = || gate.model.clone();
    let stands = match gate.door {
        GateStatus::Open => "open",
        GateStatus::Paused(_) => "paused",
        GateStatus::Broken(_) => "broken",
    };
    for door in ["open", "paused", "broken"] {
        gauge!(GATE_DOOR, "model" => model(), "door" => door).set(f64::from(door == stands));
    }
    gauge!(GATE_IN_FLIGHT, "model" => model()).set(float(gate.in_flight));
    gauge!(GATE_WAITING, "model" => model()).set(float(gate.waiting));
    gauge!(GATE_KEPT_AWAY, "model" => model()).set(float(gate.blocked_owners));
}

#[allow(clippy::cast_precision_loss, reason = "counts of agents and calls are far below 2^53")]
fn float(count: usize) -> f64 {
    count as f64
}
