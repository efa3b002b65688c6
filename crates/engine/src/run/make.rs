//! One call as it is made: within its time, and so that it harms no other.

use std::{panic::AssertUnwindSafe, time::Duration};

use entourage_tools::{Context, Done, Error as ToolError, Outcome, Tool};
use futures::FutureExt;
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use super::Result;
use crate::Clock;

/// A call by its place in the turn, and what came of it.
pub(super) type Ran = (usize, Result<Outcome, ToolError>);

/// So much of what a tool says is kept, in bytes: agents and people read on in it, and what is longer than a
/// book is read by nobody.
const MOST_KEPT: usize = 4 << 20;

/// Runs a tool within its time; a crash of the tool is an error of the call, not of the house.
pub(super) async fn run_tool(
    tool: &dyn Tool,
    context: &Context,
    arguments: Value,
    clock: &dyn Clock,
    seconds: u64,
) -> Result<Outcome, ToolError> {
    let called = AssertUnwindSafe(tool.call(context, arguments)).catch_unwind();
    let end = clock.now() + Duration::from_secs(seconds);
    tokio::select! {
        biased;
        outcome = called => kept(outcome.unwrap_or_else(|_| {
            Err(ToolError::Failed("the tool crashed; its author must look at it".into()))
        })),
        () = clock.sleep_until(end) => Err(ToolError::TimedOut(seconds)),
    }
}

/// What a tool said, as much of it as is kept.
fn kept(mut outcome: Result<Outcome, ToolError>) -> Result<Outcome, ToolError> {
    if let Ok(Outcome::Done(Done { text, .. })) | Err(ToolError::Failed(text)) = &mut outcome
        && text.len() > MOST_KEPT
    {
        let said = text.len();
        text.truncate(text.floor_char_boundary(MOST_KEPT));
        text.push_str(&format!(
            "\n[cut: the tool returned {said} bytes, and the first {MOST_KEPT} are kept]"
        ));
    }
    outcome
}

/// Runs a call on a task of its own, so that one that holds up its thread holds up no other.
pub(super) async fn beside_others(index: usize, call: impl Future<Output = Ran> + Send + 'static) -> Ran {
    let died = |_| (index, Err(ToolError::Failed("the call was cut off by the end of its thread".into())));
    AbortOnDropHandle::new(tokio::spawn(call.in_current_span())).await.unwrap_or_else(died)
}
