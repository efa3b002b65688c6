//! The requests and responses of `/v1`: the server writes them and the command line reads them, so both use
//! these types. `docs/openapi.json` describes them.
//!
//! They have a shape of their own: what is stored may change without them, and what belongs to the operator
//! is left out.

mod agency;
mod agent;
mod context;
mod delta;
mod entry;
mod event;
mod grant;
mod intervention;
mod item;
mod job;
mod kind;
mod learning;
mod note;
mod page;
mod problem;
mod question;
mod receiver;
mod request;
mod response;
mod run;
pub mod schema;
mod session;
mod step;
mod task;
mod tree;
mod usage;

pub use agency::{Agency, AgencyChat, Flow, Thread};
pub use agent::{Agent, CreateAgent, ListAgents};
pub use context::{Block, Context};
pub use delta::{CaughtUp, Delta, Piece};
pub use entry::{Entry, Posted, Role, SendMessage};
pub use event::{Begin, Event, EventBody};
pub use grant::{Grant, ListGrants};
pub use intervention::{Intervene, Intervention};
pub use item::{Author, ContextEntry, Item, ItemBody, Level, OutputEffect, RunOptions, ToolCall};
pub use job::{Inconsistency, Job};
pub use kind::{EarlierKind, Kind, KindFinding, KindGuardrails, Reloaded, Severity};
pub use learning::Learning;
pub use note::{ListNotes, Note};
pub use page::{ItemPage, List, ListItems, Page, PageQuery};
pub use problem::Problem;
pub use question::{AnswerQuestion, ListQuestions, Proposal, Question};
pub use receiver::{FailedAttempt, Receiver};
pub use request::{Asked, FailedTry, ModelMessage, ModelRequest, OfferedTool, PrefixBreak, RequestBefore};
pub use response::{AgencyResponse, NestedRun, Origin, Respond, RunError, RunItem, RunItemBody, RunText};
pub use run::{ModelUse, Run};
pub use session::Session;
pub use step::{Retry, Step, StepResult, WaitsFor};
pub use task::{ListTasks, Task, TaskResult};
pub use tree::{Node, Tree};
pub use usage::{DailyUsage, ReportUsage, Tally, TreeUsage, Usage, UsageReport, UsageRow};
