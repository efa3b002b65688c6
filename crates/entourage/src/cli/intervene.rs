//! `entourage pause`, `resume`, `comment`, `steer`, `modify`, `stop`, `retry`, `delete`: interventions of a
//! user in the work of an agent.

use clap::Args;
use entourage_types::{Action, AgentId, InterventionStatus};

use super::{
    backend::{self, Purpose, Result},
    failure::Exit,
    globals::Globals,
    id_input::IdInput,
    out,
};

/// An agent, and a reason if there is one.
#[derive(Debug, Args)]
pub(crate) struct AgentAndReason {
    /// The agent's id; `entourage tree` shows it
    agent: IdInput<AgentId>,
    /// Why, for the log
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// An agent, and a text for it.
#[derive(Debug, Args)]
pub(crate) struct AgentAndText {
    /// The agent's id; `entourage tree` shows it
    agent: IdInput<AgentId>,
    /// The text
    text: String,
}

/// Shows how to resume paused agents.
pub(super) fn note_paused(agents: &[AgentId], globals: &Globals) {
    for agent in agents {
        out::note(format!("{agent} is paused; {}", resume_with(*agent, globals)));
    }
}

fn resume_with(agent: AgentId, globals: &Globals) -> String {
    format!("resume it with: entourage resume {agent}{}", globals.again())
}

impl AgentAndReason {
    pub(crate) async fn run(self, action: Action, globals: &Globals) -> Result<Exit> {
        intervene(&self.agent, action, self.reason.as_deref(), globals).await
    }
}

impl AgentAndText {
    pub(crate) async fn run(self, action: Action, globals: &Globals) -> Result<Exit> {
        intervene(&self.agent, action, Some(&self.text), globals).await
    }
}

async fn intervene(
    agent: &IdInput<AgentId>,
    action: Action,
    text: Option<&str>,
    globals: &Globals,
) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Look).await?;
    let agent = agent.find(&backend).await?;
    let done = backend.intervene(agent, action, text).await?;
    if globals.json {
        out::json(&done)?;
    } else if !globals.quiet {
        let note = match (done.status, backend.is_at_work(Some(done.root))) {
            // The text is stored; the agent has yet to read it.
            (InterventionStatus::Applied, true) => format!("{action}: done"),
            (InterventionStatus::Applied, false) if action != Action::Steer => format!("{action}: done"),
            (InterventionStatus::Pending, true) => {
                format!("{action}: the agent reads it before its next step")
            }
            (_, false) if action == Action::Pause => format!("{action}: stored"),
            (_, false) => format!(
                "{action}: stored; the agent reads it when it continues: entourage run --resume {}{}",
                done.root,
                globals.again()
            ),
        };
        let paused = (action == Action::Pause).then(|| format!("; {}", resume_with(agent, globals)));
        out::note(format!("{note}{}", paused.unwrap_or_default()));
    }
    Ok(Exit::Done)
}
