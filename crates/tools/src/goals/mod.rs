//! Tools that look across all goals of the user. Only kinds that name them get them (S4).

mod list_goals;
mod read_goal;

pub use list_goals::ListGoals;
pub use read_goal::ReadGoal;

use entourage_types::ToolSpec;
use schemars::JsonSchema;

use crate::{Caller, spec_of};

/// Returns the offer of a tool to a kind that names it: most agents work for one goal, or for none.
fn offer<T: JsonSchema>(caller: &Caller<'_>, name: &str, description: &str) -> Option<ToolSpec> {
    let is_named = caller.kind.tools.iter().flatten().any(|tool| tool == name);
    is_named.then(|| spec_of::<T>(name, description))
}

/// Returns the beginning of a text.
fn beginning(text: &str, most: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
