//! Schedules: triggers that come by themselves, once or again and again.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, Columns, Cron, EntityKind, NewEvent, Owner, Record, ScheduleId, Time, Trigger, status::words,
};

/// When a schedule fires after its first time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "repeat", rename_all = "snake_case")]
pub enum Recurrence {
    /// Never again.
    Once,
    /// Again and again.
    Every {
        /// The seconds between two times; at least one.
        seconds: u64,
    },
    /// By the clocks of a place.
    Cron(Cron),
}

/// The most times that are counted as left out at once, of those by the clocks of a place.
const MOST_COUNTED: usize = 1_000;

impl Recurrence {
    /// The first time of a schedule that is made at `now` and is to begin at `from`, or else as soon as it recurs.
    #[must_use]
    pub fn first(&self, from: Option<Time>, now: Time) -> Option<Time> {
        match (self, from) {
            // What has passed does not come again; at `from` itself, it comes.
            (Self::Cron(cron), from) => {
                cron.after(Time::from_micros(from.map_or(now, |from| from.max(now)).micros() - 1))
            }
            (_, Some(from)) => Some(from),
            (Self::Once, None) => Some(now),
            (Self::Every { seconds }, None) => Some(now + Duration::from_secs(*seconds)),
        }
    }

    /// The first time after `at` of a schedule that was due at `due`. Times that have passed meanwhile are left out.
    fn after(&self, due: Time, at: Time) -> Option<Time> {
        match self {
            Self::Once => None,
            Self::Cron(cron) => cron.after(due.max(at)),
            Self::Every { seconds } => {
                let every = i64::try_from(*seconds).ok()?.checked_mul(1_000_000)?.max(1);
                let passed = at.micros().saturating_sub(due.micros()).max(0) / every;
                let next = every.checked_mul(passed.checked_add(1)?)?.checked_add(due.micros())?;
                (next <= Time::LAST.micros()).then(|| Time::from_micros(next))
            }
        }
    }
}

words! {
    /// The status of a schedule.
    ScheduleStatus, "status of a schedule" {
        /// It fires when its time comes.
        Active => "active",
        /// It does not fire until a person lets it go on.
        Paused => "paused",
        /// It fires no more: it has fired for the last time, or a person ended it.
        Ended => "ended",
    }
}

/// When an agent is set to work by itself, and with what. The commit that fires it also sets its next time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Its id.
    pub id: ScheduleId,
    /// The owner of the agent.
    pub owner: Owner,
    /// The top of the agent's tree.
    pub root: AgentId,
    /// The agent.
    pub agent: AgentId,
    /// What the agent reads.
    pub text: String,
    /// What its program reads.
    pub trigger: Trigger,
    /// When it fires after its first time.
    pub recurrence: Recurrence,
    /// Its status.
    pub status: ScheduleStatus,
    /// When it fires next. Of a paused one, when it was to fire next; of one that has ended, when it fired last.
    pub due: Time,
    /// How often it has fired.
    pub fired: u64,
    /// How many of its times were left out because the agent had not read the trigger before, or because no process
    /// was there at the time.
    pub left_out: u64,
    /// When it was created.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

impl Schedule {
    /// Advances a schedule that came due at `at`: sets its next time, or ends it. `fires` is false if this occurrence
    /// is skipped.
    #[must_use]
    pub fn advance(mut self, at: Time, fires: bool) -> Self {
        let next = self.recurrence.after(self.due, at);
        self.left_out += self.missed(next) + u64::from(!fires);
        self.fired += u64::from(fires);
        match next {
            Some(next) => self.due = next,
            None => self.status = ScheduleStatus::Ended,
        }
        self.updated = at;
        self
    }

    /// Sets the status at `at`. Occurrences that passed while the schedule was paused are skipped if there is a next
    /// one.
    #[must_use]
    pub fn set(mut self, status: ScheduleStatus, at: Time) -> Self {
        if status == ScheduleStatus::Active
            && self.due < at
            && let Some(next) = self.recurrence.after(self.due, at)
        {
            self.due = next;
        }
        (self.status, self.updated) = (status, at);
        self
    }

    /// How many times lie between its time and its next one.
    fn missed(&self, next: Option<Time>) -> u64 {
        match (&self.recurrence, next) {
            (Recurrence::Every { seconds }, Some(next)) => {
                (next.since(self.due).as_secs() / (*seconds).max(1)).saturating_sub(1)
            }
            (Recurrence::Cron(cron), Some(next)) => cron.between(self.due, next, MOST_COUNTED) as u64,
            _ => 0,
        }
    }
}

impl Record for Schedule {
    const KIND: EntityKind = EntityKind::SCHEDULE;
    type Status = ScheduleStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.id.to_string(),
            owner: self.owner.clone(),
            root: Some(self.root),
            parent: Some(self.agent.into()),
            status: self.status.as_str(),
            created: self.created,
            updated: self.updated,
            name: None,
            text: None,
        }
    }

    fn event(&self) -> serde_json::Result<Option<NewEvent>> {
        NewEvent::of(self, self.root, self.agent).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time::from_micros(seconds * 1_000_000)
    }

    fn every(seconds: u64) -> Schedule {
        let agent = AgentId::new();
        Schedule {
            id: ScheduleId::new(),
            owner: Owner::local(),
            root: agent,
            agent,
            text: "Look.".into(),
            trigger: Trigger { name: "look".into(), payload: serde_json::Value::Null, schedule: None },
            recurrence: Recurrence::Every { seconds },
            status: ScheduleStatus::Active,
            due: at(100),
            fired: 0,
            left_out: 0,
            created: at(0),
            updated: at(0),
        }
    }

    #[test]
    fn times_that_passed_meanwhile_collapse_into_one() {
        let on_time = every(60).advance(at(100), true);
        assert_eq!((on_time.due, on_time.fired, on_time.left_out), (at(160), 1, 0));
        let late = every(60).advance(at(300), true);
        assert_eq!((late.due, late.fired, late.left_out), (at(340), 1, 3));
        let unread = every(60).advance(at(100), false);
        assert_eq!((unread.due, unread.fired, unread.left_out), (at(160), 0, 1));
    }

    #[test]
    fn a_schedule_without_a_next_time_ends() {
        let once = Schedule { recurrence: Recurrence::Once, ..every(1) }.advance(at(200), true);
        assert_eq!((once.status, once.fired, once.due), (ScheduleStatus::Ended, 1, at(100)));
        for seconds in [u64::MAX, 1_000_000_000_000] {
            assert_eq!(every(seconds).advance(at(200), true).status, ScheduleStatus::Ended);
        }
    }

    #[test]
    fn a_schedule_by_the_clocks_keeps_its_time_of_day_and_counts_what_was_left_out() {
        let by_clock = Schedule {
            recurrence: Recurrence::Cron(Cron::checked("30 7 * * *", "Europe/Berlin").unwrap()),
            due: "2026-10-24T05:30:00Z".parse().unwrap(),
            ..every(1)
        };
        let on_time = by_clock.clone().advance(by_clock.due, true);
        assert_eq!((on_time.due.to_string().as_str(), on_time.left_out), ("2026-10-25T06:30:00Z", 0));
        let late = by_clock.advance("2026-10-27T12:00:00Z".parse().unwrap(), true);
        assert_eq!(
            (late.due.to_string().as_str(), late.fired, late.left_out),
            ("2026-10-28T06:30:00Z", 1, 3)
        );
    }

    #[test]
    fn a_paused_schedule_goes_on_with_its_next_time() {
        let paused = every(60).set(ScheduleStatus::Paused, at(90));
        assert_eq!(paused.due, at(100));
        let resumed = paused.set(ScheduleStatus::Active, at(170));
        assert_eq!((resumed.status, resumed.due, resumed.fired), (ScheduleStatus::Active, at(220), 0));
    }
}
