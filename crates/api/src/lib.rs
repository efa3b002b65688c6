//! The requests and responses of `/v1`: the server writes them and the command line reads them, so both use
//! these types. `docs/openapi.json` describes them.
//!
//! They have a shape of their own: what is stored may change without them, and what belongs to the operator
//! is left out.

mod act;
mod active;
mod agency;
mod agent;
mod budget;
mod context;
mod delta;
mod document;
mod document_version;
mod entry;
mod event;
mod goal;
mod grant;
mod health;
mod installation;
mod intervention;
mod item;
mod job;
mod kind;
mod learning;
mod mcp_server;
mod news;
mod note;
mod page;
mod past;
mod problem;
mod project;
mod question;
mod receiver;
mod request;
mod response;
mod run;
mod schedule;
pub mod schema;
mod secret;
mod server;
mod session;
mod step;
mod task;
mod tool_call;
mod tree;
mod usage;
mod why;

pub use act::{Act, ActOutcome, NewAct};
pub use active::{ActiveAgent, ActiveAgents};
pub use agency::{Agency, AgencyChat, Flow, Thread};
pub use agent::{Agent, AgentOrder, Child, CreateAgent, ListAgents, ListChildren, Subtree};
pub use budget::{Allowance, Amount, Budget, BudgetOf, GrantBudget};
pub use context::{Block, Context};
pub use delta::{CaughtUp, Delta, Piece};
pub use document::{ChangeDocument, CreateDocument, Document, DocumentHead, FoundDocument, SearchDocuments};
pub use document_version::{
    DiffHunk, DiffLine, DiffLineKind, DocumentDiff, DocumentVersion, Editor, Replaced, ShowDiff, UndoDocument,
};
pub use entry::{Entry, ListMessages, Posted, Role, SendMessage};
pub use event::{Begin, Event, EventBody, EventPage};
pub use goal::{ChangeGoal, CreateGoal, Goal, ListGoals};
pub use grant::{Grant, ListGrants};
pub use health::{HealthReport, HealthRound, RunHealth};
pub use installation::{Examine, Finding, FindingState, HeldSettings, SetBy, Setting};
pub use intervention::{Intervene, Intervention};
pub use item::{Author, ContextEntry, Item, ItemBody, Level, RunOptions};
pub use job::{Inconsistency, Job};
pub use kind::{CheckKind, EarlierKind, Kind, KindFinding, KindGuardrails, KindVersion, Reloaded, Severity};
pub use learning::{FindLearnings, Learning};
pub use mcp_server::{McpServer, McpTool, SetSwitch};
pub use news::{FollowNews, Hello, News, NewsEvent, TreeNews};
pub use note::{ListNotes, Note};
pub use page::{ItemPage, List, ListItems, Page, PageQuery};
pub use past::{PastAgent, PastTree, ShowTimeline, ShowTree, ShownTree, TimelineBucket};
pub use problem::Problem;
pub use project::{ChangeProject, CreateProject, Project, ProjectChat};
pub use question::{AnswerQuestion, ListQuestions, Proposal, Question, QuestionOrder};
pub use receiver::{Delivery, FailedAttempt, ListDeliveries, Receiver};
pub use request::{Asked, FailedTry, ModelMessage, ModelRequest, OfferedTool, PrefixBreak, RequestBefore};
pub use response::{AgencyResponse, NestedRun, Origin, Respond, RunError, RunItem, RunItemBody, RunText};
pub use run::{ListRuns, ModelUse, Run};
pub use schedule::{CreateSchedule, FireTrigger, ListSchedules, Recurrence, Schedule};
pub use secret::{ResealedSecrets, Secret, SetSecret};
pub use server::{Gate, Places, Server};
pub use session::{FindSessions, Session};
pub use step::{Retry, Step, StepResult, WaitsFor};
pub use task::{ListTasks, Task, TaskResult};
pub use tool_call::{OutputEffect, ToolCall};
pub use tree::{Node, Tree};
pub use usage::{DailyUsage, ReportUsage, Tally, TreeUsage, Usage, UsageReport, UsageRow};
pub use why::{Cause, Why, WhyLink};
