//! The Tool seam and the first tools, a file each.
//!
//! Tools never see the store: what they need to read comes with their [`Context`], what they want
//! to write rides in their [`Outcome`] and is committed by the house together with the output.

mod arguments;
mod context;
mod error;
mod outcome;
mod tool;

pub use arguments::{Checker, parse, schema_of};
pub use context::{Context, Notes};
pub use error::Error;
pub use outcome::{Ask, Delegate, Done, Outcome, Target};
pub use tool::{Caller, Effect, Tool, Toolbox};

/// What every call returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;
