//! Executes one tool call: within its time limit, and isolated from the other calls.

use std::time::Duration;

use entourage_tools::{Context, Error as ToolError, Outcome, Tool};
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use crate::run::Result;
use crate::{
    Clock,
    with_timeout::{NoResult, with_timeout},
};

/// The index of a call in its turn, and its outcome.
pub(in crate::run) type CallResult = (usize, Result<Outcome, ToolError>);

/// Runs a tool within its time limit; a panic of the tool is an error of the call, not of the engine.
pub(in crate::run) async fn run_tool(
    tool: &dyn Tool,
    context: &Context,
    arguments: Value,
    clock: &dyn Clock,
    seconds: u64,
) -> Result<Outcome, ToolError> {
    let ended = match with_timeout(clock, Duration::from_secs(seconds), tool.call(context, arguments)).await {
        Ok(outcome) => outcome,
        Err(NoResult::Crashed) => {
            Err(ToolError::Failed("the tool crashed; its author must look at it".into()))
        }
        Err(NoResult::TimedOut(_)) => Err(ToolError::TimedOut(seconds)),
    };
    tracing::debug!(tool = tool.name(), call = %context.call, failed = ended.is_err(), "a call of a tool ended");
    ended
}

/// Runs a call on a task of its own, so that a call that blocks its thread blocks no other.
pub(in crate::run) async fn beside_others(
    index: usize,
    call: impl Future<Output = CallResult> + Send + 'static,
) -> CallResult {
    let died = |_| (index, Err(ToolError::Failed("the call was cut off by the end of its thread".into())));
    AbortOnDropHandle::new(tokio::spawn(call.in_current_span())).await.unwrap_or_else(died)
}
