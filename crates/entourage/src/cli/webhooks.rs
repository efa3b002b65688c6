//! `entourage webhooks`: shows the state of webhook receivers, and retries failed deliveries.

use clap::{Args, Subcommand};
use entourage_api::Receiver;
use entourage_types::{Occasion, Time};

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
  entourage webhooks              each receiver: its pending deliveries, and what went wrong
  entourage webhooks retry crm    retry its deliveries now, also those that were given up

Set up receivers in the settings:
  [webhooks.crm]
  url = \"https://crm.example.com/hooks\"
  secret = \"whsec_…\"              (`echo whsec_$(openssl rand -base64 32)` makes one)
  events = [\"task.completed\"]     (all events by default)

Deliveries are sent while `entourage serve` runs, or any other command that runs agents.";

/// List the receivers of webhooks, or retry failed deliveries
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Webhooks {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the receivers, each with its state (as without a command)
    #[command(after_help = "Example:\n  entourage webhooks list --json")]
    List,
    /// Retry all failed deliveries to a receiver now, also those that were given up
    #[command(after_help = "Example:\n  entourage webhooks retry crm")]
    Retry {
        /// The receiver's name
        name: String,
    },
}

impl Webhooks {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let command = self.command.unwrap_or(Command::List);
        let purpose = if matches!(command, Command::List) { Purpose::Read } else { Purpose::Look };
        let backend = backend::connect(globals, &globals.settings()?, purpose).await?;
        let receivers = match command {
            Command::List => backend.receivers().await?,
            Command::Retry { name } => vec![backend.retry_receiver(&name).await?],
        };
        receivers.iter().try_for_each(|receiver| show(globals, receiver))?;
        if !globals.json && !globals.quiet {
            if receivers.is_empty() {
                out::note("there is no receiver: `entourage webhooks --help` shows how to set one up");
            } else if !backend.is_at_work(None) {
                out::note("no process works here: deliveries are sent while `entourage serve` runs");
            }
        }
        Ok(Exit::Done)
    }
}

fn show(globals: &Globals, receiver: &Receiver) -> Result<()> {
    if globals.json {
        return out::json(receiver);
    }
    let paint = out::stdout();
    let events = receiver.events.iter().map(|event| Occasion::as_str(*event)).collect::<Vec<_>>();
    let events = if events.len() == Occasion::ALL.len() { "everything".into() } else { events.join(", ") };
    out::result(text![paint.bold(&receiver.name), "  ", events])?;
    let now = Time::now();
    let next = match receiver.next_attempt {
        Some(due) if due > now => format!("; next attempt in {}", describe::duration(due.since(now))),
        Some(_) => "; next attempt now".into(),
        None => String::new(),
    };
    let stands = format!("  {} pending, {} given up{next}", receiver.pending, receiver.given_up);
    out::result(paint.dim(stands))?;
    match &receiver.last_failure {
        Some(failed) => {
            let ago = describe::duration(now.since(failed.at));
            let attempts = match failed.attempts {
                1 => "1 attempt".to_owned(),
                attempts => format!("{attempts} attempts"),
            };
            let cause = format!("{}, after {attempts}, {ago} ago: {}", failed.delivery, failed.error);
            out::result(text!["  ", paint.red("failed:"), " ", cause])
        }
        None => Ok(()),
    }
}
