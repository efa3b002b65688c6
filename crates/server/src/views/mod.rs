//! The types of the engine as the API shows them. The API has a shape of its own, which `docs/openapi.json`
//! describes.
//!
//! Each view has the fields of its type under the same names, so that a client in Rust can read responses
//! with `entourage-types`.

mod agency;
mod agent;
pub(crate) mod chats;
mod context;
mod entry;
mod event;
mod grant;
mod intervention;
mod item;
mod job;
mod kind;
mod learning;
mod note;
mod question;
mod receiver;
mod response;
mod run;
pub(crate) mod schema;
mod session;
mod task;
mod tree;
mod usage;

pub(crate) use agency::{AgencyChatView, AgencyView, ThreadView};
pub(crate) use agent::AgentView;
pub(crate) use context::ContextView;
pub(crate) use entry::{EntryView, PostedView};
pub(crate) use event::{CaughtUpView, DeltaView, EventView};
pub(crate) use grant::GrantView;
pub(crate) use intervention::InterventionView;
pub(crate) use item::ItemView;
pub(crate) use job::{InconsistencyView, JobView};
pub(crate) use kind::{KindView, ReloadedView};
pub(crate) use learning::LearningView;
pub(crate) use note::NoteView;
pub(crate) use question::QuestionView;
pub(crate) use receiver::ReceiverView;
pub(crate) use response::{ResponseView, RunItemView, RunTextView};
pub(crate) use run::{RunView, StepView};
pub(crate) use session::SessionView;
pub(crate) use task::TaskView;
pub(crate) use tree::TreeView;
pub(crate) use usage::{SpentView, TallyView, TreeUsageView, UsageReportView, UsageView};
