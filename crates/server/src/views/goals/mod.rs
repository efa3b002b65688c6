//! The documents of the goals API, which shows the engine as goals, their tasks and one agent of the user, with the
//! fields and terms of that design (S4). Each document is rendered from rows of the engine on request; none is stored.

mod agent_history;
mod agent_task;
mod agentable;
mod goal;
mod inspection;
mod llm_history;
mod progress;
mod stopped;
mod thread_message;
mod thread_renderer;
mod user_agent;

pub(crate) use agent_history::AgentHistoryView;
pub(crate) use agent_task::AgentTaskView;
pub(crate) use agentable::{Agentable, AgentableType};
pub(crate) use goal::GoalView;
pub(crate) use inspection::InspectionView;
pub(crate) use llm_history::{HistoryEntry, llm_history};
pub(crate) use progress::{ThinkView, ToolCompleteView, ToolStartView};
pub(crate) use stopped::Stopped;
pub(crate) use thread_message::ThreadMessageView;
pub(crate) use thread_renderer::{Change, Failing, ThreadRenderer, is_stop};
pub(crate) use user_agent::UserAgentView;
