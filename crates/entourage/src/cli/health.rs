//! `entourage health`: does a round of health now, or shows what it would do.

use clap::Args;
use entourage_api::HealthReport;

use super::{
    backend::{self, Purpose, Result},
    failure::Exit,
    globals::Globals,
    out,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage health                what was done about which agent, and why
  entourage health --dry-run      what would be done; nothing is changed

A server does this by itself, every five minutes (`[health]` in the settings). It ends tasks and goals that make no \
progress, cancels tasks that were paused for too long, and forgets tasks that ended long ago. `entourage jobs` is about \
what should not exist at all.";

/// End tasks and goals that make no progress, and forget old tasks
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Health {
    /// Only show what would be done
    #[arg(long)]
    dry_run: bool,
}

impl Health {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let purpose = if self.dry_run { Purpose::Read } else { Purpose::Look };
        let backend = backend::connect(globals, &globals.settings()?, purpose).await?;
        let round = backend.run_health(self.dry_run).await?;
        if globals.json {
            out::json(&round)?;
            return Ok(Exit::Done);
        }
        round.reports.iter().try_for_each(show)?;
        if round.reports.is_empty() && !globals.quiet {
            out::note("nothing to do");
        }
        Ok(Exit::Done)
    }
}

fn show(report: &HealthReport) -> Result<()> {
    let paint = out::stdout();
    let HealthReport { agent, what, why } = report;
    out::result(text![paint.bold(format!("{:10}", what.as_str())), "  ", agent.to_string(), "  ", why])
}
