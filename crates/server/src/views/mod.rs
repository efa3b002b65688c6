//! The nouns as the API shows them: its shape is its own, and stands in `docs/openapi.json`.
//!
//! Each view has the fields of its noun by the same names, so that a client in Rust reads the
//! answers with `entourage-types`.

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
pub(crate) use job::{DamageView, JobView};
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
