//! The engine: agents run, sleep on disk, spawn sub-agents, ask people, and answer.
//!
//! [`Engine`] holds all parts; [`Client`] is what one owner may see and do; [`dispatch`] delivers wake-ups.
//! The loop itself is in [`programs`] and fits on a screen.

mod activations;
mod advance;
mod approval;
mod budget;
mod budget_wakeups;
mod client;
mod clock;
mod commit_retry;
mod delete_tree;
mod delta;
mod digest;
pub mod dispatch;
mod documents;
mod due;
mod engine;
mod error;
mod feed;
mod goals;
mod guardrail;
mod health;
mod interventions;
pub mod kinds;
pub mod maintenance;
mod memory;
pub mod metrics;
mod news;
mod outbox;
mod pages;
pub mod programs;
mod prompt;
mod questions;
mod reader;
pub mod responses;
mod restart;
mod retention;
mod retry;
mod run;
mod schedules;
mod schemas;
mod secrets;
mod servers;
mod signals;
mod stop;
mod sub_agents;
mod taint_cache;
mod thread;
mod thread_sync;
mod titles;
mod tool_lists;
mod toolset;
pub mod trace;
mod transcript_cache;
mod versions;
mod watchdog;
mod with_timeout;

pub use budget::Budgets;
pub use client::{
    AcceptedAct, AcceptedMessage, ActResult, ActiveAgent, ActiveNode, ActiveTree, AgentFilter, AskedQuestion,
    Block, BudgetState, Cause, ChatMessage, Child, Client, DiffHunk, DiffLine, DocumentDiff, EarlierMessage,
    EngineState, Entry, EventFilter, EventPage, ExpectedVersion, ExplorationInput, ExportedFile,
    FailedAttempt, FoundDocument, FoundInconsistency, GateRecord, GoalChange, JobRecord, KindUsage,
    KindVersion, Link, MOST_GRANTED_AT_ONCE, ModelCall, Narrowed, NestedRunRef, NewAct, NewAgent,
    NewExploration, NewGoal, NewProject, NewSchedule, OnceKey, Overrides, PageEnd, PageLimit, PastAgent,
    PastTree, Posted, PrefixBreak, ProjectChange, ProjectExport, ProjectMessage, QuestionFilter,
    RebuiltRequest, ReceiverRecord, Replaced, RequestBefore, Resealed, Role, RunFilter, Seen, ServerRecord,
    ServerTool, Speaker, TimelineBucket, TranscriptRenderer, TreeUsage, USER_AGENT, Why, explorer,
    file_names,
};
pub use clock::{Clock, SystemClock, Tick};
pub use delta::{AgentDelta, Piece};
pub use documents::DocumentChange;
pub use engine::{Builder, Engine};
pub use error::Error;
pub use feed::{DeltaFeed, FeedMemory, Signal, Watch};
pub use guardrail::{Guardrail, GuardrailInput, Side};
pub use health::{HealthPolicy, HealthReport, HealthRound};
pub use kinds::{
    Kinds,
    agencies::{self, Agency, Chart},
};
pub use news::{News, NewsFeed, ServerNews, TreeNews};
pub use outbox::{Outbox, Receiver, Transport, Undelivered};
pub use programs::Program;
pub use retention::{Pruned, Retention};
pub use run::{
    Arrival, CallResult, Conversation, DecisionFailed, DecisionRequest, DecisionView, Joined, NewTask,
    Reader, Run, Spawned, TextRequest, TurnOutcome, settings_of,
};
pub use secrets::{SecretKeys, SecretKeysError, new_secret_key};
pub use servers::{ConnectForOwner, ToolServer};
pub use signals::{DeliveryHint, LocalSignals, NodeSignal, Signals};
pub use stop::{Interrupt, Stop};
pub use thread_sync::{ThreadStore, ThreadStoreError};
pub use trace::{Span, SpanId, TraceId, Tracer, Value as TraceValue};
pub use versions::{Reloaded, Source};

/// The store's queries and its error: part of this crate's own interface.
pub use entourage_store::{
    Error as StoreError, ItemQuery, Page, RecordFilter, Subtree, UsageQuery, Versioned,
};

/// What a model receives: part of this crate's own interface, too.
pub use entourage_llm::{Message as ModelMessage, Request as ModelRequest};

/// What every call returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;
