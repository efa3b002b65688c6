//! `entourage jobs`: what the upkeep found and did, and having one of its jobs done now.

use clap::{Args, Subcommand};
use entourage_engine::JobRecord;
use entourage_types::Time;

use super::{
    backend::{self, Purpose, Result},
    failure::Exit,
    globals::Globals,
    out,
    text::text,
    words,
};

const AFTER_HELP: &str = "\
Examples:
  entourage jobs                  each job with its last round
  entourage jobs run waits        do a round of one now; exit code 1 when it cannot be done
  entourage doctor                what they would find at this moment

A server does the rounds by itself, every five minutes. What they find is damage that agents themselves
do not do: a database that was edited, or put back from a copy.";

/// List the jobs that keep agents from being stuck, and do one now
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Jobs {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the jobs, each with its last round (as without a command)
    #[command(after_help = "Example:\n  entourage jobs list --json")]
    List,
    /// Do a round of one job now: find what is wrong, and mend it
    #[command(after_help = "Example:\n  entourage jobs run stranded")]
    Run {
        /// The job's name
        name: String,
    },
}

impl Jobs {
    pub(crate) async fn obey(self, globals: &Globals) -> Result<Exit> {
        let command = self.command.unwrap_or(Command::List);
        let purpose = if matches!(command, Command::List) { Purpose::Read } else { Purpose::Look };
        let backend = backend::connect(globals, &globals.settings()?, purpose).await?;
        let jobs = match command {
            Command::List => backend.jobs().await?,
            Command::Run { name } => {
                let done = backend.run_job(&name).await?;
                show(globals, &done)?;
                return Ok(if done.round.error.is_some() { Exit::Failed } else { Exit::Done });
            }
        };
        jobs.iter().try_for_each(|job| show(globals, job))?;
        if !backend.is_at_work(None) && !globals.json && !globals.quiet {
            out::note("nobody is at work here: rounds are done while `entourage serve` runs");
        }
        Ok(Exit::Done)
    }
}

fn show(globals: &Globals, job: &JobRecord) -> Result<()> {
    if globals.json {
        return out::json(job);
    }
    let paint = out::stdout();
    let JobRecord { purpose, round } = job;
    out::result(text![paint.bold(format!("{:13}", round.job)), "  ", purpose])?;
    let now = Time::now();
    let came_of_it = format!("found {}, mended {}", round.found, round.mended);
    let ago = |then| format!("{} ago", words::duration(now.since(then)));
    let last = match (round.began, round.at) {
        (Some(began), Some(at)) => {
            format!("{}, took {}: {came_of_it}", ago(at), words::duration(at.since(began)))
        }
        (None, Some(at)) => format!("{}: {came_of_it}", ago(at)),
        (Some(began), None) => format!("begun {} and not over: {came_of_it}", ago(began)),
        (None, None) => "no round yet".into(),
    };
    let next =
        if round.due > now { format!("in {}", words::duration(round.due.since(now))) } else { "now".into() };
    out::result(paint.dim(format!("  {last}; next {next}; {} mended in all", round.mended_ever)))?;
    match &round.error {
        Some(error) => out::result(text!["  ", paint.red("the last round failed:"), " ", error]),
        None => Ok(()),
    }
}
