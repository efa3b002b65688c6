//! Programs drive runs: each is an ordinary async function over [`Run`], selected by the run's kind.

mod converse;
mod orchestrate;

use entourage_types::Program;

use crate::run::{Interrupt, Run};

pub use converse::converse;
pub use orchestrate::orchestrate;

/// Runs the program of the run's kind to its end, and returns the run's answer.
///
/// # Errors
/// An [`Interrupt`] when the run sleeps, is stopped or fails.
pub async fn drive(run: &mut Run<'_>) -> Result<String, Interrupt> {
    match run.kind().program {
        Program::React => converse(run).await,
        Program::Orchestrate => orchestrate(run).await,
    }
}
