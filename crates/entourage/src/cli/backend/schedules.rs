//! Schedules, through the HTTP API.

use entourage_api::{CreateSchedule, ListSchedules, Posted, Schedule};
use entourage_types::{AgentId, ScheduleId, ScheduleStatus};
use reqwest::Method;

use super::{Backend, Result};

impl Backend {
    /// Schedules of one agent or of all, in one status or in any, newest first; all of them, or at most so many.
    pub(crate) async fn schedules(
        &self,
        agent: Option<AgentId>,
        status: Option<ScheduleStatus>,
        most: Option<u32>,
    ) -> Result<Vec<Schedule>> {
        self.whole("schedules", &ListSchedules { agent, status, ..ListSchedules::default() }, most).await
    }

    /// One schedule.
    pub(crate) async fn schedule(&self, id: ScheduleId) -> Result<Schedule> {
        self.get(&format!("schedules/{id}")).await
    }

    /// Creates a schedule.
    pub(crate) async fn create_schedule(&self, new: &CreateSchedule) -> Result<Schedule> {
        self.post_once("schedules", new, None, "entourage schedules").await
    }

    /// Keeps a schedule from firing.
    pub(crate) async fn pause_schedule(&self, id: ScheduleId) -> Result<Schedule> {
        self.post(&format!("schedules/{id}/pause")).await
    }

    /// Lets a paused schedule go on.
    pub(crate) async fn resume_schedule(&self, id: ScheduleId) -> Result<Schedule> {
        self.post(&format!("schedules/{id}/resume")).await
    }

    /// Ends a schedule.
    pub(crate) async fn end_schedule(&self, id: ScheduleId) -> Result<Schedule> {
        self.post(&format!("schedules/{id}/end")).await
    }

    /// Fires a schedule now.
    pub(crate) async fn fire_schedule(&self, id: ScheduleId) -> Result<Posted> {
        let look = format!("entourage schedules show {id}");
        let request = self.request(Method::POST, &format!("schedules/{id}/fire"));
        self.answer_to(request).await.map_err(|failure| failure.look_first(&look))
    }
}
