//! `entourage jobs`: shows what maintenance found and repaired, and runs one of its jobs now.

use clap::{Args, Subcommand};
use entourage_api::Job;
use entourage_types::Time;

use super::{
    backend::{self, Purpose, Result},
    describe,
    failure::Exit,
    globals::Globals,
    out,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage jobs                  each job with its last run
  entourage jobs run waits        run one job now; exit code 1 when it fails
  entourage doctor                what the jobs would find at this moment

A server runs the jobs by itself, every five minutes. They find inconsistencies that agents themselves do not \
cause: in a database that was edited, or restored from a copy.";

/// List the jobs that keep agents from being stuck, or run one now
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Jobs {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the jobs, each with its last run (as without a command)
    #[command(after_help = "Example:\n  entourage jobs list --json")]
    List,
    /// Run one job now: find what is wrong, and repair it
    #[command(after_help = "Example:\n  entourage jobs run stranded")]
    Run {
        /// The job's name
        name: String,
    },
}

impl Jobs {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let command = self.command.unwrap_or(Command::List);
        let purpose = if matches!(command, Command::List) { Purpose::Read } else { Purpose::Look };
        let backend = backend::connect(globals, &globals.settings()?, purpose).await?;
        let jobs = match command {
            Command::List => backend.jobs().await?,
            Command::Run { name } => {
                let done = backend.run_job(&name).await?;
                show(globals, &done)?;
                return Ok(if done.error.is_some() { Exit::Failed } else { Exit::Done });
            }
        };
        jobs.iter().try_for_each(|job| show(globals, job))?;
        if !backend.is_at_work(None) && !globals.json && !globals.quiet {
            out::note("no process works here: a job runs by itself only while `entourage serve` runs");
        }
        Ok(Exit::Done)
    }
}

fn show(globals: &Globals, job: &Job) -> Result<()> {
    if globals.json {
        return out::json(job);
    }
    let paint = out::stdout();
    out::result(text![paint.bold(format!("{:13}", job.job)), "  ", &job.purpose])?;
    let now = Time::now();
    let came_of_it = format!("found {}, repaired {}", job.found, job.repaired);
    let ago = |then| format!("{} ago", describe::duration(now.since(then)));
    let last = match (job.began, job.at) {
        (Some(began), Some(at)) => {
            format!("{}, took {}: {came_of_it}", ago(at), describe::duration(at.since(began)))
        }
        (None, Some(at)) => format!("{}: {came_of_it}", ago(at)),
        (Some(began), None) => format!("started {} and not finished: {came_of_it}", ago(began)),
        (None, None) => "no run yet".into(),
    };
    let next =
        if job.due > now { format!("in {}", describe::duration(job.due.since(now))) } else { "now".into() };
    out::result(paint.dim(format!("  {last}; next {next}; {} repaired in all", job.repaired_ever)))?;
    match &job.error {
        Some(error) => out::result(text!["  ", paint.red("the last run failed:"), " ", error]),
        None => Ok(()),
    }
}
