//! `entourage session`: lists the sessions of an agent and closes the open one.

use clap::{Args, Subcommand};
use entourage_types::{Action, AgentId};

use super::{
    backend::{self, Purpose, Result},
    describe,
    failure::Exit,
    globals::Globals,
    id_input::IdInput,
    intervene, out,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage session list agt_0199…     what earlier conversations were about
  entourage session close agt_0199…    summarise this one, and start the next with a clean context";

/// List the closed sessions of an agent, or close the open one
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Sessions {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the closed sessions, newest first
    List {
        /// The agent's id; `entourage tree` shows it
        agent: IdInput<AgentId>,
        /// Show at most this many
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
    /// Summarise the open session and archive it, once the agent rests
    Close(intervene::AgentAndReason),
}

impl Sessions {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        match self.command {
            Command::Close(plain) => plain.run(Action::CloseSession, globals).await,
            Command::List { agent, limit } => list(&agent, limit, globals).await,
        }
    }
}

async fn list(agent: &IdInput<AgentId>, limit: u32, globals: &Globals) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
    let agent = agent.find(&backend).await?;
    let sessions = backend.sessions(agent, limit).await?;
    let paint = out::stdout();
    for session in &sessions {
        if globals.json {
            out::json(session)?;
            continue;
        }
        let number = paint.bold(session.number);
        let when = paint.dim(format!(
            "{} to {}",
            describe::moment(session.started),
            describe::moment(session.completed)
        ));
        let size =
            format!("{} messages, about {} tokens ({})", session.messages, session.tokens, session.reason);
        out::result(text![number, " ", when, " ", size, "\n  ", describe::cut(&session.summary, 400)])?;
    }
    if sessions.is_empty() && !globals.json && !globals.quiet {
        out::note("no closed sessions; `entourage session close` closes the open one");
    }
    Ok(Exit::Done)
}
