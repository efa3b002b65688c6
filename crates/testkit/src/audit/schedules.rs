//! Schedules: one that is to fire has the wake-up with which it fires.

use entourage_types::{Agent, Goal, GoalStatus, Recurrence, Schedule, ScheduleStatus, Status};

use super::{Found, Invariant::NothingStuck, snapshot::Snapshot};

/// Each active schedule of an agent that is not deleted has a wake-up for its next time. Taking an archived goal up again
/// brings back that of a schedule that fires once.
pub(super) fn check(whole: &Snapshot, found: &mut Found) {
    for schedule in whole.schedules.iter().filter(|schedule| schedule.status == ScheduleStatus::Active) {
        let is_there = |agent: &Agent| agent.status != Status::Cancelled;
        if !whole.agent(schedule.agent).is_some_and(is_there) {
            continue;
        }
        if schedule.recurrence == Recurrence::Once && is_archived(whole, schedule) {
            continue;
        }
        let is_next = whole
            .wakeups
            .iter()
            .any(|wakeup| wakeup.schedule == Some(schedule.id) && wakeup.due == schedule.due);
        found.must(is_next, NothingStuck, Some(schedule.agent), || {
            format!("schedule {} is due at {} and has no wake-up for then", schedule.id, schedule.due)
        });
    }
}

/// Whether the goal of a schedule's agent is archived.
fn is_archived(whole: &Snapshot, schedule: &Schedule) -> bool {
    let of = |goal: &&Goal| goal.agent == schedule.root;
    whole.goals.iter().find(of).is_some_and(|goal| goal.status == GoalStatus::Archived)
}
