//! A person's goals, and the one agent that belongs to the person and not to a goal (S4).

mod change;
mod create;
mod delete;
mod read;
mod user_agent;

pub use change::GoalChange;
pub use create::NewGoal;
pub use user_agent::USER_AGENT;
