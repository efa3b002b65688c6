//! Tools for an agent's own memory across conversations.

mod learnings;
mod read_output;
mod retire_learning;
mod save_learning;
mod search_agent_history;
mod update_learning;

pub use read_output::ReadOutput;
pub use retire_learning::RetireLearning;
pub use save_learning::SaveLearning;
pub use search_agent_history::SearchAgentHistory;
pub use update_learning::UpdateLearning;
