//! Triggers, and the schedules that fire them.

use entourage_types::{self as types, AgentId, Owner, ScheduleId, ScheduleStatus, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::schema;

/// When an agent is set to work by itself, and with what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Schedule {
    /// Its id.
    #[schema(value_type = schema::ScheduleId)]
    pub id: ScheduleId,
    /// The owner of the agent.
    #[schema(value_type = String)]
    pub owner: Owner,
    /// The agent's tree, by its root.
    #[schema(value_type = schema::AgentId)]
    pub root: AgentId,
    /// The agent.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// The name of its trigger.
    pub trigger: String,
    /// What comes with the trigger, of any JSON type; left out if there is nothing.
    #[serde(skip_serializing_if = "Value::is_null", default)]
    #[schema(required = false)]
    pub payload: Value,
    /// What the agent reads.
    pub text: String,
    /// When it fires after its first time.
    pub recurrence: Recurrence,
    /// Its status.
    #[schema(value_type = schema::ScheduleStatus)]
    pub status: ScheduleStatus,
    /// When it fires next; left out while it is paused, since the next time is found when it is resumed. Of one that has
    /// ended, when it was last due.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Time>)]
    pub due: Option<Time>,
    /// How often it has fired.
    pub fired: u64,
    /// How many of its times were left out: the agent had not read the trigger before, its goal was archived, or no process
    /// was there at the time.
    pub left_out: u64,
    /// When it was created.
    #[schema(value_type = schema::Time)]
    pub created: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    pub updated: Time,
}

impl From<types::Schedule> for Schedule {
    fn from(schedule: types::Schedule) -> Self {
        let types::Schedule { id, owner, root, agent, text, trigger, recurrence, status, .. } = schedule;
        let types::Schedule { due, fired, left_out, created, updated, .. } = schedule;
        let types::Trigger { name: trigger, payload, schedule: _ } = trigger;
        let recurrence = recurrence.into();
        let due = (status != ScheduleStatus::Paused).then_some(due);
        Self {
            id,
            owner,
            root,
            agent,
            trigger,
            payload,
            text,
            recurrence,
            status,
            due,
            fired,
            left_out,
            created,
            updated,
        }
    }
}

/// When a schedule fires after its first time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "repeat", rename_all = "snake_case", deny_unknown_fields)]
pub enum Recurrence {
    /// Never again.
    Once {},
    /// Again and again.
    Every {
        /// The seconds between two times.
        #[schema(minimum = 60)]
        seconds: u64,
    },
    /// By the clocks of a place.
    Cron {
        /// A cron expression with the fields minute, hour, day of month, month and day of week.
        #[schema(example = "30 7 * * 1-5")]
        expression: String,
        /// The name of the time zone in the IANA database.
        #[schema(example = "Europe/Berlin")]
        zone: String,
    },
}

impl Default for Recurrence {
    fn default() -> Self {
        Self::Once {}
    }
}

impl From<types::Recurrence> for Recurrence {
    fn from(recurrence: types::Recurrence) -> Self {
        match recurrence {
            types::Recurrence::Once => Self::Once {},
            types::Recurrence::Every { seconds } => Self::Every { seconds },
            types::Recurrence::Cron(types::Cron { expression, zone }) => Self::Cron { expression, zone },
        }
    }
}

impl From<Recurrence> for types::Recurrence {
    fn from(recurrence: Recurrence) -> Self {
        match recurrence {
            Recurrence::Once {} => Self::Once,
            Recurrence::Every { seconds } => Self::Every { seconds },
            Recurrence::Cron { expression, zone } => Self::Cron(types::Cron { expression, zone }),
        }
    }
}

/// A schedule to create.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct CreateSchedule {
    /// The agent.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// The name of the trigger, 1 to 200 characters on one line, without the blanks around them.
    #[schema(min_length = 1, pattern = r"\S")]
    pub trigger: String,
    /// What the agent's program reads with the trigger, of any JSON type.
    #[serde(skip_serializing_if = "Value::is_null", default)]
    #[schema(required = false)]
    pub payload: Value,
    /// What the agent reads; by default what its kind says about the trigger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// When it fires first, not in the past; by the clocks of a place, from when on. By default as soon as it recurs, and at
    /// once if it never does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Time>)]
    pub first: Option<Time>,
    /// When it fires after that; by default never.
    #[serde(default)]
    #[schema(required = false)]
    pub recurrence: Recurrence,
}

/// A trigger to fire at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct FireTrigger {
    /// Its name, 1 to 200 characters on one line, without the blanks around them.
    #[schema(min_length = 1, pattern = r"\S")]
    pub name: String,
    /// What the agent's program reads with it, of any JSON type.
    #[serde(skip_serializing_if = "Value::is_null", default)]
    #[schema(required = false)]
    pub payload: Value,
    /// What the agent reads; by default what its kind says about the trigger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Which schedules to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListSchedules {
    /// Only schedules of this agent.
    #[param(value_type = Option<schema::AgentId>)]
    pub agent: Option<AgentId>,
    /// Only schedules in this status.
    #[param(value_type = Option<schema::ScheduleStatus>)]
    pub status: Option<ScheduleStatus>,
    /// How many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    pub cursor: Option<String>,
}
