//! `entourage kinds`: lists the kinds of agents and their open runs, and checks their files.

mod import;
mod in_use;
mod reload;
mod show;

use clap::{Args, Subcommand};
use entourage::Settings;
use entourage_engine::kinds::{Finding, Severity};
use entourage_tools::{FilesSettings, Settings as Tools};

use super::{backend::Result, failure::Exit, globals::Globals, out, text::text};

const AFTER_HELP: &str = "\
Examples:
  entourage kinds                 all of them, with their versions and open runs
  entourage kinds show researcher
  entourage kinds check           after editing a file; exit code 1 when there is a mistake
  entourage kinds import DIR      copy a coding agent's sub-agents, such as ~/.claude/agents
  entourage kinds reload          make the server read them again, without a restart (like SIGHUP)

A kind is a Markdown file with front matter in `kinds` of the data directory; docs/kinds.md has its keys. \
The sub-agent files of coding agents work as kinds, read as those agents read them; `entourage kinds import` \
copies them. A file that does not load is left out, with a note; a run of its kind says why. A run stays \
with the version of its kind that it started with.";

/// List, check, show and reload kinds of agents
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Kinds {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the kinds, the built-in ones and yours, with their versions and open runs (as without a command)
    #[command(after_help = "Example:\n  entourage kinds list --json")]
    List,
    /// Check the files of kinds for mistakes
    #[command(after_help = "Example:\n  entourage kinds check && entourage serve")]
    Check,
    /// Show one kind: its tools, peers, limits and instructions
    #[command(after_help = "Example:\n  entourage kinds show orchestrator")]
    Show {
        /// The kind's name
        name: String,
    },
    /// Copy the sub-agents of a coding agent to your kinds; lists what is read differently here
    #[command(after_help = "Example:\n  entourage kinds import ~/.claude/agents")]
    Import {
        /// The directory with their files
        directory: std::path::PathBuf,
    },
    /// Make the server read the kinds again; if a file has a mistake, nothing changes
    #[command(after_help = "Example:\n  entourage kinds check && entourage kinds reload")]
    Reload,
}

impl Kinds {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let settings = globals.settings()?;
        match self.command.unwrap_or(Command::List) {
            Command::List => list(globals, &settings).await,
            Command::Check => check(globals, &settings).await,
            Command::Import { directory } => import::import(globals, &settings, &directory),
            Command::Show { name } => show::show(globals, &settings, &name).await,
            Command::Reload => reload::reload(globals, &settings).await,
        }
    }
}

async fn list(globals: &Globals, settings: &Settings) -> Result<Exit> {
    let kinds = in_use::in_use(settings, globals.quiet).await?;
    let paint = out::stdout();
    let width = kinds.iter().map(|kind| kind.name.chars().count()).max().unwrap_or(0);
    for kind in &kinds {
        if globals.json {
            out::json(kind)?;
            continue;
        }
        let (name, version) = (paint.bold(format!("{:width$}", kind.name)), paint.dim(&kind.version));
        let runs = Some(kind.runs()).filter(|runs| !runs.is_empty()).map(|runs| format!(" ({runs})"));
        out::result(text![name, "  ", version, "  ", &kind.description, runs.unwrap_or_default()])?;
    }
    Ok(Exit::Done)
}

/// The usable kinds, the findings in all files, and the reason if cost limits were not checked.
pub(super) async fn checked(
    settings: &Settings,
) -> entourage::Result<(entourage::Kinds, Vec<Finding>, Option<entourage::Error>)> {
    let (mut kinds, mut findings) = entourage::loaded_kinds(settings)?;
    findings.extend(entourage::unchecked(&mut kinds));
    let unpriced = entourage::unpriced(settings, &mut kinds).await;
    let unpriced = unpriced.map(|unpriced| findings.extend(unpriced)).err();
    // Each command that runs a task may set `--files`, so their tools count as present.
    let tools = Tools { files: Some(FilesSettings::new(&settings.data)), ..settings.tools.clone() };
    let toolbox = entourage::toolbox(tools, settings.python_worker.as_deref());
    findings.extend(kinds.check(&toolbox.names().collect::<Vec<_>>()));
    Ok((kinds, findings, unpriced))
}

async fn check(globals: &Globals, settings: &Settings) -> Result<Exit> {
    let (kinds, findings, unpriced) = checked(settings).await?;
    if let Some(error) = unpriced {
        out::note(out::stderr().yellow(format!("cost limits were not checked: {error}")));
    }
    for finding in &findings {
        if globals.json { out::json(finding)? } else { out::result(finding)? }
    }
    let mistakes = findings.iter().filter(|finding| finding.severity == Severity::Mistake).count();
    if !globals.json && !globals.quiet {
        let where_from = settings.kinds_directory().map_or_else(
            || format!("built-in kinds only; yours go into {}", settings.data.join("kinds").display()),
            |directory| directory.display().to_string(),
        );
        let count = kinds.iter().count();
        let mistakes = if mistakes == 1 { "1 mistake".into() } else { format!("{mistakes} mistakes") };
        out::note(format!("{count} kinds, {mistakes} ({where_from})"));
    }
    Ok(if mistakes == 0 { Exit::Done } else { Exit::Failed })
}
