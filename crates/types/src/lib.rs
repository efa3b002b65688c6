//! The nouns of Entourage: plain data with serde, no async and no I/O.
//!
//! `docs/vocabulary.md` has one line for each. Everything here is what the engine stores, sends
//! and shows; nothing here does anything.

mod agent;
mod approval;
mod chat;
mod checks;
mod context;
mod day;
mod delivery;
mod entity;
mod event;
mod grant;
mod id;
mod intervention;
mod item;
mod kind;
mod learning;
mod limits;
mod money;
mod note;
mod owner;
mod plain;
mod post;
mod question;
mod report;
mod round;
mod run;
mod session;
mod shown;
mod status;
mod step;
mod step_key;
mod task;
mod terms;
mod thread;
mod time;
mod tool;
mod usage;
mod wakeup;

pub use agent::Agent;
pub use approval::{ApprovalRule, Comparison, Condition};
pub use chat::Chat;
pub use checks::Checks;
pub use context::{ContextPolicy, Section, Sessions};
pub use day::Day;
pub use delivery::{Delivery, DeliveryStatus, Occasion, Subject};
pub use entity::{Entity, EntityKind, Record};
pub use event::{Event, EventBody};
pub use grant::{Grant, GrantStatus};
pub use id::{
    AgentId, CallId, CommitId, DeliveryId, GrantId, InterventionId, LearningId, NoteId, ParseIdError, PostId,
    QuestionId, RunId, SessionId, TaskId, WakeupId, seeded_ids,
};
pub use intervention::{Action, Intervention, InterventionStatus};
pub use item::{
    Author, Decision, Digest, Item, ItemBody, Level, Message, Notice, Output, OutputEffect, ToolCall, Turn,
};
pub use kind::{InDoubt, Input, Kind, Program, Reply};
pub use learning::{Learning, LearningStatus};
pub use limits::Limits;
pub use note::Note;
pub use owner::{Owner, Scope};
pub use plain::{LONGEST_NAME, plain};
pub use post::{Post, PostBody};
pub use question::{About, Answer, Proposal, Question, QuestionStatus, Verdict};
pub use report::{UsageBy, UsageRow};
pub use round::Round;
pub use run::{Run, StopReason};
pub use session::{Session, SessionEnd};
pub use shown::ShownStatus;
pub use status::{Status, WaitingOn};
pub use step::{Checkpoint, Intent, OpenQuestion, Retry, Step, StepState, StepStatus, Wait};
pub use step_key::StepKey;
pub use task::{Task, TaskResult};
pub use terms::Terms;
pub use thread::{KeptThread, ThreadKey, Unsaved};
pub use time::Time;
pub use tool::{Effect, EffectClasses, ToolSpec};
pub use usage::{Cost, ModelUse, Spent, Tally, Usage};
pub use wakeup::Wakeup;
