//! The command line: one file per command, and shared code.

mod act;
mod agency;
mod agents;
mod answer;
mod backend;
mod backup;
mod budget;
mod chat;
mod completions;
mod context;
mod describe;
mod doctor;
mod documents;
#[cfg(unix)]
mod editor;
mod explore;
mod export;
mod failure;
mod forget;
mod globals;
mod goals;
mod grants;
mod hangup;
mod health;
mod id_input;
mod init;
mod input;
mod installed;
mod interrupt;
mod intervene;
mod jobs;
mod kinds;
mod logs;
mod mcp;
mod migrate;
mod models;
mod move_to;
mod open;
mod openapi;
mod out;
mod outgoing_message;
mod paint;
mod pieces;
mod private;
mod progress;
mod projects;
mod prune;
mod python_worker;
mod question;
mod reference;
mod request;
mod run;
mod runs;
mod schedules;
mod screen;
mod search;
mod secrets;
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
mod why;

use std::{process::ExitCode, time::Duration};

use clap::{Parser, Subcommand};
use entourage_types::Action;

use failure::{Exit, Failure};
use globals::Globals;
use text::Text;

pub(crate) use python_worker::main as python_worker;

const AFTER_HELP: &str = "\
Examples:
  entourage run \"What is in this folder?\" --files .   one task, the answer on stdout
  entourage chat                                      a conversation
  entourage serve                                     the HTTP API and the console; the other commands then talk to it
  entourage open                                      the console, in a browser
  entourage doctor                                    what is set up, and what is missing

With --json, every line on stdout is one JSON object: one line for one thing, and for a list a line for each entry, \
so an empty list prints nothing. `completions` and `openapi` print their document as it is.
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
    Explore(explore::Explore),
    Chat(chat::Chat),
    Serve(serve::Serve),
    Open(open::Open),
    Tree(tree::Tree),
    Tail(tail::Tail),
    Show(show::Show),
    Export(export::Export),
    Answer(answer::Answer),
    Grants(grants::Grants),
    Revoke(grants::Revoke),
    /// Pause an agent: it begins nothing new until it is resumed
    #[command(after_help = "Example:\n  entourage pause agt_0199… --reason \"until Monday\"")]
    Pause(intervene::AgentAndReason),
    /// Resume a paused agent
    #[command(after_help = "Example:\n  entourage resume agt_0199…")]
    Resume(intervene::AgentAndReason),
    /// Add a remark for people to an agent's log; the agent never sees it
    #[command(after_help = "Example:\n  entourage comment agt_0199… \"checked by hand\"")]
    Comment(intervene::AgentAndText),
    /// Send an agent a message that it reads before its next model call
    #[command(after_help = "Example:\n  entourage steer agt_0199… \"only sources from this year\"")]
    Steer(intervene::AgentAndText),
    /// Give an agent a new instruction; it drops its current work
    #[command(after_help = "Example:\n  entourage modify agt_0199… \"compare two of them instead\"")]
    Modify(intervene::AgentAndText),
    /// Stop an agent's current work and everything it delegated; it still takes messages
    #[command(after_help = "Example:\n  entourage stop agt_0199…")]
    Stop(intervene::AgentAndReason),
    /// Start a failed run again, or make a waiting attempt now
    #[command(after_help = "Example:\n  entourage retry agt_0199…")]
    Retry(intervene::AgentAndReason),
    /// End an agent and all agents below it for good; what they wrote stays readable
    #[command(after_help = "Example:\n  entourage delete agt_0199…")]
    Delete(intervene::AgentAndReason),
    Forget(forget::Forget),
    Session(sessions::Sessions),
    Context(context::Context),
    Why(why::Why),
    Request(request::Request),
    Agents(agents::Agents),
    Runs(runs::Runs),
    Search(search::Search),
    Projects(projects::Projects),
    Documents(documents::Documents),
    Act(act::Act),
    Goals(goals::Goals),
    Schedules(schedules::Schedules),
    Usage(usage::Usage),
    Budget(budget::Budget),
    Models(models::Models),
    Kinds(kinds::Kinds),
    Mcp(mcp::Mcp),
    Secrets(secrets::Secrets),
    Agency(agency::Agency),
    Token(token::Token),
    Doctor(doctor::Doctor),
    Init(init::Init),
    Jobs(jobs::Jobs),
    Health(health::Health),
    Webhooks(webhooks::Webhooks),
    Backup(backup::Backup),
    Prune(prune::Prune),
    Migrate(migrate::Migrate),
    Move(move_to::Move),
    Completions(completions::Completions),
    Openapi(openapi::Openapi),
    Settings(settings::Settings),
    Supervise(supervise::Supervise),
}

/// How long running tasks may delay the end of the process.
const LAST_MOMENT: Duration = Duration::from_millis(200);

/// Reads the command line, runs the command, and reports a failure.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| refuse(&error));
    let done = match entourage::runtime() {
        Ok(runtime) => {
            let done = runtime.block_on(run(cli));
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
/// may be another program's text: it gets them in the form in which a terminal may show them.
fn refuse(error: &clap::Error) -> ! {
    let shown =
        std::env::args_os().map(|argument| Text::from(argument.to_string_lossy()).as_str().to_owned());
    match Cli::try_parse_from(shown) {
        Err(error) => error.exit(),
        // The parser refused exactly the characters that a terminal must not show.
        Ok(_) => {
            let exit = Failure::usage(error.to_string()).tell();
            std::process::exit(exit as i32)
        }
    }
}

async fn run(cli: Cli) -> Result<Exit, Failure> {
    let Cli { globals, command } = cli;
    logs::start(&globals, matches!(command, Command::Serve(_)))?;
    match command {
        Command::Run(run) => run.run(&globals).await,
        Command::Explore(explore) => explore.run(&globals).await,
        Command::Chat(chat) => chat.run(&globals).await,
        Command::Serve(serve) => serve.run(&globals).await,
        Command::Open(open) => open.run(&globals).await,
        Command::Tree(tree) => tree.run(&globals).await,
        Command::Tail(tail) => tail.run(&globals).await,
        Command::Show(show) => show.run(&globals).await,
        Command::Export(export) => export.run(&globals).await,
        Command::Answer(answer) => answer.run(&globals).await,
        Command::Grants(grants) => grants.run(&globals).await,
        Command::Revoke(revoke) => revoke.run(&globals).await,
        Command::Pause(plain) => plain.run(Action::Pause, &globals).await,
        Command::Resume(plain) => plain.run(Action::Resume, &globals).await,
        Command::Comment(worded) => worded.run(Action::Comment, &globals).await,
        Command::Steer(worded) => worded.run(Action::Steer, &globals).await,
        Command::Modify(worded) => worded.run(Action::Modify, &globals).await,
        Command::Stop(plain) => plain.run(Action::Stop, &globals).await,
        Command::Retry(plain) => plain.run(Action::Retry, &globals).await,
        Command::Delete(plain) => plain.run(Action::Delete, &globals).await,
        Command::Forget(forget) => forget.run(&globals).await,
        Command::Session(sessions) => sessions.run(&globals).await,
        Command::Context(context) => context.run(&globals).await,
        Command::Why(why) => why.run(&globals).await,
        Command::Request(request) => request.run(&globals).await,
        Command::Agents(agents) => agents.run(&globals).await,
        Command::Runs(runs) => runs.run(&globals).await,
        Command::Search(search) => search.run(&globals).await,
        Command::Projects(projects) => projects.run(&globals).await,
        Command::Documents(documents) => documents.run(&globals).await,
        Command::Act(act) => act.run(&globals).await,
        Command::Goals(goals) => goals.run(&globals).await,
        Command::Schedules(schedules) => schedules.run(&globals).await,
        Command::Usage(usage) => usage.run(&globals).await,
        Command::Budget(budget) => budget.run(&globals).await,
        Command::Models(models) => models.run(&globals).await,
        Command::Kinds(kinds) => kinds.run(&globals).await,
        Command::Mcp(mcp) => mcp.run(&globals).await,
        Command::Secrets(secrets) => secrets.run(&globals).await,
        Command::Agency(agency) => agency.run(&globals).await,
        Command::Token(token) => token.run(&globals),
        Command::Init(init) => init.run(&globals),
        Command::Doctor(doctor) => doctor.run(&globals).await,
        Command::Jobs(jobs) => jobs.run(&globals).await,
        Command::Health(health) => health.run(&globals).await,
        Command::Webhooks(webhooks) => webhooks.run(&globals).await,
        Command::Backup(backup) => backup.run(&globals).await,
        Command::Prune(prune) => prune.run(&globals).await,
        Command::Migrate(migrate) => migrate.run(&globals).await,
        Command::Move(move_to) => move_to.run(&globals).await,
        Command::Completions(completions) => completions.run(),
        Command::Openapi(openapi) => openapi.run(),
        Command::Settings(settings) => settings.run(&globals),
        Command::Supervise(supervise) => supervise.run().await,
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
