//! What was used, as the API shows it.

use entourage_types::{AgentId, Cost, Run, Usage};
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

/// What all runs of a tree used together: the exact sum.
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
}

impl TreeUsageView {
    /// The sum over these runs of a tree.
    pub(crate) fn new(root: AgentId, runs: &[Run]) -> Self {
        let mut cost = Cost::default();
        for run in runs {
            cost += run.cost;
        }
        Self {
            root,
            runs: runs.len() as u64,
            model_calls: runs.iter().map(|run| u64::from(run.model_calls)).sum(),
            usage: runs.iter().map(|run| run.usage).sum::<Usage>().into(),
            cost,
        }
    }
}
