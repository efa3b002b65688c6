//! The nouns of Entourage: plain data with serde, no async and no I/O.
//!
//! `docs/vocabulary.md` has one line for each. The engine stores, sends and shows these types; they
//! have no behaviour of their own.

mod agent;
mod approval;
mod asked;
mod backoff;
mod budget;
mod chat;
mod context;
mod counter;
mod day;
mod delivery;
mod entity;
mod epoch;
mod event;
mod grant;
mod guardrails;
mod id;
mod intervention;
mod item;
mod job_run;
mod kind;
mod learning;
mod limits;
mod money;
mod name;
mod note;
mod notice;
mod owner;
mod parent;
mod plain;
mod post;
mod program;
mod question;
mod report;
mod run;
mod run_options;
mod schedule;
mod session;
mod sha256;
mod shown;
mod status;
mod step;
mod step_key;
mod task;
mod thread;
mod time;
mod tombstone;
mod tool;
mod trigger;
mod usage;
mod wakeup;

pub use agent::{Agent, WorksFor};
pub use approval::{ApprovalRule, Comparison, Condition};
pub use asked::{Asked, FailedTry};
pub use backoff::Backoff;
pub use budget::{Allowance, Amount, Budget, BudgetId, Shortage};
pub use chat::{Chat, ChatStatus};
pub use context::{Context, ContextEntry, ContextPolicy, Section, Sessions};
pub use counter::{Counter, CounterStatus};
pub use day::{Day, Hour};
pub use delivery::{Delivery, DeliveryStatus, Occasion, Subject};
pub use entity::{Columns, Entity, EntityKind, Record, RecordEvent, RecordSelector, RecordWrite};
pub use epoch::Epoch;
pub use event::{Event, EventBody};
pub use grant::{Grant, GrantStatus, GrantSubject};
pub use guardrails::Guardrails;
pub use id::{
    AgentId, CallId, CommitId, DeliveryId, GrantId, InterventionId, LearningId, NoteId, ParseIdError, PostId,
    QuestionId, RunId, ScheduleId, SessionId, TaskId, WakeupId, seeded_ids,
};
pub use intervention::{Action, Intervention, InterventionStatus};
pub use item::{
    Author, Decision, DecisionOutcome, Digest, Item, ItemBody, Message, Output, OutputEffect, ToolCall, Turn,
};
pub use job_run::{JobRun, JobRunStatus};
pub use kind::{InDoubt, Input, Kind, OnLimit, Reply};
pub use learning::{Learning, LearningStatus};
pub use limits::Limits;
pub use money::Dollars;
pub use name::{UniqueName, fold_name};
pub use note::{Note, NoteStatus};
pub use notice::{Level, Notice, NoticeCode};
pub use owner::{Owner, Scope};
pub use parent::Parent;
pub use plain::{LONGEST_NAME, is_storable_name, plain};
pub use post::{Post, PostBody};
pub use program::ProgramName;
pub use question::{About, Answer, Proposal, Question, QuestionStatus, Verdict};
pub use report::{UsageBy, UsageRow};
pub use run::{Run, StopReason};
pub use run_options::RunOptions;
pub use schedule::{Recurrence, Schedule, ScheduleStatus};
pub use session::{Session, SessionEnd, SessionStatus};
pub use sha256::Sha256;
pub use shown::ShownStatus;
pub use status::{Status, WaitingOn};
pub use step::{Checkpoint, Intent, OpenQuestion, Retry, Step, StepState, StepStatus, Wait};
pub use step_key::StepKey;
pub use task::{OnEnd, Task, TaskResult};
pub use thread::{KeptThread, KeptThreadStatus, PendingSave, PendingSaveStatus, ThreadKey};
pub use time::Time;
pub use tombstone::{Tombstone, TombstoneStatus};
pub use tool::{Effect, EffectClasses, ToolSpec};
pub use trigger::{Payload, Trigger};
pub use usage::{Cost, HourlyUsage, ModelUse, Tally, Usage};
pub use wakeup::Wakeup;
