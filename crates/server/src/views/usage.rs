//! Usage, as the API shows it.

use entourage_engine::TreeUsage;
use entourage_types::{AgentId, Cost, Day, Owner, RunId, Spent, Tally, Usage, UsageRow};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;

/// Tokens of one call, or of many added up.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Usage)]
pub(crate) struct UsageView {
    /// Prompt tokens, the cached ones included.
    input: u64,
    /// Tokens the model wrote, reasoning included.
    output: u64,
    /// Prompt tokens read from the provider's cache.
    cached: u64,
    /// Prompt tokens written to the provider's cache.
    cache_written: u64,
    /// Output tokens spent on reasoning.
    reasoning: u64,
}

impl From<Usage> for UsageView {
    fn from(Usage { input, output, cached, cache_written, reasoning }: Usage) -> Self {
        Self { input, output, cached, cache_written, reasoning }
    }
}

/// The sum of answers of models, including those that were of no use.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Tally)]
pub(crate) struct TallyView {
    /// How many answers.
    calls: u64,
    /// How many of them came from a model without a known price: the cost leaves them out.
    unpriced: u64,
    /// Their tokens.
    usage: UsageView,
    /// What they cost, as far as prices are known.
    #[schema(value_type = schema::Cost)]
    cost: Cost,
}

impl From<Tally> for TallyView {
    fn from(Tally { calls, unpriced, usage, cost }: Tally) -> Self {
        Self { calls, unpriced, usage: usage.into(), cost }
    }
}

/// The usage of one model on one day.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Spent)]
pub(crate) struct SpentView {
    /// The day in UTC.
    #[schema(value_type = schema::Day)]
    day: Day,
    /// The model, as `provider::name`.
    model: String,
    #[serde(flatten)]
    tally: TallyView,
}

impl From<Spent> for SpentView {
    fn from(Spent { day, model, tally }: Spent) -> Self {
        Self { day, model, tally: tally.into() }
    }
}

/// One sum. Keys that it is not grouped by are left out, and so are keys that are no longer known: of runs
/// that were removed, the owner, day, model and kind are known.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UsageRow)]
pub(crate) struct UsageRowView {
    /// The day in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Day>)]
    day: Option<Day>,
    /// The model, as `provider::name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// The owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    owner: Option<Owner>,
    /// The kind of agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// The tree, by its root.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::AgentId>)]
    tree: Option<AgentId>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::AgentId>)]
    agent: Option<AgentId>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::RunId>)]
    run: Option<RunId>,
    #[serde(flatten)]
    tally: TallyView,
}

impl From<UsageRow> for UsageRowView {
    fn from(row: UsageRow) -> Self {
        let UsageRow { day, model, owner, kind, tree, agent, run, tally } = row;
        Self { day, model, owner, kind, tree, agent, run, tally: tally.into() }
    }
}

/// Usage, summed up.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UsageReport)]
pub(crate) struct UsageReportView {
    /// The sums.
    data: Vec<UsageRowView>,
    /// All of them together.
    total: TallyView,
}

impl From<Vec<UsageRow>> for UsageReportView {
    fn from(rows: Vec<UsageRow>) -> Self {
        let total: Tally = rows.iter().map(|row| row.tally).sum();
        Self { data: rows.into_iter().map(UsageRowView::from).collect(), total: total.into() }
    }
}

/// The usage of all runs of a tree: the exact sum.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TreeUsage)]
pub(crate) struct TreeUsageView {
    /// The tree, by its root.
    #[schema(value_type = schema::AgentId)]
    root: AgentId,
    /// How many runs there were.
    runs: u64,
    /// How many model calls they made.
    model_calls: u64,
    /// The tokens of those calls.
    usage: UsageView,
    /// What they cost, as far as prices are known.
    #[schema(value_type = schema::Cost)]
    cost: Cost,
    /// How many answers came from a model without a known price: the cost leaves them out.
    unpriced: u64,
}

impl TreeUsageView {
    /// The sum over the runs of a tree.
    pub(crate) fn new(root: AgentId, used: &TreeUsage) -> Self {
        let Tally { calls, unpriced, usage, cost } = used.total();
        Self { root, runs: used.runs, model_calls: calls, usage: usage.into(), cost, unpriced }
    }
}
