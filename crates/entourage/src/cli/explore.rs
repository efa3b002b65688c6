//! `entourage explore`: has one question explored, step by step.

use std::{path::PathBuf, pin::pin};

use clap::Args;
use entourage_types::AgentId;

use super::{
    backend::{Backend, Chunks, Result},
    failure::Exit,
    globals::Globals,
    id_input::{IdInput, new_name},
    out,
    progress::Standstill,
    run::Run,
    session::{End, Session, Typed},
};

const AFTER_HELP: &str = "\
Examples:
  entourage explore \"Which crates parse dates?\"             it asks if anything is unclear, and works on parts side by side
  entourage explore \"Compare the offers\" --files ./offers   agents may read that directory
  entourage explore \"And in winter?\" --id winter --parent agt_0199…   below an agent that is active
  entourage explore \"Which crates parse dates?\" --json      the chunks of its stream, for programs
  entourage explore --resume winter                         continue it; --resume alone, the newest unfinished task

An exploration clarifies, asks for what only you know, has up to four parts explored, and sums up. The commands about \
agents (`tree`, `show`, `steer`, `modify`, `why`) take its id too. Ctrl-C suspends it.

Exit codes: 0 answered, 1 failed, 2 wrong usage, 3 a question is open, 130 interrupted.";

/// Have a question explored: it clarifies, divides and sums up
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Explore {
    /// What to explore; `-` reads it from stdin
    #[arg(required_unless_present = "resume")]
    question: Option<String>,
    /// The id by which it is to be known; no active agent may have it [default: a fresh one]
    #[arg(long, value_name = "NAME", value_parser = new_name, conflicts_with = "resume")]
    id: Option<String>,
    /// The active agent below which it is put
    #[arg(long, value_name = "AGENT", conflicts_with = "resume")]
    parent: Option<IdInput<AgentId>>,
    /// A directory that agents may read and never change
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    /// Continue this agent, or the newest task that has not finished
    #[arg(long, value_name = "AGENT", num_args = 0..=1)]
    resume: Option<Option<IdInput<AgentId>>>,
}

impl Explore {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let Self { question, id: name, parent, files, resume } = self;
        Run::exploring(question, Exploration { name, parent }, files, resume).run(globals).await
    }
}

/// What is said of an exploration when it is started.
#[derive(Debug)]
pub(super) struct Exploration {
    /// The id by which it is to be known.
    name: Option<String>,
    /// The active agent below which it is put.
    parent: Option<IdInput<AgentId>>,
}

impl Exploration {
    /// Starts it, and returns its agent.
    pub(super) async fn start(&self, backend: &Backend, question: &str) -> Result<AgentId> {
        let parent = match &self.parent {
            Some(parent) => Some(parent.find(backend).await?),
            None => None,
        };
        backend.explore(question, self.name.as_deref(), parent).await
    }
}

/// Prints the chunks of an agent's stream, one a line, until the agents rest as [`Session::until_rest`] says.
pub(super) async fn print_chunks(session: &mut Session, chunks: &mut Chunks) -> Result<End> {
    let mut is_over = false;
    let end = {
        let mut rest = pin!(session.until_rest(None, Typed::Ignored));
        loop {
            tokio::select! {
                biased;
                chunk = chunks.next(), if !is_over => match chunk? {
                    Some(chunk) => out::json(&chunk)?,
                    None => is_over = true,
                },
                end = &mut rest => break end?,
            }
        }
    };
    // The chunks until then may come later than the events.
    let mut awaited: Vec<String> = match &end {
        End::Standstill(Standstill::Asks(questions)) => questions
            .iter()
            .map(|question| question.id.to_string())
            .filter(|id| !chunks.has_shown(id))
            .collect(),
        End::Standstill(Standstill::Ended(status)) if status.is_terminal() => Vec::new(),
        _ => return Ok(end),
    };
    let until_over = matches!(end, End::Standstill(Standstill::Ended(_)));
    while !is_over && (until_over || !awaited.is_empty()) {
        match chunks.next().await? {
            Some(chunk) => {
                out::json(&chunk)?;
                awaited.retain(|id| !chunks.has_shown(id));
            }
            None => is_over = true,
        }
    }
    Ok(end)
}
