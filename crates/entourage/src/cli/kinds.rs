//! `entourage kinds`: what sorts of agents there are, and whether their files are right.

use clap::{Args, Subcommand};
use entourage::Settings;
use entourage_engine::kinds::Severity;
use entourage_tools::{Settings as Tools, builtin};
use entourage_types::Kind;
use serde_json::json;

use super::{backend::Result, failure::Exit, globals::Globals, out};

const AFTER_HELP: &str = "\
Examples:
  entourage kinds list
  entourage kinds show researcher
  entourage kinds check           after editing a file; exit code 1 when there is a mistake

A kind is a Markdown file with front matter in `kinds` of the data directory. Files that coding agents
use for their sub-agents load as they are.";

/// List, check and show kinds of agents
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Kinds {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the kinds, the built-in ones and yours
    #[command(after_help = "Example:\n  entourage kinds list --json")]
    List,
    /// Look for mistakes in the files of kinds
    #[command(after_help = "Example:\n  entourage kinds check && entourage serve")]
    Check,
    /// Show one kind: its tools, peers, limits and instructions
    #[command(after_help = "Example:\n  entourage kinds show orchestrator")]
    Show {
        /// The kind's name
        name: String,
    },
}

impl Kinds {
    pub(crate) fn obey(self, globals: &Globals) -> Result<Exit> {
        let settings = globals.settings()?;
        match self.command {
            Command::List => list(globals, &settings),
            Command::Check => check(globals, &settings),
            Command::Show { name } => show(globals, &settings, &name),
        }
    }
}

fn list(globals: &Globals, settings: &Settings) -> Result<Exit> {
    let (kinds, _) = entourage::loaded_kinds(settings)?;
    let paint = out::stdout();
    let width = kinds.iter().map(|kind| kind.name.chars().count()).max().unwrap_or(0);
    for kind in kinds.iter() {
        if globals.json {
            out::json(&json!({
                "name": kind.name, "description": kind.description, "tools": kind.tools,
                "peers": kind.peers, "model": kind.model, "fallback": kind.fallback,
                "version": kind.version,
            }))?;
        } else {
            let name = format!("{:width$}", kind.name);
            out::result(&format!("{}  {}", paint.bold(&name), kind.description))?;
        }
    }
    Ok(Exit::Done)
}

fn check(globals: &Globals, settings: &Settings) -> Result<Exit> {
    let (kinds, mut findings) = entourage::loaded_kinds(settings)?;
    // Files are set up by whoever runs a task, so their tools count as there.
    let toolbox = builtin(Tools { files: Some(settings.data.clone()), ..settings.tools.clone() });
    findings.extend(kinds.check(&toolbox.names().collect::<Vec<_>>()));
    for finding in &findings {
        if globals.json { out::json(finding)? } else { out::result(&finding.to_string())? }
    }
    let mistakes = findings.iter().filter(|finding| finding.severity == Severity::Mistake).count();
    if !globals.json && !globals.quiet {
        let where_from = settings.kinds_directory().map_or_else(
            || format!("built-in kinds only; yours go into {}", settings.data.join("kinds").display()),
            |directory| directory.display().to_string(),
        );
        let count = kinds.iter().count();
        out::note(&format!("{count} kinds, {mistakes} mistakes ({where_from})"));
    }
    Ok(if mistakes == 0 { Exit::Done } else { Exit::Failed })
}

fn show(globals: &Globals, settings: &Settings, name: &str) -> Result<Exit> {
    let (kinds, _) = entourage::loaded_kinds(settings)?;
    let kind = kinds.named(name)?;
    if globals.json {
        out::json(&*kind)?
    } else {
        write(&kind)?
    }
    Ok(Exit::Done)
}

fn write(kind: &Kind) -> Result<()> {
    let paint = out::stdout();
    let names = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let limits = &kind.limits;
    let lines = [
        ("version", kind.version.clone()),
        ("model", kind.model.clone().unwrap_or_else(|| "the house's".into())),
        ("fallback", names(&kind.fallback)),
        ("tools", kind.tools.as_deref().map_or_else(|| "all".into(), names)),
        ("effects", effects(kind)),
        ("approval", approval(kind)),
        ("in doubt", in_doubt(kind)),
        ("peers", names(&kind.peers)),
        ("program", kind.program.to_string()),
        ("reply", kind.reply.to_string()),
        (
            "limits",
            format!(
                "{} steps, {} s, {} tokens, {}, {} levels, {} agents",
                limits.max_steps,
                limits.max_seconds,
                limits.max_tokens,
                limits.max_cost.map_or_else(|| "any cost".into(), |cost| cost.to_string()),
                limits.max_depth,
                limits.max_tree
            ),
        ),
    ];
    out::result(&format!("{}: {}", paint.bold(&kind.name), kind.description))?;
    for (what, text) in lines {
        out::result(&format!("  {} {text}", paint.dim(&format!("{what:8}"))))?;
    }
    out::result(&format!("\n{}", kind.instructions))
}

/// What a kind says of its tools' effects.
fn effects(kind: &Kind) -> String {
    let said = kind.effects.listed().into_iter().filter(|(_, names)| !names.is_empty());
    let said: Vec<String> = said.map(|(effect, names)| format!("{effect}: {}", names.join(", "))).collect();
    if said.is_empty() { "as the tools say".into() } else { said.join("; ") }
}

/// Which calls of a kind wait for leave.
fn approval(kind: &Kind) -> String {
    let rules: Vec<String> = kind.approval.iter().map(ToString::to_string).collect();
    if rules.is_empty() { "never asked for".into() } else { rules.join("; ") }
}

/// What becomes of a call that may have taken effect.
fn in_doubt(kind: &Kind) -> String {
    match kind.in_doubt.answer_seconds.or(kind.limits.answer_seconds) {
        Some(seconds) => {
            format!("a person is asked; {} after {seconds} s", kind.in_doubt.otherwise.in_words())
        }
        None => "a person is asked".into(),
    }
}
