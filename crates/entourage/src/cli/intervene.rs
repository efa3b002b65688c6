//! `entourage pause`, `resume`, `comment`, `steer`, `modify`, `stop`, `retry`, `delete`: what a person does to an
//! agent at work.

use clap::Args;
use entourage_types::{Action, AgentId, InterventionStatus};

use super::{
    backend::{self, Purpose, Result},
    failure::Exit,
    globals::Globals,
    out,
    which::Which,
};

/// An agent, and a reason if there is one.
#[derive(Debug, Args)]
pub(crate) struct Plain {
    /// The agent; `entourage tree` shows them
    agent: Which<AgentId>,
    /// Why, for the log
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// An agent, and words for it.
#[derive(Debug, Args)]
pub(crate) struct Worded {
    /// The agent; `entourage tree` shows them
    agent: Which<AgentId>,
    /// The words
    text: String,
}

impl Plain {
    pub(crate) async fn obey(self, action: Action, globals: &Globals) -> Result<Exit> {
        intervene(&self.agent, action, self.reason.as_deref(), globals).await
    }
}

impl Worded {
    pub(crate) async fn obey(self, action: Action, globals: &Globals) -> Result<Exit> {
        intervene(&self.agent, action, Some(&self.text), globals).await
    }
}

async fn intervene(
    agent: &Which<AgentId>,
    action: Action,
    text: Option<&str>,
    globals: &Globals,
) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Look).await?;
    let agent = agent.find(&*backend).await?;
    let done = backend.intervene(agent, action, text).await?;
    if globals.json {
        out::json(&done)?;
    } else if !globals.quiet {
        out::note(match (done.status, backend.is_at_work(Some(done.root))) {
            // Its words are on record; the agent is still to read them.
            (InterventionStatus::Applied, true) => format!("{action}: done"),
            (InterventionStatus::Applied, false) if action != Action::Steer => format!("{action}: done"),
            (InterventionStatus::Pending, true) => {
                format!("{action}: the agent comes to it before its next step")
            }
            (_, false) => format!(
                "{action}: kept; the agent comes to it when it goes on: entourage run --resume {}{}",
                done.root,
                globals.again()
            ),
        });
    }
    Ok(Exit::Done)
}
