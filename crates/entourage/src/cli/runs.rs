//! `entourage runs`: lists runs, whichever agents they belong to.

use std::collections::{BTreeMap, btree_map::Entry};

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser as _},
};
use entourage_api::{Agent, ListRuns, Page, Run};
use entourage_types::{AgentId, ShownStatus, StopReason, Time};

use super::{
    backend::{self, Purpose, Result},
    describe,
    failure::Exit,
    globals::Globals,
    id_input::IdInput,
    out,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage runs                              the newest twenty
  entourage runs --status failed              what failed, and why
  entourage runs --stop-reason max_cost       runs that a limit in money ended
  entourage runs --kind researcher --tree agt_0199…
  entourage runs --json                       one JSON object a line";

/// The statuses that runs have.
const STATUSES: [&str; 6] = [
    ShownStatus::Running.as_str(),
    ShownStatus::Waiting.as_str(),
    ShownStatus::Succeeded.as_str(),
    ShownStatus::Failed.as_str(),
    ShownStatus::Stopped.as_str(),
    ShownStatus::Cancelled.as_str(),
];

/// List runs, newest first
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Runs {
    /// Show at most this many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Only runs with this status
    #[arg(long, value_name = "STATUS", value_parser = PossibleValuesParser::new(STATUSES).try_map(status))]
    status: Option<ShownStatus>,
    /// Only runs that stopped for this reason, such as max_steps or model_failed
    #[arg(long, value_name = "REASON")]
    stop_reason: Option<StopReason>,
    /// Only runs of agents of this kind
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only runs that started with this version of their kind
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Only runs in the tree with this agent as its root
    #[arg(long, value_name = "AGENT")]
    tree: Option<IdInput<AgentId>>,
    /// Only runs of this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<IdInput<AgentId>>,
}

fn status(word: String) -> Result<ShownStatus, String> {
    word.parse()
}

impl Runs {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
        let Self { limit, status, stop_reason, kind, version, tree, agent } = self;
        let root = match tree {
            Some(tree) => Some(tree.find(&backend).await?),
            None => None,
        };
        let agent = match agent {
            Some(agent) => Some(agent.find(&backend).await?),
            None => None,
        };
        let most = limit as usize;
        let (limit, cursor) = (Some(limit), None);
        let mut which = ListRuns { root, agent, kind, version, status, stop_reason, limit, cursor };
        let mut runs = Vec::new();
        let more = loop {
            let Page { data, next_cursor } = backend.runs(&which).await?;
            runs.extend(data);
            if runs.len() >= most || next_cursor.is_none() {
                break runs.len() > most || next_cursor.is_some();
            }
            which.cursor = next_cursor;
        };
        runs.truncate(most);
        let (mut agents, mut any_suspended) = (BTreeMap::new(), false);
        for run in &runs {
            if globals.json {
                out::json(run)?;
                continue;
            }
            let is_suspended = backend.is_suspended(run).await?;
            any_suspended |= is_suspended;
            // Several runs may be of one agent.
            let agent = match agents.entry(run.agent) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(backend.agent(run.agent).await?),
            };
            write(run, agent, is_suspended)?;
        }
        if globals.json || globals.quiet {
            return Ok(Exit::Done);
        }
        if any_suspended {
            let again = globals.again();
            out::note(format!(
                "no process works on the suspended runs; continue one with: entourage run --resume AGENT{again}, or \
                 all with: entourage serve{again}"
            ));
        }
        if more {
            out::note(format!("there are more; show them with: --limit {}", most.saturating_mul(10)));
        }
        if runs.is_empty() {
            out::note("no run matches");
        }
        Ok(Exit::Done)
    }
}

/// Writes a run. How long a suspended one was at work before its process ended is not on record.
fn write(run: &Run, agent: &Agent, is_suspended: bool) -> Result<()> {
    let paint = out::stdout();
    let status = describe::status(run.status, run.waiting_on);
    let reason = run.stop_reason.filter(|reason| *reason != StopReason::Completed);
    let status = reason.map_or(status.clone(), |reason| format!("{status} ({reason})"));
    let took = describe::duration(run.ended.unwrap_or_else(Time::now).since(run.started));
    let (shown, status, took) = match is_suspended {
        true => (ShownStatus::Waiting, describe::SUSPENDED.to_owned(), format!("begun {took} ago")),
        false => (run.status, status, took),
    };
    let (sign, spent) = (describe::sign(shown), describe::spent(run.usage.into(), run.cost));
    let (id, kind) = (paint.dim(run.id), paint.bold(&agent.kind));
    let of = paint.dim(format!("{} · {}", agent.id, describe::cut(&agent.title, 60)));
    let error =
        run.error.as_deref().map_or_else(String::new, |error| format!(" · {}", describe::cut(error, 80)));
    let (sign, status) = (paint.status(shown, sign), paint.status(shown, status));
    out::result(text![sign, " ", id, " ", kind, " ", status, " ", took, " ", spent, " ", of, error])
}
