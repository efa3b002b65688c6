//! The command line: one file per command, and what they share.

mod agency;
mod agents;
mod answer;
mod backend;
mod backup;
mod chat;
mod completions;
mod context;
mod doctor;
#[cfg(unix)]
mod editor;
mod export;
mod failure;
mod globals;
mod grants;
mod hangup;
mod init;
mod input;
mod interrupt;
mod intervene;
mod jobs;
mod kinds;
mod logs;
mod migrate;
mod models;
mod openapi;
mod out;
mod paint;
mod pieces;
mod progress;
mod prune;
mod question;
mod run;
mod saying;
mod screen;
mod serve;
mod session;
mod sessions;
mod settings;
mod show;
mod supervise;
mod tail;
mod text;
mod token;
mod tree;
mod usage;
mod view;
mod webhooks;
mod which;
mod words;

use std::{process::ExitCode, time::Duration};

use clap::{Parser, Subcommand};
use entourage_types::Action;

use failure::{Exit, Failure};
use globals::Globals;
use text::Text;

const AFTER_HELP: &str = "\
Examples:
  entourage run \"What is in this folder?\" --files .   one task, the answer on stdout
  entourage chat                                      a conversation
  entourage serve                                     the HTTP API; the other commands then talk to it
  entourage doctor                                    what is set up, and what is missing

Exit codes: 0 done, 1 failed, 2 wrong usage or settings, 3 an answer is needed, 130 interrupted.
Settings: entourage.toml in the data directory, or ENTOURAGE_* variables (ENTOURAGE_SERVER__BIND).";

/// Durable LLM agents: they delegate, ask, survive any crash, and can be watched at every moment.
#[derive(Debug, Parser)]
#[command(name = "entourage", version, after_help = AFTER_HELP)]
struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    Chat(chat::Chat),
    Serve(serve::Serve),
    Tree(tree::Tree),
    Tail(tail::Tail),
    Show(show::Show),
    Export(export::Export),
    Answer(answer::Answer),
    Grants(grants::Grants),
    Revoke(grants::Revoke),
    /// Let an agent begin nothing new until it is resumed
    #[command(after_help = "Example:\n  entourage pause agt_0199… --reason \"until Monday\"")]
    Pause(intervene::Plain),
    /// Let a paused agent go on
    #[command(after_help = "Example:\n  entourage resume agt_0199…")]
    Resume(intervene::Plain),
    /// Put a remark for people into an agent's log; the agent never sees it
    #[command(after_help = "Example:\n  entourage comment agt_0199… \"checked by hand\"")]
    Comment(intervene::Worded),
    /// Write to an agent what it reads before its next model call
    #[command(after_help = "Example:\n  entourage steer agt_0199… \"only sources from this year\"")]
    Steer(intervene::Worded),
    /// Give an agent a new instruction; what it is doing is dropped
    #[command(after_help = "Example:\n  entourage modify agt_0199… \"compare two of them instead\"")]
    Modify(intervene::Worded),
    /// End what an agent is doing, with all it gave to others; it can be written to again
    #[command(after_help = "Example:\n  entourage stop agt_0199…")]
    Stop(intervene::Plain),
    /// Begin a failed run again, or make a waiting attempt now
    #[command(after_help = "Example:\n  entourage retry agt_0199…")]
    Retry(intervene::Plain),
    /// End an agent for good, with all below it; what it wrote stays readable
    #[command(after_help = "Example:\n  entourage delete agt_0199…")]
    Delete(intervene::Plain),
    Session(sessions::Sessions),
    Context(context::Context),
    Agents(agents::Agents),
    Usage(usage::Usage),
    Models(models::Models),
    Kinds(kinds::Kinds),
    Agency(agency::Agency),
    Token(token::Token),
    Doctor(doctor::Doctor),
    Init(init::Init),
    Jobs(jobs::Jobs),
    Webhooks(webhooks::Webhooks),
    Backup(backup::Backup),
    Prune(prune::Prune),
    Migrate(migrate::Migrate),
    Completions(completions::Completions),
    Openapi(openapi::Openapi),
    Settings(settings::Settings),
    Supervise(supervise::Supervise),
}

/// How long tasks that are still under way may keep the process from ending.
const LAST_MOMENT: Duration = Duration::from_millis(200);

/// Reads the command line, does what it says, and tells how it went.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| refuse(&error));
    let done = match entourage::runtime() {
        Ok(runtime) => {
            let done = runtime.block_on(obey(cli));
            runtime.shutdown_timeout(LAST_MOMENT);
            done
        }
        Err(error) => Err(Failure::failed(format!("no threads can be started: {error}"))),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(failure) => failure.tell().into(),
    }
}

/// Shows what is wrong with the arguments, or the help that they ask for. The parser repeats arguments, which
/// may be another program's words: it gets them as a terminal may show them.
fn refuse(error: &clap::Error) -> ! {
    let shown =
        std::env::args_os().map(|argument| Text::from(argument.to_string_lossy()).as_str().to_owned());
    match Cli::try_parse_from(shown) {
        Err(error) => error.exit(),
        // It was the very characters that cannot be shown.
        Ok(_) => {
            let exit = Failure::usage(error.to_string()).tell();
            std::process::exit(exit as i32)
        }
    }
}

async fn obey(cli: Cli) -> Result<Exit, Failure> {
    let Cli { globals, command } = cli;
    logs::start(&globals, matches!(command, Command::Serve(_)))?;
    match command {
        Command::Run(run) => run.obey(&globals).await,
        Command::Chat(chat) => chat.obey(&globals).await,
        Command::Serve(serve) => serve.obey(&globals).await,
        Command::Tree(tree) => tree.obey(&globals).await,
        Command::Tail(tail) => tail.obey(&globals).await,
        Command::Show(show) => show.obey(&globals).await,
        Command::Export(export) => export.obey(&globals).await,
        Command::Answer(answer) => answer.obey(&globals).await,
        Command::Grants(grants) => grants.obey(&globals).await,
        Command::Revoke(revoke) => revoke.obey(&globals).await,
        Command::Pause(plain) => plain.obey(Action::Pause, &globals).await,
        Command::Resume(plain) => plain.obey(Action::Resume, &globals).await,
        Command::Comment(worded) => worded.obey(Action::Comment, &globals).await,
        Command::Steer(worded) => worded.obey(Action::Steer, &globals).await,
        Command::Modify(worded) => worded.obey(Action::Modify, &globals).await,
        Command::Stop(plain) => plain.obey(Action::Stop, &globals).await,
        Command::Retry(plain) => plain.obey(Action::Retry, &globals).await,
        Command::Delete(plain) => plain.obey(Action::Delete, &globals).await,
        Command::Session(sessions) => sessions.obey(&globals).await,
        Command::Context(context) => context.obey(&globals).await,
        Command::Agents(agents) => agents.obey(&globals).await,
        Command::Usage(usage) => usage.obey(&globals).await,
        Command::Models(models) => models.obey(&globals).await,
        Command::Kinds(kinds) => kinds.obey(&globals).await,
        Command::Agency(agency) => agency.obey(&globals).await,
        Command::Token(token) => token.obey(&globals),
        Command::Init(init) => init.obey(&globals),
        Command::Doctor(doctor) => doctor.obey(&globals).await,
        Command::Jobs(jobs) => jobs.obey(&globals).await,
        Command::Webhooks(webhooks) => webhooks.obey(&globals).await,
        Command::Backup(backup) => backup.obey(&globals).await,
        Command::Prune(prune) => prune.obey(&globals).await,
        Command::Migrate(migrate) => migrate.obey(&globals),
        Command::Completions(completions) => completions.obey(),
        Command::Openapi(openapi) => openapi.obey(),
        Command::Settings(settings) => settings.obey(&globals),
        Command::Supervise(supervise) => supervise.obey().await,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }
}
