//! Usage.

use entourage_types::{self as types, AgentId, Cost, Day, Owner, RunId, Time, UsageBy};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use utoipa::{IntoParams, ToSchema};

use crate::{Budget, schema};

/// Tokens of one call, or of many added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    /// Prompt tokens, the cached ones included.
    pub input: u64,
    /// Tokens the model wrote, reasoning included.
    pub output: u64,
    /// Prompt tokens read from the provider's cache.
    pub cached: u64,
    /// Prompt tokens written to the provider's cache.
    pub cache_written: u64,
    /// Output tokens spent on reasoning.
    pub reasoning: u64,
}

impl From<types::Usage> for Usage {
    fn from(types::Usage { input, output, cached, cache_written, reasoning }: types::Usage) -> Self {
        Self { input, output, cached, cache_written, reasoning }
    }
}

impl From<Usage> for types::Usage {
    fn from(Usage { input, output, cached, cache_written, reasoning }: Usage) -> Self {
        Self { input, output, cached, cache_written, reasoning }
    }
}

/// The sum of answers of models, including those that were of no use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Tally {
    /// How many answers.
    pub calls: u64,
    /// How many of them came from a model without a known price: the cost leaves them out.
    pub unpriced: u64,
    /// Their tokens.
    pub usage: Usage,
    /// What they cost, as far as prices are known.
    #[schema(value_type = schema::Cost)]
    pub cost: Cost,
}

impl From<types::Tally> for Tally {
    fn from(types::Tally { calls, unpriced, usage, cost }: types::Tally) -> Self {
        Self { calls, unpriced, usage: usage.into(), cost }
    }
}

/// The usage of one model on one day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DailyUsage {
    /// The day in UTC.
    #[schema(value_type = schema::Day)]
    pub day: Day,
    /// The model, as `provider::name`.
    pub model: String,
    #[serde(flatten)]
    #[allow(missing_docs, reason = "the description shows its fields as those of the whole")]
    pub tally: Tally,
}

impl DailyUsage {
    /// The usage of each model on each day, from that in each hour.
    #[must_use]
    pub fn of(spent: Vec<types::HourlyUsage>) -> Vec<Self> {
        let mut days: Vec<(Day, String, types::Tally)> = Vec::new();
        for types::HourlyUsage { day, hour: _, model, tally } in spent {
            match days.iter_mut().find(|known| (known.0, &known.1) == (day, &model)) {
                Some((_, _, sum)) => *sum += tally,
                None => days.push((day, model, tally)),
            }
        }
        days.into_iter().map(|(day, model, tally)| Self { day, model, tally: tally.into() }).collect()
    }
}

/// One sum. Keys that it is not grouped by are left out, and so are keys that are no longer known: of runs
/// that were removed, the owner, day, hour, model and kind are known, and of usage from before hours were kept no hour.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UsageRow {
    /// The day in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Day>)]
    pub day: Option<Day>,
    /// When the hour begins; hours are in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Time>)]
    pub hour: Option<Time>,
    /// The model, as `provider::name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub owner: Option<Owner>,
    /// The kind of agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The tree, by its root.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::AgentId>)]
    pub tree: Option<AgentId>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::AgentId>)]
    pub agent: Option<AgentId>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::RunId>)]
    pub run: Option<RunId>,
    #[serde(flatten)]
    #[allow(missing_docs, reason = "the description shows its fields as those of the whole")]
    pub tally: Tally,
}

impl From<types::UsageRow> for UsageRow {
    fn from(row: types::UsageRow) -> Self {
        let types::UsageRow { day, hour, model, owner, kind, tree, agent, run, tally } = row;
        Self { day, hour, model, owner, kind, tree, agent, run, tally: tally.into() }
    }
}

/// Usage, summed up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UsageReport {
    /// The sums.
    pub data: Vec<UsageRow>,
    /// All of them together.
    pub total: Tally,
    /// What limits you now: your budget for today, and that of the tree if one tree or agent was asked for.
    pub budgets: Vec<Budget>,
}

impl UsageReport {
    /// These sums, with the budgets that limit what comes.
    #[must_use]
    pub fn new(rows: Vec<types::UsageRow>, budgets: Vec<Budget>) -> Self {
        let total: types::Tally = rows.iter().map(|row| row.tally).sum();
        Self { data: rows.into_iter().map(UsageRow::from).collect(), total: total.into(), budgets }
    }
}

/// The usage of all runs of a tree: the exact sum. What a forgotten agent used is not in it any more; it stays in the
/// sums of the owner, and in the tree's budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TreeUsage {
    /// The tree, by its root.
    #[schema(value_type = schema::AgentId)]
    pub root: AgentId,
    /// How many runs there were.
    pub runs: u64,
    /// How many model calls they made.
    pub model_calls: u64,
    /// The tokens of those calls.
    pub usage: Usage,
    /// What they cost, as far as prices are known.
    #[schema(value_type = schema::Cost)]
    pub cost: Cost,
    /// How many answers came from a model without a known price: the cost leaves them out.
    pub unpriced: u64,
}

/// What to sum up, and by what.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReportUsage {
    /// What to group by, separated by commas: `day`, `hour`, `model`, `kind`, `tree`, `agent`, `run`,
    /// `owner`. One sum by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "words")]
    #[param(
        value_type = Option<String>,
        example = "day,model",
        pattern = "^(day|hour|model|kind|tree|agent|run|owner)(,(day|hour|model|kind|tree|agent|run|owner))*$",
    )]
    pub group_by: Vec<UsageBy>,
    /// From this day, in UTC.
    #[serde(default, deserialize_with = "day")]
    #[param(value_type = Option<schema::Day>)]
    pub from: Option<Day>,
    /// Up to and including this day, in UTC.
    #[serde(default, deserialize_with = "day")]
    #[param(value_type = Option<schema::Day>)]
    pub to: Option<Day>,
    /// Only of the tree with this root, without the agents that were forgotten.
    #[param(value_type = Option<schema::AgentId>)]
    pub tree: Option<AgentId>,
    /// Only of this agent.
    #[param(value_type = Option<schema::AgentId>)]
    pub agent: Option<AgentId>,
    /// Only of this agent and all agents below it.
    #[param(value_type = Option<schema::AgentId>)]
    pub under: Option<AgentId>,
    /// Only of this run.
    #[param(value_type = Option<schema::RunId>)]
    pub run: Option<RunId>,
    /// Only of agents of this kind.
    pub kind: Option<String>,
    /// Only of this model, as `provider::name`.
    pub model: Option<String>,
}

/// Words in one parameter, separated by commas.
mod words {
    use super::{Deserialize, Deserializer, Error, Serializer, UsageBy};

    pub(super) fn serialize<S: Serializer>(by: &[UsageBy], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&by.iter().map(|by| by.as_str()).collect::<Vec<_>>().join(","))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<UsageBy>, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.split(',').map(|word| word.parse().map_err(D::Error::custom)).collect()
    }
}

fn day<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Day>, D::Error> {
    String::deserialize(deserializer)?.parse().map(Some).map_err(D::Error::custom)
}
