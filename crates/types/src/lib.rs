//! The nouns of Entourage: plain data with serde, no async and no I/O.
//!
//! `docs/vocabulary.md` has one line for each. The engine stores, sends and shows these types; they
//! have no behaviour of their own.

mod account;
mod agent;
mod agent_action;
mod agent_key;
mod agent_state;
mod annotations;
mod approval;
mod asked;
mod backoff;
mod blank;
mod budget;
mod chat;
mod code_snapshot;
mod console_login;
mod context;
mod counter;
mod created_tasks;
mod cron;
mod cron_fields;
mod day;
mod decision;
mod delivery;
mod dispatch_by;
mod document;
mod entity;
mod entity_kind;
mod epoch;
mod event;
mod failure_class;
mod forget;
mod goal;
mod grant;
mod guardrails;
mod health;
mod id;
mod intervention;
mod item;
mod job_run;
mod kind;
mod learning;
mod limits;
mod money;
mod name;
mod nesting;
mod node_role;
mod note;
mod notice;
mod owner;
mod parent;
mod plain;
mod post;
mod program;
mod project;
mod project_chat;
mod question;
mod report;
mod run;
mod run_options;
mod schedule;
mod secret;
mod session;
mod sha256;
mod shown;
mod snippet;
mod status;
mod step;
mod step_key;
mod stream_token;
mod task;
mod thread;
mod time;
mod timeframe;
mod title;
mod tombstone;
mod tool;
pub mod tool_names;
mod tool_switches;
mod trigger;
mod usage;
mod visible;
mod wakeup;
mod words;

pub use account::{Account, AccountStatus, Email, EmailError, PasswordHash};
pub use agent::{Agent, WorksFor};
pub use agent_action::{ActMetadata, ActionType, AgentActionCompleted};
pub use agent_key::AgentKey;
pub use agent_state::{AgentState, Unread};
pub use annotations::{AgentName, Annotations, AnnotationsStatus, ShownState};
pub use approval::{ApprovalRule, Comparison, Condition};
pub use asked::{Asked, AskedSummary, FailedTry};
pub use backoff::Backoff;
pub use blank::is_blank;
pub use budget::{Allowance, Amount, Budget, BudgetAction, BudgetId, Shortage};
pub use chat::{Chat, ChatStatus};
pub use code_snapshot::CodeSnapshot;
pub use console_login::{ConsoleLogin, ConsoleLoginStatus};
pub use context::{Context, ContextEntry, ContextPolicy, Section, Sessions};
pub use counter::{Counter, CounterStatus};
pub use created_tasks::{CreatedTasks, OnTaskEnd};
pub use cron::{Cron, CronError};
pub use day::{Day, Hour};
pub use decision::{AnswerFlaw, Decision, DecisionOutcome, DecisionPrompt, DecisionReads};
pub use delivery::{Delivery, DeliveryStatus, Occasion, Subject};
pub use dispatch_by::DispatchBy;
pub use document::{
    Change, DOCUMENT_BYTES, DOCUMENT_NAME_CHARS, DOCUMENTS_OF_PROJECT, Document, DocumentHead,
    DocumentVersion, Editor, INSTRUCTION_BYTES, MOST_SECTION_EDITS, NewDocument, PartError, RewriteError,
    SUMMARY_CHARS, SectionEdit, SectionError, Shrink, check_content, check_description, check_instruction,
    check_rewrite, check_text, checked_name, checked_summary, in_line_ends_of, with_sections,
};
pub use entity::{Columns, Entity, NewEvent, Record, RecordSelector, RecordWrite};
pub use entity_kind::EntityKind;
pub use epoch::Epoch;
pub use event::{Event, EventBody, EventName};
pub use failure_class::{Failed, FailureClass};
pub use goal::{Goal, GoalStatus};
pub use grant::{Grant, GrantStatus, GrantSubject};
pub use guardrails::Guardrails;
pub use health::HealthAct;
pub use id::{
    AccountId, AgentId, CallId, CommitId, DatabaseId, DeliveryId, DocumentId, GrantId, InterventionId,
    LearningId, NodeId, NoteId, ParseIdError, PostId, ProjectId, QuestionId, RunId, ScheduleId, SessionId,
    TaskId, WakeupId, seeded_ids,
};
pub use intervention::{Action, Intervention, InterventionStatus};
pub use item::{
    Author, Digest, Item, ItemBody, Message, Output, OutputEffect, SubCalls, SubOutput, ToolCall, Turn,
};
pub use job_run::{JobRun, JobRunStatus};
pub use kind::{InDoubt, Input, Kind, OnLimit, Reply};
pub use learning::{Learning, LearningStatus};
pub use limits::Limits;
pub use money::Dollars;
pub use name::{UniqueName, composed, fold_name};
pub use nesting::{MOST_VALUES, NestedTooDeep, TooManyValues, check_nesting, check_values, count_values};
pub use node_role::NodeRole;
pub use note::{Note, NoteStatus};
pub use notice::{Level, Notice, NoticeCode};
pub use owner::{Owner, Scope};
pub use parent::Parent;
pub use plain::{LONGEST_NAME, is_storable_name, plain};
pub use post::{Post, PostBody};
pub use program::ProgramName;
pub use project::{KeptStatus, Project};
pub use project_chat::{Act, ActNumbers, ActOutcome, ProjectChat, ProposedChange, ProposedTarget};
pub use question::{About, Answer, Proposal, Question, QuestionStatus, Verdict};
pub use report::{UsageBy, UsageRow};
pub use run::{Run, StopReason};
pub use run_options::RunOptions;
pub use schedule::{Recurrence, Schedule, ScheduleStatus};
pub use secret::{Secret, SecretName};
pub use session::{Session, SessionEnd, SessionStatus};
pub use sha256::Sha256;
pub use shown::ShownStatus;
pub use snippet::{one_line, snippet};
pub use status::{Status, WaitingOn};
pub use step::{Checkpoint, CodeRetry, Intent, OpenQuestion, Retry, Step, StepState, StepStatus, Wait};
pub use step_key::StepKey;
pub use stream_token::{StreamToken, StreamTokenStatus};
pub use task::{OnEnd, Task, TaskResult};
pub use thread::{KeptThread, KeptThreadStatus, PendingSave, PendingSaveStatus, ThreadKey};
pub use time::Time;
pub use timeframe::Timeframe;
pub use title::title_of;
pub use tombstone::{Tombstone, TombstoneStatus};
pub use tool::{Effect, EffectClasses, ResultSource, ToolSpec};
pub use tool_switches::{Switch, SwitchScope, Switches, ToolSwitches, is_tool_of, server_of_tool};
pub use trigger::{Payload, Trigger, TriggerRule};
pub use usage::{Cost, HourlyUsage, ModelUse, Tally, Usage};
pub use visible::{acts, shows_in};
pub use wakeup::Wakeup;
pub use words::{sought_words, tokens};
