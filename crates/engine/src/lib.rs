//! The engine: agents run, sleep on disk, make others, ask people, and answer.
//!
//! [`Engine`] is the whole; [`Client`] is what one owner may see and do; [`dispatch`] delivers
//! wake-ups. The loop itself stands in [`programs`] and fits on a screen.

mod activations;
mod advance;
pub mod agencies;
mod approval;
mod budget;
mod check;
mod client;
mod clock;
mod delete_tree;
mod digest;
pub mod dispatch;
mod engine;
mod error;
mod feed;
mod keeper;
pub mod kinds;
pub mod measure;
mod memory;
mod notes;
mod outbox;
pub mod programs;
mod prompt;
pub mod responses;
mod restart;
mod retention;
mod retry;
mod run;
mod schemas;
mod servers;
mod sub_agents;
mod thread;
mod toolset;
pub mod trace;
mod transcript_cache;
mod unknown;
pub mod upkeep;
mod versions;
mod watchdog;

pub use agencies::{Agency, Chart};
pub use check::{Check, Checked, Side};
pub use client::{
    Block, Client, Entry, FailedAttempt, FoundDamage, InUse, JobRecord, NewAgent, PageEnd, Posted,
    ReceiverRecord, Role, Room, RunBelow, Seen, Speech, Spoken, Telling, TreeUsage,
};
pub use clock::{Clock, SystemClock};
pub use engine::{Builder, Engine};
pub use error::Error;
pub use feed::{AgentDelta, Budget, Piece, Signal, Watch};
pub use keeper::{KeeperError, ThreadKeeper};
pub use kinds::Kinds;
pub use outbox::{Courier, Outbox, Receiver, Undelivered};
pub use retention::{Pruned, Retention};
pub use run::{Arrival, Interrupt, Run, Stop, Told};
pub use trace::{Span, SpanId, TraceId, Tracer, Value as TraceValue};
pub use versions::{Reloaded, Source};

/// What readers page and ask for usage by, and what a store says when it fails: part of this crate's own interface.
pub use entourage_store::{Error as StoreError, ItemQuery, Page, UsageQuery};

/// What every call returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;
