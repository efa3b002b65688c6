//! Where commands find the engine: in the process at work in this data directory, else here.

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
use entourage_engine::{Entry, FoundDamage, JobRecord, ReceiverRecord, Seen, Signal, UsageQuery};
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

/// Where an agent stands that has something to do or waits.
const UNFINISHED: [Status; 3] = [Status::Queued, Status::Running, Status::Waiting];

/// The pause between two looks whether somebody is at work again.
const PAUSE: Duration = Duration::from_millis(300);

/// What every call returns.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// A part of a list, and where the next one begins.
pub(crate) type Part<T> = (Vec<T>, Option<String>);

/// A engine, near or far, as one owner sees it.
#[async_trait]
pub(crate) trait Backend: Send + Sync {
    /// Fails where an agent of this kind cannot be made, since there is none.
    async fn expect_kind(&self, name: &str) -> Result<()>;

    /// Makes an agent with something to do: one for each key, where what was sent may have to be sent again.
    async fn create(&self, kind: Option<&str>, message: &str, key: Option<&str>) -> Result<Agent>;

    /// Writes to an agent, and returns the post that it will read: one for each key, as above.
    async fn send(&self, to: AgentId, text: &str, key: Option<&str>) -> Result<PostId>;

    /// Sees to it that the agents of a tree work, if nobody else does.
    async fn work(&self, root: AgentId) -> Result<()>;

    /// Whether agents of a tree, or any at all, work without this command.
    fn is_at_work(&self, tree: Option<AgentId>) -> bool;

    /// Lets go of the agents, once a person has had enough. Nothing is lost.
    async fn leave(&self) -> Left;

    /// One agent.
    async fn agent(&self, id: AgentId) -> Result<Agent>;

    /// A page of agents, newest first, and where the next one begins.
    async fn agents(&self, page: &Listed) -> Result<Part<Agent>>;

    /// The tops of trees in which somebody still has something to do or waits, newest first.
    async fn unfinished(&self) -> Result<Vec<AgentId>>;

    /// Whether somebody in a tree still has something to do or waits.
    async fn has_work(&self, root: AgentId) -> Result<bool>;

    /// The tree that an agent belongs to.
    async fn tree(&self, agent: AgentId) -> Result<Tree>;

    /// What was used, added up.
    async fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageRow>>;

    /// A part of the conversation with an agent, oldest first, and where the part before it ends: the last
    /// part, or the one that ends at `before`.
    async fn entries(&self, agent: AgentId, before: Option<String>) -> Result<Part<Entry>>;

    /// A page of an agent's transcript as the agent has it, from an item on; none where it ends.
    async fn items(&self, agent: AgentId, from: u64) -> Result<Vec<Item>>;

    /// Open questions, of one tree or of all, oldest first.
    async fn questions(&self, root: Option<AgentId>) -> Result<Vec<Question>>;

    /// A question, open or not.
    async fn question(&self, id: QuestionId) -> Result<Question>;

    /// Answers a question.
    async fn answer(&self, id: QuestionId, answer: Answer) -> Result<Question>;

    /// Grants that stand, of one agent or of all, newest first.
    async fn grants(&self, agent: Option<AgentId>) -> Result<Vec<Grant>>;

    /// Takes a grant back.
    async fn revoke(&self, id: GrantId) -> Result<Grant>;

    /// Does something to an agent.
    async fn intervene(&self, agent: AgentId, action: Action, text: Option<&str>) -> Result<Intervention>;

    /// What an agent's model sees, block by block.
    async fn context(&self, agent: AgentId) -> Result<Seen>;

    /// The closed sessions of an agent, newest first.
    async fn sessions(&self, agent: AgentId, limit: u32) -> Result<Vec<Session>>;

    /// A page of an agency's chats that were not deleted, and where the next one begins.
    async fn agency_chats(&self, agency: &str, after: Option<&str>) -> Result<Part<Chat>>;

    /// Deletes a chat of an agency, with all its agents.
    async fn delete_agency_chat(&self, agency: &str, chat: &str) -> Result<()>;

    /// The jobs of the upkeep, each with its last round.
    async fn jobs(&self) -> Result<Vec<JobRecord>>;

    /// Does a round of a job now.
    async fn run_job(&self, name: &str) -> Result<JobRecord>;

    /// Everything that a job would find at this moment.
    async fn damages(&self, job: &str) -> Result<Vec<FoundDamage>>;

    /// The receivers of webhooks, each with how it stands.
    async fn receivers(&self) -> Result<Vec<ReceiverRecord>>;

    /// Tries everything anew that did not arrive at a receiver.
    async fn retry_receiver(&self, name: &str) -> Result<ReceiverRecord>;

    /// What has happened in a tree after an event, or since the first that is kept, up to now.
    async fn history(&self, root: AgentId, after: Option<u64>) -> Result<Vec<Event>>;

    /// Follows a tree from after an event.
    async fn follow(&self, root: AgentId, after: u64) -> Result<Box<dyn Follow>>;

    /// What must stand beside the model's answers.
    fn disclaimer(&self) -> Option<&'static str> {
        None
    }
}

/// The end of the conversation with an agent, oldest first: no part of it is read before the one in which an
/// entry `reaches` back as far as is wanted.
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

/// What happens in a tree, as it does.
#[async_trait]
pub(crate) trait Follow: Send {
    /// The next signal; dropping the future loses nothing.
    async fn next(&mut self) -> Result<Signal>;
}

/// Which agents, newest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listed {
    /// Only those that people made.
    pub(crate) roots: bool,
    /// Only those in this status.
    pub(crate) status: Option<ShownStatus>,
    /// At most this many, and no more than a page holds.
    pub(crate) limit: Option<u32>,
    /// Where the page before ended.
    pub(crate) after: Option<String>,
}

/// A tree, parents before children, with what it used.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    pub(crate) agents: Vec<Agent>,
    pub(crate) usage: Usage,
    pub(crate) cost: Cost,
}

/// What becomes of agents that are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// They sleep on disk until somebody goes on.
    Suspended,
    /// They go on in another process.
    AtWork,
}

/// What a command needs a engine for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To read alone.
    Read,
    /// To read, to write and to answer: nothing works meanwhile.
    Look,
    /// To let agents work.
    Work {
        /// Whether a directory was named for them to read.
        files: bool,
        /// Whether they begin something new, which only a server takes beside what it is at work on.
        begins: bool,
    },
}

impl Purpose {
    /// To let agents work, and read this directory where one is named.
    pub(crate) fn to_work(settings: &mut entourage::Settings, files: Option<&PathBuf>, begins: bool) -> Self {
        if let Some(files) = files {
            settings.tools.files = Some(FilesSettings::new(files));
        }
        Self::Work { files: files.is_some(), begins }
    }
}

/// The engine of this data directory. Another short command that works on it is waited for.
pub(crate) async fn connect(
    globals: &Globals,
    settings: &entourage::Settings,
    purpose: Purpose,
) -> Result<Box<dyn Backend>> {
    if matches!(purpose, Purpose::Read | Purpose::Look) && !globals.quiet && !entourage::is_begun(settings) {
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
                // What the environment says holds for whoever needs it; what is typed must have an effect.
                let model = globals.model.is_some() && globals.model != std::env::var(MODEL_VARIABLE).ok();
                let typed = [("--model", model), ("--files", files), ("--agency", settings.agency.is_some())];
                if let Some((option, _)) = typed.into_iter().find(|(_, is_typed)| *is_typed) {
                    return Err(running.in_the_way(option));
                }
            }
            return Ok(Box::new(Remote::new(&running, settings)?));
        }
        let opened = match purpose {
            Purpose::Read => Local::to_read(settings),
            Purpose::Look => Local::to_look(settings),
            Purpose::Work { .. } => Local::to_work(settings).await,
        };
        match opened {
            Ok(local) => {
                if let Some(disclaimer) = local.disclaimer().filter(|_| !globals.quiet) {
                    // What can be done about it stands in each answer.
                    let first = disclaimer.split_inclusive(". ").next().unwrap_or(disclaimer);
                    out::note(out::stderr().yellow(format!("note: {}", first.trim_end())));
                }
                return Ok(Box::new(local));
            }
            Err(error) => patience.wait(error).await?,
        }
    }
}

/// The process at work that comes where the one before is gone, however long that takes: one that works on this
/// tree, or where there is none yet, a server.
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

/// Whose agents the person at this machine sees.
fn owner() -> Owner {
    Owner::local()
}

#[cfg(test)]
pub(super) mod tests;
