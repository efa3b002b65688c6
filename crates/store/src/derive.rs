//! Derives events from the writes of a commit. Events have no other source, so that an event never reports a
//! change that did not happen, and a commit never lacks its events.

use std::time::Duration;

use entourage_types::{Agent, EventBody, Item, NewEvent, Status, Step, StepState, Time};

use crate::{BudgetChange, Commit, Write};

/// Returns the events of a commit.
///
/// `writer` is the fenced agent as stored before the commit; its items, runs and steps belong to its tree.
/// The store assigns the numbers, inside the transaction.
#[must_use]
pub(crate) fn events(commit: &Commit, writer: Option<&Agent>) -> Vec<NewEvent> {
    let mut events = Vec::with_capacity(commit.writes.len());
    for write in &commit.writes {
        match write {
            Write::NewAgent(agent) => {
                let (parent, kind, title) = (agent.parent, agent.kind.clone(), agent.title.clone());
                let body = EventBody::AgentCreated { parent, kind, title };
                events.push(NewEvent { root: agent.root, agent: agent.id, body });
            }
            Write::Agent(agent) => {
                let is_unchanged = writer.is_some_and(|before| {
                    (before.status, before.waiting_on, before.stop_reason)
                        == (agent.status, agent.waiting_on, agent.stop_reason)
                });
                if !is_unchanged {
                    let (status, waiting_on) = (agent.status, agent.waiting_on);
                    let body = EventBody::AgentStatus { status, waiting_on, stop_reason: agent.stop_reason };
                    events.push(NewEvent { root: agent.root, agent: agent.id, body });
                }
            }
            Write::Item(item) => {
                if let Some(agent) = author(commit, writer, item) {
                    let body = EventBody::Item { item_seq: item.seq, item: Some(item.clone()) };
                    events.push(NewEvent { root: agent.root, agent: item.agent, body });
                }
            }
            // While both the agent and the run are running, the items that the run writes show its progress.
            Write::Run(run) => {
                if let Some(writer) =
                    writer.filter(|writer| (writer.status, run.status) != (Status::Running, Status::Running))
                {
                    let body = EventBody::Run {
                        run: run.id,
                        status: run.status,
                        waiting_on: run.waiting_on,
                        stop_reason: run.stop_reason,
                        error: run.error.clone(),
                        usage: run.usage,
                        cost: run.cost,
                    };
                    events.push(NewEvent { root: writer.root, agent: run.agent, body });
                }
            }
            // A finished step shows in the item it wrote; the other states need an event, and so does an output that
            // waits for those of its turn.
            Write::Step(step) if !step.state.is_done() || step.output().is_some() => {
                if let Some(writer) = writer {
                    events.push(NewEvent { root: writer.root, agent: writer.id, body: of_step(step) });
                }
            }
            Write::Budget(BudgetChange::Granted { tree, owner: _, by, action, amount }) => {
                let body = EventBody::Budget { by: by.clone(), action: *action, amount: *amount };
                events.push(NewEvent { root: *tree, agent: *tree, body });
            }
            Write::Record(_, Some(event)) => events.push((**event).clone()),
            Write::Step(_)
            | Write::Post(_)
            | Write::ConsumePost(_)
            | Write::ScheduleWakeup(_)
            | Write::ConsumeWakeup(_)
            | Write::DropOrphanWakeup(_)
            | Write::PruneEvents(..)
            | Write::PruneAgent(_)
            | Write::PruneEntity(..)
            | Write::Budget(_)
            | Write::Record(_, None) => {}
        }
    }
    events
}

/// The most by which the clocks of two machines may differ. A clock that is further ahead is wrong, and is
/// not followed.
const CLOCKS_DIFFER: Duration = Duration::from_secs(3600);

/// Returns the time of an event written at `at`, where `before` is the time of the previous event of the same
/// tree: never earlier than `before`, whatever the writers' clocks say, unless the clock behind `before` was
/// plainly wrong.
#[must_use]
pub fn monotonic_time(before: Time, at: Time) -> Time {
    if before > at && before <= at + CLOCKS_DIFFER { before } else { at }
}

/// Returns the agent to whose transcript an item belongs: the writer, or an agent that the commit creates.
fn author<'a>(commit: &'a Commit, writer: Option<&'a Agent>, item: &Item) -> Option<&'a Agent> {
    writer.filter(|writer| writer.id == item.agent).or_else(|| {
        commit.writes.iter().find_map(|write| match write {
            Write::NewAgent(agent) if agent.id == item.agent => Some(agent),
            _ => None,
        })
    })
}

/// Returns the event of a step; for a step that is due for a retry, with the time, the attempt and the error.
fn of_step(step: &Step) -> EventBody {
    let retry = match &step.state {
        StepState::Retry(retry) => Some(retry),
        _ => None,
    };
    EventBody::Step {
        run: step.run,
        key: step.key.clone(),
        state: step.status(),
        due: retry.map(|retry| retry.due),
        attempt: retry.map(|_| step.attempt),
        class: retry.and_then(|retry| retry.failed.last()?.class),
        error: retry.map(|retry| retry.error.clone()),
        lacks_budget: retry.is_some_and(|retry| retry.shortage.is_some()),
    }
}
