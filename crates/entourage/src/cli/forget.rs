//! `entourage forget`: removes an agent that has ended from a tree that lives on.

use clap::Args;
use entourage_types::AgentId;

use super::{
    backend::{self, Purpose, Result},
    failure::Exit,
    globals::Globals,
    id_input::IdInput,
    out,
};

const AFTER_HELP: &str = "\
Example:
  entourage forget agt_0199…

Only an agent that has ended can be forgotten, and not the one at the top of a tree: `entourage prune` removes whole \
trees. What it was asked for and answered stays with the agent above it, and so do its notes, which are that agent's \
from then on. The events of the tree still tell what happened to it and when, and nothing that was said. What it used \
stays in the sums of days, owners and kinds, and leaves those of its tree; a budget keeps what was spent.";

/// Remove an agent that has ended, and all agents below it, from a tree that lives on
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Forget {
    /// The agent's id; `entourage tree` shows it
    agent: IdInput<AgentId>,
}

impl Forget {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Look).await?;
        let agent = self.agent.find(&backend).await?;
        backend.forget(agent).await?;
        if !globals.quiet {
            out::note(format!("{agent} is forgotten"));
        }
        Ok(Exit::Done)
    }
}
