//! `entourage tree`: shows the agents of a tree, their status and their usage, now or as of an event.

use std::collections::HashSet;

use clap::Args;
use entourage_api::{Agent, Cause, PastTree, Question, TreeUsage};
use entourage_types::{AgentId, Cost, ShownStatus, Usage, WaitingOn};
use serde_json::json;

use super::{
    backend::{self, Backend, Purpose, Result},
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
  entourage tree agt_0199… --at 12    as it was after event 12; `entourage tail --json` shows the numbers
  entourage tree --json           the same for programs

As of an event, the usage of a run under way is that of when it last began, woke or went to sleep.";

/// How many agents are asked what they wait for: each is a request of its own.
pub(super) const LOOKED_AT: usize = 50;

/// Show a tree of agents: parents and sub-agents, their status and usage
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Tree {
    /// Any agent of the tree [default: the newest one]
    agent: Option<IdInput<AgentId>>,
    /// Show the tree as it was after the event with this number
    #[arg(long, value_name = "EVENT")]
    at: Option<u64>,
}

impl Tree {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
        let agent = self.agent.unwrap_or(IdInput::Last).find(&backend).await?;
        if let Some(at) = self.at {
            let past = backend.tree_at(agent, at).await?;
            match globals.json {
                true => out::json(&past)?,
                false => show_past(&past)?,
            }
            return Ok(Exit::Done);
        }
        let tree = backend.tree(agent).await?;
        let (total, agents) = (tree.total, tree.into_agents());
        let root = total.root;
        let questions = backend.questions(Some(root)).await?;
        let is_at_work = backend.is_at_work(Some(root));
        if globals.json {
            let TreeUsage { usage, cost, .. } = total;
            out::json(&json!({ "agents": agents, "questions": questions, "usage": usage, "cost": cost }))?;
        } else {
            let over_budget = over_budget(&backend, root, &agents).await?;
            show(&agents, &total, &questions, (&over_budget, is_at_work))?;
            if !globals.quiet {
                let is_paused = |agent: &&Agent| agent.waiting_on == Some(WaitingOn::Resume);
                let paused: Vec<AgentId> = agents.iter().filter(is_paused).map(|agent| agent.id).collect();
                intervene::note_paused(&paused, globals);
            }
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

/// Which of the first agents of a tree that wait to ask their model wait for a budget: their status does not tell that.
pub(super) async fn over_budget(
    backend: &Backend,
    root: AgentId,
    agents: &[Agent],
) -> Result<HashSet<AgentId>> {
    let mut over_budget = HashSet::new();
    let waits =
        |agent: &&Agent| (agent.status, agent.waiting_on) == (ShownStatus::Waiting, Some(WaitingOn::Retry));
    let mut waiting = agents.iter().filter(waits).take(LOOKED_AT).peekable();
    // All agents of a tree have the same budgets. Where there are none, it is the model that they wait for.
    if waiting.peek().is_none() || found(backend.budgets(root).await)?.is_none_or(|none| none.is_empty()) {
        return Ok(over_budget);
    }
    for agent in waiting {
        let first = found(backend.why(agent.id).await)?.and_then(|why| why.chain.into_iter().next());
        if first.is_some_and(|link| matches!(link.cause, Cause::Budget { .. } | Cause::Room { .. })) {
            over_budget.insert(agent.id);
        }
    }
    Ok(over_budget)
}

/// What was asked for of an agent; none if the agent was forgotten meanwhile.
fn found<T>(asked: Result<T>) -> Result<Option<T>> {
    match asked {
        Err(failure) if failure.is_not_found() => Ok(None),
        asked => asked.map(Some),
    }
}

/// Writes a tree for a user. `over_budget` are the agents that wait for a budget, and `is_at_work` says whether a
/// process works on the tree.
pub(super) fn show(
    agents: &[Agent],
    total: &TreeUsage,
    questions: &[Question],
    (over_budget, is_at_work): (&HashSet<AgentId>, bool),
) -> Result<()> {
    let paint = out::stdout();
    for (branch, agent) in describe::branches(agents, describe::place) {
        let (sign, mut status) = describe::standing(agent, is_at_work, paint);
        if over_budget.contains(&agent.id) {
            status = paint.status(agent.status, describe::WAITS_FOR_BUDGET);
        }
        let (kind, title) = (paint.bold(&agent.kind), describe::cut(&agent.title, 60));
        let tail = paint.dim(format!("{} · {title}", describe::called(agent)));
        out::result(text![paint.dim(branch), sign, " ", kind, " ", status, " ", tail])?;
    }
    for question in questions {
        out::result(question::with_id(question, paint))?;
    }
    out::result(paint.dim(describe::spent(total.usage.into(), total.cost)))
}

/// Writes a tree as it was for a user.
fn show_past(past: &PastTree) -> Result<()> {
    let paint = out::stdout();
    let PastTree { at, time, last, .. } = past;
    out::result(paint.dim(format!("after event {at} of {last}, {time}")))?;
    for (branch, agent) in describe::branches(&past.agents, |agent| (agent.id, agent.parent)) {
        let status = describe::status(agent.status, agent.waiting_on);
        let [sign, status] =
            [describe::sign(agent.status), &*status].map(|text| paint.status(agent.status, text));
        let (kind, title) = (paint.bold(&agent.kind), describe::cut(&agent.title, 60));
        let tail = paint.dim(format!("{} · {title}", agent.id));
        out::result(text![paint.dim(branch), sign, " ", kind, " ", status, " ", tail])?;
    }
    let (mut usage, mut cost) = (Usage::default(), Cost::default());
    for agent in &past.agents {
        usage += agent.usage.into();
        cost += agent.cost;
    }
    out::result(paint.dim(describe::spent(usage, cost)))
}

#[cfg(test)]
mod tests;
