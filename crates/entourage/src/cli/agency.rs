//! `entourage agency`: lists and draws groups of agents and the chart of who may write to whom.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use entourage::Settings;
use entourage_engine::{
    Agency as Found,
    agencies::{ENDING, parse},
    kinds::{Finding, Severity, read_text},
};

use super::{
    backend::{self, Backend, Purpose, Result},
    describe,
    failure::{Exit, Failure},
    globals::Globals,
    out,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage agency list                      the agencies in the directory of kinds
  entourage agency graph studio              the chart, as a drawing and as Mermaid
  entourage agency graph ./studio.agency.md  the chart of a file anywhere
  entourage chat --agency ./studio.agency.md talk to its first entry point
  entourage agency chats studio              the chats that clients started over HTTP
  entourage agency delete-chat studio first  end one of them for good

An agency is a Markdown file NAME.agency.md beside the files of its kinds; docs/agency.md has its keys.";

/// List and draw agencies: groups of agents with a chart of who may write to whom
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Agency {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the agencies (as without a command)
    #[command(after_help = "Example:\n  entourage agency list --json")]
    List,
    /// Draw who may write to whom
    #[command(after_help = "Example:\n  entourage agency graph studio --mermaid > studio.mmd")]
    Graph {
        /// The agency's name or file
        agency: String,
        /// Print only Mermaid
        #[arg(long)]
        mermaid: bool,
    },
    /// List the chats of an agency that were not deleted
    #[command(after_help = "Example:\n  entourage agency chats studio --json")]
    Chats {
        /// The agency's name or file
        agency: String,
    },
    /// End a chat of an agency for good, with all its agents; what they wrote stays readable
    #[command(after_help = "Example:\n  entourage agency delete-chat studio first")]
    DeleteChat {
        /// The agency's name or file
        agency: String,
        /// The chat's name; `entourage agency chats` shows them
        chat: String,
    },
}

impl Agency {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        match self.command.unwrap_or(Command::List) {
            Command::List => list(globals),
            Command::Graph { agency, mermaid } => graph(globals, &agency, mermaid),
            Command::Chats { agency } => chats(globals, &agency).await,
            Command::DeleteChat { agency, chat } => delete_chat(globals, &agency, &chat).await,
        }
    }
}

fn list(globals: &Globals) -> Result<Exit> {
    let (kinds, findings) = entourage::loaded_kinds(&globals.settings()?)?;
    if !globals.quiet {
        mistakes(&findings).for_each(out::note);
    }
    let paint = out::stdout();
    for agency in kinds.agencies() {
        if globals.json {
            out::json(&**agency)?;
        } else {
            let agents = agency.chart.agents().join(", ");
            out::result(text![paint.bold(&agency.name), "  ", &agency.description, " (", agents, ")"])?;
        }
    }
    if kinds.agencies().next().is_none() && !globals.quiet {
        out::note("there is no agency: put NAME.agency.md beside your kinds (docs/agency.md)");
    }
    Ok(Exit::Done)
}

fn graph(globals: &Globals, given: &str, mermaid: bool) -> Result<Exit> {
    let agency = match file(given) {
        Some(path) => read(&path)?,
        None => named(&globals.settings()?, given)?,
    };
    if globals.json {
        out::json(&agency)?;
    } else if mermaid {
        out::result(agency.chart.mermaid().trim_end())?;
    } else {
        out::result(format!("{}\n{}", agency.chart.tree(), agency.chart.mermaid().trim_end()))?;
    }
    Ok(Exit::Done)
}

async fn chats(globals: &Globals, given: &str) -> Result<Exit> {
    let (backend, agency) = connected(globals, given, Purpose::Read).await?;
    let (paint, chats) = (out::stdout(), backend.agency_chats(&agency).await?);
    for chat in &chats {
        if globals.json {
            out::json(chat)?;
        } else {
            let since = paint.dim(format!("since {}", describe::moment(chat.created)));
            out::result(text![paint.bold(&chat.name), "  ", chat.root, "  ", since])?;
        }
    }
    if chats.is_empty() && !globals.json && !globals.quiet {
        out::note("no chats; each message over HTTP starts one, or continues the one that it names");
    }
    Ok(Exit::Done)
}

async fn delete_chat(globals: &Globals, given: &str, chat: &str) -> Result<Exit> {
    let (backend, agency) = connected(globals, given, Purpose::Look).await?;
    backend.delete_agency_chat(&agency, chat).await?;
    if !globals.json && !globals.quiet {
        out::note(text!["the chat ", chat, " was deleted; the next message under its name begins a new one"]);
    }
    Ok(Exit::Done)
}

/// Connects to the engine. Returns it with the agency's name, after reading the agency's file where one is
/// given.
async fn connected(globals: &Globals, given: &str, purpose: Purpose) -> Result<(Backend, String)> {
    let mut settings = globals.settings()?;
    let agency = chosen(&mut settings, given)?;
    Ok((backend::connect(globals, &settings, purpose).await?, agency))
}

/// The agency of a name.
fn named(settings: &Settings, name: &str) -> Result<Found> {
    let found = entourage::loaded_kinds(settings)?.0.agency(name)?;
    Ok(Found::clone(&found))
}

/// The kind to talk to: the one that was named, or the first entry point of the named agency.
pub(super) fn kind(
    settings: &mut Settings,
    agency: Option<&str>,
    kind: Option<String>,
) -> Result<Option<String>> {
    agency.map_or(Ok(kind), |agency| entry_point(settings, agency).map(Some))
}

/// Sets the settings to read an agency and the kinds beside it. Returns the kind to talk to, its first entry
/// point.
fn entry_point(settings: &mut Settings, given: &str) -> Result<String> {
    let name = chosen(settings, given)?;
    let (kinds, _) = entourage::loaded_kinds(settings)?;
    let agency = kinds.agency(&name)?;
    let entry = agency.chart.entry_points().first();
    Ok(entry.ok_or_else(|| Failure::usage(format!("the agency `{name}` has no entry point")))?.clone())
}

/// Sets the settings to read the file of an agency, where one is named. Returns the agency's name.
fn chosen(settings: &mut Settings, given: &str) -> Result<String> {
    settings.agency = file(given);
    match &settings.agency {
        Some(path) => Ok(read(path)?.name),
        None => Ok(given.to_owned()),
    }
}

/// The path, if the argument names a file rather than a loaded agency.
fn file(given: &str) -> Option<PathBuf> {
    let path = Path::new(given);
    (given.ends_with(".md") || path.components().count() > 1 || path.is_file()).then(|| path.to_owned())
}

fn read(path: &Path) -> Result<Found> {
    let shown = path.display().to_string();
    if !shown.ends_with(ENDING) {
        let why = format!("{shown} is no agency: the name of such a file ends with `{ENDING}`");
        return Err(Failure::usage(why));
    }
    let text = read_text(path).map_err(|error| Failure::usage(format!("{shown} cannot be read: {error}")))?;
    let (agency, findings) = parse(&shown, &text);
    agency.ok_or_else(|| Failure::usage(mistakes(&findings).collect::<Vec<_>>().join("\n")))
}

fn mistakes(findings: &[Finding]) -> impl Iterator<Item = String> {
    findings.iter().filter(|finding| finding.severity == Severity::Mistake).map(ToString::to_string)
}
