//! Runs.

use std::collections::BTreeMap;

use entourage_types::{
    self as types, AgentId, Cost, Owner, RunId, ShownStatus, StopReason, Switch, TaskId, Time, WaitingOn,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{DailyUsage, Usage, schema};

/// A run: the work from reading a message until the agent stops. It may sleep in between, for any length of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Run {
    /// Its id.
    #[schema(value_type = schema::RunId)]
    pub id: RunId,
    /// The agent.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// The owner of that agent.
    #[schema(value_type = String)]
    pub owner: Owner,
    /// Its status.
    #[schema(value_type = schema::ShownStatus)]
    pub status: ShownStatus,
    /// What it waits on, if it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::WaitingOn>)]
    pub waiting_on: Option<WaitingOn>,
    /// Why it stopped, once it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::StopReason>)]
    pub stop_reason: Option<StopReason>,
    /// What went wrong, if something did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The version of the kind that it started with and stays with.
    pub kind_version: String,
    /// The switches of MCP servers and of their tools that it started with and stays with.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    #[schema(value_type = BTreeMap<String, schema::Switch>)]
    pub switches: BTreeMap<String, Switch>,
    /// The tasks whose results it owes.
    #[schema(value_type = Vec<schema::TaskId>)]
    pub tasks: Vec<TaskId>,
    /// How many model calls it made.
    pub model_calls: u32,
    /// Milliseconds at work in activations that have ended; time asleep does not count.
    pub worked_ms: u64,
    /// The tokens of those calls.
    pub usage: Usage,
    /// What they cost, as far as prices are known.
    #[schema(value_type = schema::Cost)]
    pub cost: Cost,
    /// The same by day and model.
    pub spent: Vec<DailyUsage>,
    /// When it started.
    #[schema(value_type = schema::Time)]
    pub started: Time,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Time>)]
    pub ended: Option<Time>,
}

impl From<types::Run> for Run {
    fn from(run: types::Run) -> Self {
        let types::Run {
            id,
            agent,
            owner,
            status,
            waiting_on,
            stop_reason,
            error,
            kind_version,
            switches,
            tasks,
            model_calls,
            worked_ms,
            usage,
            cost,
            spent,
            started,
            ended,
        } = run;
        let status = ShownStatus::of(status, stop_reason);
        let switches = switches.iter().map(|(name, switch)| (name.to_owned(), switch)).collect();
        let (usage, spent) = (usage.into(), DailyUsage::of(spent));
        Self {
            id,
            agent,
            owner,
            status,
            waiting_on,
            stop_reason,
            error,
            kind_version,
            switches,
            tasks,
            model_calls,
            worked_ms,
            usage,
            cost,
            spent,
            started,
            ended,
        }
    }
}

/// What one model call used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelUse {
    /// The model that answered, as `provider::name`.
    pub model: String,
    /// Its tokens.
    pub usage: Usage,
    /// Its price; left out when none is known for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Cost>)]
    pub cost: Option<Cost>,
}

impl From<types::ModelUse> for ModelUse {
    fn from(types::ModelUse { model, usage, cost }: types::ModelUse) -> Self {
        Self { model, usage: usage.into(), cost }
    }
}

/// Which runs to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListRuns {
    /// Only runs in the tree with this root.
    #[param(value_type = Option<schema::AgentId>)]
    pub root: Option<AgentId>,
    /// Only runs of this agent.
    #[param(value_type = Option<schema::AgentId>)]
    pub agent: Option<AgentId>,
    /// Only runs of agents of this kind.
    pub kind: Option<String>,
    /// Only runs that started with this version of their kind.
    pub version: Option<String>,
    /// Only runs in this status.
    #[param(value_type = Option<schema::ShownStatus>)]
    pub status: Option<ShownStatus>,
    /// Only runs that stopped for this reason.
    #[param(value_type = Option<schema::StopReason>)]
    pub stop_reason: Option<StopReason>,
    /// How many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    pub cursor: Option<String>,
}
