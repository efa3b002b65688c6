//! Finds the engine for a command: in the process that works in this data directory, otherwise in this
//! process.

mod acts;
mod api;
mod chunks;
mod connection;
mod documents;
mod goals;
mod host;
mod local_engine;
mod mcp;
mod patience;
mod running;
mod schedules;
mod sse;
mod stream;
mod target;

use std::{path::PathBuf, time::Duration};

use entourage_api::{Entry, Page, Tree};
use entourage_llm::MODEL_VARIABLE;
use entourage_tools::FilesSettings;
use entourage_types::{AgentId, Owner};

use super::{failure::Failure, globals::Globals, out};

pub(crate) use acts::OpenAct;
pub(crate) use chunks::Chunks;
pub(crate) use connection::Backend;
pub(crate) use patience::Patience;
pub(crate) use running::Running;
pub(crate) use stream::{Signal, Stream};

/// The pause between two checks whether another process works here again.
const PAUSE: Duration = Duration::from_millis(300);

/// What every call returns.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// The end of the conversation with an agent, oldest entry first. Reads back part by part, and stops at the
/// part that has an entry for which `reaches` is true.
pub(crate) async fn transcript(
    backend: &Backend,
    agent: AgentId,
    reaches: impl Fn(&Entry) -> bool,
) -> Result<Vec<Entry>> {
    let (mut parts, mut before) = (Vec::new(), None);
    loop {
        let Page { data: part, next_cursor } = backend.entries(agent, before).await?;
        before = next_cursor.filter(|_| !part.iter().any(&reaches));
        parts.push(part);
        if before.is_none() {
            return Ok(parts.into_iter().rev().flatten().collect());
        }
    }
}

/// What happens to agents when the command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnExit {
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
    /// To write what may be the first rows: the database is created if there is none. No agent runs meanwhile.
    Write,
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
) -> Result<Backend> {
    if matches!(purpose, Purpose::Read | Purpose::Look)
        && !globals.quiet
        && !entourage::is_begun(settings).await?
    {
        let data = settings.data.display();
        out::note(out::stderr().dim(format!("note: there is no database in {data} yet")));
    }
    let typed = of_process(globals, settings, purpose);
    let mut patience = Patience::new(globals);
    loop {
        if let Some(running) = Running::find(&settings.data, globals.quiet).await {
            if let Purpose::Work { begins: true, .. } = purpose
                && !running.is_server()
            {
                patience.wait_for(running.busy()).await?;
                continue;
            }
            if let Some(option) = typed {
                return Err(running.in_the_way(option));
            }
            return Backend::there(&running, settings);
        }
        let opened = match purpose {
            Purpose::Read => Backend::to_read(settings).await,
            Purpose::Look => Backend::to_look(settings).await,
            Purpose::Write => Backend::to_write(settings).await,
            Purpose::Work { .. } => Backend::to_work(settings).await,
        };
        match opened {
            Ok(local) => {
                let others_work = local.leaves_work_to_others();
                if let Some(option) = typed.filter(|_| others_work) {
                    local.leave().await;
                    return Err(Failure::usage(format!(
                        "{option} has no effect on the processes that work for the agents of this database. Set it there, \
                         stop them, or name another database"
                    )));
                }
                if let Some(disclaimer) = local.disclaimer().filter(|_| !globals.quiet && !others_work) {
                    // Each answer shows the rest, which says what to do about it.
                    let first = disclaimer.split_inclusive(". ").next().unwrap_or(disclaimer);
                    out::note(out::stderr().yellow(format!("note: {}", first.trim_end())));
                }
                return Ok(local);
            }
            Err(error) => patience.wait(error).await?,
        }
    }
}

/// The first option on the command line that only has an effect where agents work.
fn of_process(globals: &Globals, settings: &entourage::Settings, purpose: Purpose) -> Option<&'static str> {
    let Purpose::Work { files, .. } = purpose else { return None };
    // The environment applies to any process that needs a model; an option on the command line must take effect.
    let model = globals.model.is_some() && globals.model != std::env::var(MODEL_VARIABLE).ok();
    let typed = [("--model", model), ("--files", files), ("--agency", settings.agency.is_some())];
    typed.into_iter().find_map(|(option, is_typed)| is_typed.then_some(option))
}

/// Waits, without limit, for the next process at work after the previous one is gone: one that works on this
/// tree, or a server where there is no tree yet.
pub(crate) async fn come(
    globals: &Globals,
    settings: &entourage::Settings,
    tree: Option<AgentId>,
) -> Result<Backend> {
    loop {
        let found = Running::find(&settings.data, globals.quiet).await;
        let is_it = |running: &Running| running.is_server() || (tree.is_some() && running.works_on(tree));
        if let Some(running) = found.filter(is_it) {
            return Backend::there(&running, settings);
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
