//! Tools for what an agent itself remembers, from one conversation to the next.

mod learnings;
mod retire_learning;
mod save_learning;
mod update_learning;

pub use retire_learning::RetireLearning;
pub use save_learning::SaveLearning;
pub use update_learning::UpdateLearning;
