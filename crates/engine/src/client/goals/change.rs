//! Changing a goal, putting it away, and taking it up again.

use entourage_store::{Commit, Page, RecordFilter, Write};
use entourage_types::{AgentId, Goal, GoalStatus, RecordWrite, Recurrence, Schedule, ScheduleStatus, Wakeup};

use super::super::Client;
use crate::{Result, documents::Refused};

/// A change of a goal. What is not given stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GoalChange {
    /// Its new title.
    pub title: Option<String>,
    /// Its new description.
    pub description: Option<String>,
    /// Its new instructions.
    pub instructions: Option<String>,
    /// Whether it is put away, or taken up again.
    pub status: Option<GoalStatus>,
}

impl Client {
    /// Changes a goal. Its agent, and the agents of its tasks, read the change before their next model call; its agent has
    /// a new title as soon as a process works on it. A change that changes nothing writes nothing. What a schedule was to fire
    /// once while the goal was archived comes when it is taken up again.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound); [`Error::Part`](crate::Error::Part) for what cannot be kept.
    pub async fn change_goal(&self, agent: AgentId, change: GoalChange) -> Result<Goal> {
        loop {
            let before = self.versioned::<Goal>(agent).await?;
            let GoalChange { title, description, instructions, status } = change.clone();
            let goal = before.record.clone();
            let mut after = Goal {
                title: title.unwrap_or(goal.title),
                description: description.unwrap_or(goal.description),
                instructions: instructions.unwrap_or(goal.instructions),
                status: status.unwrap_or(goal.status),
                ..goal
            };
            after.title = Goal::checked(&after.title, &after.description, &after.instructions)?;
            if after == before.record {
                return Ok(after);
            }
            let mut commit = Commit::new(self.engine.now());
            after.updated = commit.at;
            commit.record(RecordWrite::of(&after)?.at_version(before.version));
            if before.record.title != after.title {
                // Only the agent itself writes its row.
                let wakeup = Wakeup::new(agent, after.owner.clone(), commit.at);
                commit.push(Write::ScheduleWakeup(wakeup));
            }
            if (before.record.status, after.status) == (GoalStatus::Archived, GoalStatus::Open) {
                commit.writes.extend(self.single_times(agent).await?);
            }
            match self.commit_named(commit, "").await {
                Err(Refused::Again) => {}
                Err(Refused::For(error)) => return Err(error),
                Ok(()) => return Ok(after),
            }
        }
    }

    /// The wake-ups of the schedules of a goal that fire once. Those that have one keep it: its time does not change.
    async fn single_times(&self, goal: AgentId) -> Result<Vec<Write>> {
        let (root, status) = (Some(goal), Some(ScheduleStatus::Active));
        let filter = RecordFilter { root, status, page: Page::all(), ..RecordFilter::default() };
        let schedules: Vec<Schedule> = self.records(filter).await?;
        let single = schedules.iter().filter(|schedule| schedule.recurrence == Recurrence::Once);
        Ok(single.map(|schedule| Write::ScheduleWakeup(Wakeup::of_schedule(schedule))).collect())
    }
}
