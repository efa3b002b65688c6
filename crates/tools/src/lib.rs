//! The tool interface and the built-in tools, one file each.
//!
//! Tools never access the store: their [`Context`] provides what they need to read, and their [`Outcome`]
//! contains what they want to write, which the engine commits together with the output.

mod address;
mod agents;
mod all;
mod arguments;
mod code;
mod context;
mod documents;
mod error;
mod fair_places;
mod files;
mod goals;
mod inline_refs;
mod mcp;
mod memory;
mod notes;
mod outcome;
mod owners;
mod reader;
mod sub_calls;
mod tls;
mod tool;
mod web;

pub use address::{Address, words_of_call};
pub use agents::{
    AskUser, AskUserArguments, CreateTask, FinalAnswer, ReactivateAgent, SendMessage, SpawnAgent,
    SpawnAgentArguments, Wait,
};
pub use all::{Settings, builtin};
pub use arguments::{ArgumentValidator, TextSchema, parse, schema_of, spec_of};
pub use code::{Emit, Fork, ForkArguments, PythonInterpreter, PythonSettings, Snapshots};
pub use context::Context;
pub use documents::{
    CreateDocument, DocumentEdit, DocumentWrite, EditDocument, ListDocuments, ReadDocument, RewriteDocument,
    SearchDocuments,
};
pub use entourage_types::{Effect, ResultSource};
pub use error::Error;
pub use fair_places::{FairPlace, FairPlaces};
pub use files::{Files, FilesSettings, ListFiles, ReadFile};
pub use goals::{ListGoals, ReadGoal};
#[cfg(feature = "mcp")]
pub use mcp::McpServer;
#[cfg(all(feature = "mcp", target_os = "linux"))]
pub use mcp::supervise;
pub use mcp::{Connected, McpSettings, McpTransport, Problem, connect_server};
pub use memory::{ReadOutput, RetireLearning, SaveLearning, SearchAgentHistory, UpdateLearning};
pub use notes::{CreateNote, SearchNotes};
pub use outcome::{Ask, Delegate, Done, Outcome, Target};
pub use owners::Owners;
pub use reader::{Reader, RecordQuery, RecordScope, find};
pub use sub_calls::{CodeCalls, SubCall, SubCallRecord};
pub use tool::{Caller, Tool, Toolbox};
pub use web::{
    AllowedHost, FetchApproval, FetchSettings, FetchUrl, SearchBackend, SearchDetails, SearchHit,
    SearchSettings, WebSearch,
};

/// The result of every call.
pub type Result<T, E = Error> = std::result::Result<T, E>;
