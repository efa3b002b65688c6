//! Schedules: one that is to fire has the wake-up with which it fires.

use entourage_types::{Agent, ScheduleStatus, Status};

use super::{Found, Invariant::NothingStuck, snapshot::Snapshot};

/// Each active schedule of an agent that is not deleted has a wake-up for its next time.
pub(super) fn check(whole: &Snapshot, found: &mut Found) {
    for schedule in whole.schedules.iter().filter(|schedule| schedule.status == ScheduleStatus::Active) {
        let is_there = |agent: &Agent| agent.status != Status::Cancelled;
        if !whole.agent(schedule.agent).is_some_and(is_there) {
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
