//! Events are derived from commits, here and nowhere else, so that no change is told without
//! having happened and none happens untold.

use std::time::Duration;

use entourage_types::{Agent, AgentId, EventBody, Item, Status, Step, StepState, Time};

use crate::{Commit, Write};

/// The facts that a commit tells, each with the tree it belongs to and the agent it is about.
///
/// `writer` is the fenced agent as stored before the commit; its tree is where items, runs and
/// steps belong. Numbers are the store's to give, inside the transaction.
#[must_use]
pub(crate) fn events(commit: &Commit, writer: Option<&Agent>) -> Vec<(AgentId, AgentId, EventBody)> {
    let mut events = Vec::with_capacity(commit.writes.len());
    for write in &commit.writes {
        match write {
            Write::NewAgent(agent) => events.push((
                agent.root,
                agent.id,
                EventBody::AgentCreated {
                    parent: agent.parent,
                    kind: agent.kind.clone(),
                    title: agent.title.clone(),
                },
            )),
            Write::Agent(agent) => {
                let told = writer.is_some_and(|before| {
                    (before.status, before.waiting_on, before.stop_reason)
                        == (agent.status, agent.waiting_on, agent.stop_reason)
                });
                if !told {
                    let (status, waiting_on) = (agent.status, agent.waiting_on);
                    let body = EventBody::AgentStatus { status, waiting_on, stop_reason: agent.stop_reason };
                    events.push((agent.root, agent.id, body));
                }
            }
            Write::Item(item) => {
                if let Some(agent) = author(commit, writer, item) {
                    let body = EventBody::Item { item_seq: item.seq, item: Some(item.clone()) };
                    events.push((agent.root, item.agent, body));
                }
            }
            // A run that goes on as its agent does shows as the items it writes.
            Write::Run(run) => {
                if let Some(writer) =
                    writer.filter(|writer| (writer.status, run.status) != (Status::Running, Status::Running))
                {
                    events.push((
                        writer.root,
                        run.agent,
                        EventBody::Run {
                            run: run.id,
                            status: run.status,
                            waiting_on: run.waiting_on,
                            stop_reason: run.stop_reason,
                            error: run.error.clone(),
                            usage: run.usage,
                            cost: run.cost,
                        },
                    ));
                }
            }
            // A finished step shows as the item it wrote; only the others need telling.
            Write::Step(step) if !step.state.is_done() => {
                if let Some(writer) = writer {
                    events.push((writer.root, writer.id, of_step(step)));
                }
            }
            Write::Task(task) => {
                events.push((task.root, task.to, EventBody::Task { task: Box::new(task.clone()) }));
            }
            Write::Question(question) => {
                let body = EventBody::Question { question: Box::new(question.clone()) };
                events.push((question.root, question.agent, body));
            }
            Write::Grant(grant) => {
                events.push((grant.root, grant.agent, EventBody::Grant { grant: Box::new(grant.clone()) }));
            }
            Write::Intervention(done) => {
                let body = EventBody::Intervention { intervention: Box::new(done.clone()) };
                events.push((done.root, done.agent, body));
            }
            Write::Session(session, _) => {
                let body = EventBody::Session { session: Box::new(session.clone()) };
                events.push((session.root, session.agent, body));
            }
            Write::Step(_)
            | Write::Post(_)
            | Write::ConsumePost(_)
            | Write::ScheduleWakeup(_)
            | Write::ConsumeWakeup(_)
            | Write::DropOrphanWakeup(_)
            | Write::PruneEvents(..)
            | Write::PruneAgent(_)
            | Write::PruneEntity(..)
            | Write::Entity(_) => {}
        }
    }
    events
}

/// The clocks of two machines may differ by so much; one that differs by more was wrong, and is not followed.
const CLOCKS_DIFFER: Duration = Duration::from_secs(3600);

/// When an event is that is told at a moment, behind one in the same tree that was before: never earlier, whatever
/// the writers' clocks say, unless the clock of the one before was plainly wrong.
#[must_use]
pub fn not_before(before: Time, at: Time) -> Time {
    if before > at && before <= at + CLOCKS_DIFFER { before } else { at }
}

/// Whose transcript an item joins: the writer's own, or that of an agent which the commit makes.
fn author<'a>(commit: &'a Commit, writer: Option<&'a Agent>, item: &Item) -> Option<&'a Agent> {
    writer.filter(|writer| writer.id == item.agent).or_else(|| {
        commit.writes.iter().find_map(|write| match write {
            Write::NewAgent(agent) if agent.id == item.agent => Some(agent),
            _ => None,
        })
    })
}

/// What is told of a step: of one to be tried again, also when and why.
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
        error: retry.map(|retry| retry.error.clone()),
    }
}
