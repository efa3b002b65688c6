//! After which times something is done about tasks and goals that make no progress.

use std::time::Duration;

use entourage_engine::HealthPolicy;
use schemars::JsonSchema;
use serde::Deserialize;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// What a server does by itself about the tasks of goals, and about goals and the user agent: `entourage health` does it
/// now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Health {
    /// From one round to the next, in minutes.
    pub every_minutes: u32,
    /// For how many minutes an agent, of whatever kind, may be at work without a pause; then its run is ended.
    pub orchestrator_minutes: u32,
    /// After how many hours in which nothing of a task changes it is ended without a result, unless it waits for a person.
    pub stale_task_hours: u32,
    /// After how many hours in which nothing of a goal's agent changes its run is ended and it is at rest again, unless it
    /// waits for a person.
    pub stale_goal_hours: u32,
    /// After how many hours a task is cancelled that waits for another attempt at a model call.
    pub expire_hours: u32,
    /// After how many days an ended task is forgotten, with the agent that worked on it.
    pub prune_days: u32,
}

impl Health {
    /// Its numbers, all of which must be greater than 0, with their names.
    pub(super) const fn numbers(&self) -> [(&'static str, u32); 6] {
        [
            ("every_minutes", self.every_minutes),
            ("orchestrator_minutes", self.orchestrator_minutes),
            ("stale_task_hours", self.stale_task_hours),
            ("stale_goal_hours", self.stale_goal_hours),
            ("expire_hours", self.expire_hours),
            ("prune_days", self.prune_days),
        ]
    }
}

impl Default for Health {
    fn default() -> Self {
        let usual = HealthPolicy::default();
        // All of them are whole and small.
        let number = |span: Duration, unit: u64| u32::try_from(span.as_secs() / unit).unwrap_or(u32::MAX);
        Self {
            every_minutes: number(usual.every, MINUTE),
            orchestrator_minutes: number(usual.at_work, MINUTE),
            stale_task_hours: number(usual.stale_task, HOUR),
            stale_goal_hours: number(usual.stale_goal, HOUR),
            expire_hours: number(usual.expire, HOUR),
            prune_days: number(usual.prune, DAY),
        }
    }
}

impl From<Health> for HealthPolicy {
    fn from(set: Health) -> Self {
        let span = |number: u32, unit: u64| Duration::from_secs(u64::from(number) * unit);
        Self {
            every: span(set.every_minutes, MINUTE),
            at_work: span(set.orchestrator_minutes, MINUTE),
            stale_task: span(set.stale_task_hours, HOUR),
            stale_goal: span(set.stale_goal_hours, HOUR),
            expire: span(set.expire_hours, HOUR),
            prune: span(set.prune_days, DAY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows: S4-R122, S4-R123, S4-R126, S4-R127, S4-R128, S4-R129.
    #[test]
    fn the_defaults_are_those_of_the_engine() {
        let set = Health::default();
        assert_eq!(set.numbers().map(|(_, number)| number), [5, 30, 2, 6, 24, 15]);
        assert_eq!(HealthPolicy::from(set), HealthPolicy::default());
    }
}
