//! What the code of an agent may call beside the tools of its kind.

mod emit;
mod fork;
mod settings;

pub use emit::Emit;
pub use fork::{Fork, ForkArguments};
pub use settings::{PythonInterpreter, PythonSettings, Snapshots};
