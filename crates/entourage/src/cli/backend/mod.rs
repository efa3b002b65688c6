//! Finds the engine for a command: in the process that works in this data directory, otherwise in this
//! process.

mod host;
mod local;
mod patience;
mod remote;
mod running;
mod sent;
mod sse;
mod stream;
mod tree;

use std::{path::PathBuf, time::Duration};

use async_trait::async_trait;
use entourage_engine::{Entry, FoundInconsistency, JobRecord, ReceiverRecord, Seen, Signal, UsageQuery};
use entourage_llm::MODEL_VARIABLE;
use entourage_tools::FilesSettings;
use entourage_types::{
    Action, Agent, AgentId, Answer, Chat, Cost, Event, Grant, GrantId, Intervention, Item, Owner, PostId,
    Question, QuestionId, Session, ShownStatus, Status, Usage, UsageRow,
};

use super::{failure::Failure, globals::Globals, out};

pub(crate) use local::Local;
pub(crate) use patience::Patience;
pub(crate) use remote::Remote;
pub(crate) use running::Running;

/// The statuses of an agent that has something to do or waits.
const UNFINISHED: [Status; 3] = [Status::Queued, Status::Running, Status::Waiting];

/// The pause between two checks whether another process works here again.
const PAUSE: Duration = Duration::from_millis(300);

/// What every call returns.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// A part of a list, and where the next one begins.
pub(crate) type Part<T> = (Vec<T>, Option<String>);

/// An engine, in this process or another, as one owner sees it.
#[async_trait]
pub(crate) trait Backend: Send + Sync {
    /// Fails if this kind does not exist.
    async fn expect_kind(&self, name: &str) -> Result<()>;

    /// Creates an agent with something to do. With a key, sending it again creates no second agent.
    async fn create(&self, kind: Option<&str>, message: &str, key: Option<&str>) -> Result<Agent>;

    /// Writes to an agent and returns the post that it will read. With a key, sending it again posts nothing
    /// twice.
    async fn send(&self, to: AgentId, text: &str, key: Option<&str>) -> Result<PostId>;

    /// Makes the agents of a tree work, unless another process runs them already.
    async fn work(&self, root: AgentId) -> Result<()>;

    /// Whether another process runs the agents of this tree, or of any tree.
    fn is_at_work(&self, tree: Option<AgentId>) -> bool;

    /// Stops waiting for the agents when a person ends the command. Nothing is lost.
    async fn leave(&self) -> Left;

    /// One agent.
    async fn agent(&self, id: AgentId) -> Result<Agent>;

    /// A page of agents, newest first, and where the next one begins.
    async fn agents(&self, page: &Listed) -> Result<Part<Agent>>;

    /// The roots of trees in which an agent has something to do or waits, newest first.
    async fn unfinished(&self) -> Result<Vec<AgentId>>;

    /// Whether an agent of a tree has something to do or waits.
    async fn has_work(&self, root: AgentId) -> Result<bool>;

    /// The tree that an agent belongs to.
    async fn tree(&self, agent: AgentId) -> Result<Tree>;

    /// Usage, added up.
    async fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageRow>>;

    /// A part of the conversation with an agent, oldest entry first, and the cursor of the part before it:
    /// the last part, or the one that ends at `before`.
    async fn entries(&self, agent: AgentId, before: Option<String>) -> Result<Part<Entry>>;

    /// A page of an agent's transcript items, starting at an item; empty after the last.
    async fn items(&self, agent: AgentId, from: u64) -> Result<Vec<Item>>;

    /// Open questions, of one tree or of all, oldest first.
    async fn questions(&self, root: Option<AgentId>) -> Result<Vec<Question>>;

    /// A question, open or not.
    async fn question(&self, id: QuestionId) -> Result<Question>;

    /// Answers a question.
    async fn answer(&self, id: QuestionId, answer: Answer) -> Result<Question>;

    /// Grants in force, of one agent or of all, newest first.
    async fn grants(&self, agent: Option<AgentId>) -> Result<Vec<Grant>>;

    /// Revokes a grant.
    async fn revoke(&self, id: GrantId) -> Result<Grant>;

    /// Posts an intervention to an agent.
    async fn intervene(&self, agent: AgentId, action: Action, text: Option<&str>) -> Result<Intervention>;

    /// What an agent's model sees, block by block.
    async fn context(&self, agent: AgentId) -> Result<Seen>;

    /// The closed sessions of an agent, newest first.
    async fn sessions(&self, agent: AgentId, limit: u32) -> Result<Vec<Session>>;

    /// A page of an agency's chats that were not deleted, and where the next one begins.
    async fn agency_chats(&self, agency: &str, after: Option<&str>) -> Result<Part<Chat>>;

    /// Deletes a chat of an agency, with all its agents.
    async fn delete_agency_chat(&self, agency: &str, chat: &str) -> Result<()>;

    /// The jobs of maintenance, each with its last run.
    async fn jobs(&self) -> Result<Vec<JobRecord>>;

    /// Runs a job now.
    async fn run_job(&self, name: &str) -> Result<JobRecord>;

    /// Everything that a job would find at this moment.
    async fn inconsistencies(&self, job: &str) -> Result<Vec<FoundInconsistency>>;

    /// The receivers of webhooks, each with its state.
    async fn receivers(&self) -> Result<Vec<ReceiverRecord>>;

    /// Sends everything again that did not arrive at a receiver.
    async fn retry_receiver(&self, name: &str) -> Result<ReceiverRecord>;

    /// The events of a tree after an event, or since the first that is kept, up to now.
    async fn history(&self, root: AgentId, after: Option<u64>) -> Result<Vec<Event>>;

    /// Follows a tree from after an event.
    async fn follow(&self, root: AgentId, after: u64) -> Result<Box<dyn Follow>>;

    /// A text to show with the model's answers.
    fn disclaimer(&self) -> Option<&'static str> {
        None
    }
}

/// The end of the conversation with an agent, oldest entry first. Reads back part by part, and stops at the
/// part that has an entry for which `reaches` is true.
pub(crate) async fn transcript(
    backend: &dyn Backend,
    agent: AgentId,
    reaches: impl Fn(&Entry) -> bool,
) -> Result<Vec<Entry>> {
    let (mut parts, mut before) = (Vec::new(), None);
    loop {
        let (part, rest) = backend.entries(agent, before).await?;
        before = rest.filter(|_| !part.iter().any(&reaches));
        parts.push(part);
        if before.is_none() {
            return Ok(parts.into_iter().rev().flatten().collect());
        }
    }
}

/// Follows what happens in a tree as it happens.
#[async_trait]
pub(crate) trait Follow: Send {
    /// The next signal; dropping the future loses nothing.
    async fn next(&mut self) -> Result<Signal>;
}

/// Which agents to list, newest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listed {
    /// Only agents that people created.
    pub(crate) roots: bool,
    /// Only agents with this status.
    pub(crate) status: Option<ShownStatus>,
    /// At most this many, and at most one page.
    pub(crate) limit: Option<u32>,
    /// Where the page before ended.
    pub(crate) after: Option<String>,
}

/// A tree, parents before children, with its usage.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    pub(crate) agents: Vec<Agent>,
    pub(crate) usage: Usage,
    pub(crate) cost: Cost,
}

/// What happens to agents when the command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// They stay suspended on disk until a process continues them.
    Suspended,
    /// They continue in another process.
    AtWork,
}

/// What a command needs an engine for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Only to read.
    Read,
    /// To read, to write and to answer questions: no agent runs meanwhile.
    Look,
    /// To run agents.
    Work {
        /// Whether the user named a directory for agents to read.
        files: bool,
        /// Whether the command starts a new tree; only a server accepts that while it works on others.
        begins: bool,
    },
}

impl Purpose {
    /// To run agents, which may read this directory where one is named.
    pub(crate) fn to_work(settings: &mut entourage::Settings, files: Option<&PathBuf>, begins: bool) -> Self {
        if let Some(files) = files {
            settings.tools.files = Some(FilesSettings::new(files));
        }
        Self::Work { files: files.is_some(), begins }
    }
}

/// Connects to the engine of this data directory. Waits for another short command that works on it.
pub(crate) async fn connect(
    globals: &Globals,
    settings: &entourage::Settings,
    purpose: Purpose,
) -> Result<Box<dyn Backend>> {
    if matches!(purpose, Purpose::Read | Purpose::Look)
        && !globals.quiet
        && !entourage::is_begun(settings).await?
    {
        let data = settings.data.display();
        out::note(out::stderr().dim(format!("note: there is no database in {data} yet")));
    }
    let mut patience = Patience::new(globals);
    loop {
        if let Some(running) = Running::find(&settings.data, globals.quiet).await {
            if let Purpose::Work { files, begins } = purpose {
                if begins && !running.is_server() {
                    patience.wait_for(running.busy()).await?;
                    continue;
                }
                // The environment applies to any process that needs a model; an option on the command line
                // must take effect.
                let model = globals.model.is_some() && globals.model != std::env::var(MODEL_VARIABLE).ok();
                let typed = [("--model", model), ("--files", files), ("--agency", settings.agency.is_some())];
                if let Some((option, _)) = typed.into_iter().find(|(_, is_typed)| *is_typed) {
                    return Err(running.in_the_way(option));
                }
            }
            return Ok(Box::new(Remote::new(&running, settings)?));
        }
        let opened = match purpose {
            Purpose::Read => Local::to_read(settings).await,
            Purpose::Look => Local::to_look(settings).await,
            Purpose::Work { .. } => Local::to_work(settings).await,
        };
        match opened {
            Ok(local) => {
                if let Some(disclaimer) = local.disclaimer().filter(|_| !globals.quiet) {
                    // Each answer shows the rest, which says what to do about it.
                    let first = disclaimer.split_inclusive(". ").next().unwrap_or(disclaimer);
                    out::note(out::stderr().yellow(format!("note: {}", first.trim_end())));
                }
                return Ok(Box::new(local));
            }
            Err(error) => patience.wait(error).await?,
        }
    }
}

/// Waits, without limit, for the next process at work after the previous one is gone: one that works on this
/// tree, or a server where there is no tree yet.
pub(crate) async fn come(
    globals: &Globals,
    settings: &entourage::Settings,
    tree: Option<AgentId>,
) -> Result<Remote> {
    loop {
        let found = Running::find(&settings.data, globals.quiet).await;
        let is_it = |running: &Running| running.is_server() || (tree.is_some() && running.works_on(tree));
        if let Some(running) = found.filter(is_it) {
            return Remote::new(&running, settings);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The owner whose agents a user of this machine sees.
fn owner() -> Owner {
    Owner::local()
}

#[cfg(test)]
pub(super) mod tests;
