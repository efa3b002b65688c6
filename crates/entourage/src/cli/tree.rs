//! `entourage tree`: shows the agents of a tree, their status and their usage.

use clap::Args;
use entourage_api::{Agent, Question, TreeUsage};
use entourage_types::{AgentId, WaitingOn};
use serde_json::json;

use super::{
    backend::{self, Purpose, Result},
    describe,
    failure::Exit,
    globals::Globals,
    id_input::IdInput,
    intervene, out, question,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage tree                  the newest tree
  entourage tree agt_0199…        the tree that this agent belongs to
  entourage tree --json           the same for programs";

/// Show a tree of agents: parents and sub-agents, their status and usage
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Tree {
    /// Any agent of the tree [default: the newest one]
    agent: Option<IdInput<AgentId>>,
}

impl Tree {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
        let agent = self.agent.unwrap_or(IdInput::Last).find(&backend).await?;
        let tree = backend.tree(agent).await?;
        let (total, agents) = (tree.total, tree.into_agents());
        let root = total.root;
        let questions = backend.questions(Some(root)).await?;
        let is_at_work = backend.is_at_work(Some(root));
        if globals.json {
            let TreeUsage { usage, cost, .. } = total;
            out::json(&json!({ "agents": agents, "questions": questions, "usage": usage, "cost": cost }))?;
        } else {
            show(&agents, &total, &questions, is_at_work)?;
            if !globals.quiet {
                let is_paused = |agent: &&Agent| agent.waiting_on == Some(WaitingOn::Resume);
                let paused: Vec<AgentId> = agents.iter().filter(is_paused).map(|agent| agent.id).collect();
                intervene::note_paused(&paused, globals);
            }
            // This command holds the database, so no other process works on it.
            if !is_at_work && !globals.quiet && backend.has_work(root).await? {
                let again = globals.again();
                out::note(format!(
                    "no process works on it; continue with: entourage run --resume {root}{again}"
                ));
            }
        }
        Ok(Exit::Done)
    }
}

/// Writes a tree for a user. `is_at_work` says whether a process works on it.
pub(super) fn show(
    agents: &[Agent],
    total: &TreeUsage,
    questions: &[Question],
    is_at_work: bool,
) -> Result<()> {
    let paint = out::stdout();
    for (branch, agent) in describe::branches(agents, describe::place) {
        let (sign, status) = describe::standing(agent, is_at_work, paint);
        let (kind, title) = (paint.bold(&agent.kind), describe::cut(&agent.title, 60));
        let tail = paint.dim(format!("{} · {title}", agent.id));
        out::result(text![paint.dim(branch), sign, " ", kind, " ", status, " ", tail])?;
    }
    for question in questions {
        let (asked, id) = (question::in_short(question, paint), paint.dim(question.id));
        out::result(text![asked, " ", id])?;
    }
    out::result(paint.dim(describe::spent(total.usage.into(), total.cost)))
}
