//! What drives a run: an ordinary async function over [`Run`], named by its kind.

mod converse;

use entourage_types::Program;

use crate::run::{Interrupt, Run};

pub use converse::converse;

/// Runs the program of the run's kind to its end; the text is the run's answer.
///
/// # Errors
/// An [`Interrupt`] when the run sleeps, is stopped or fails.
pub async fn drive(run: &mut Run<'_>) -> Result<String, Interrupt> {
    match run.kind().program {
        Program::React => converse(run).await,
    }
}
