//! `entourage doctor`: checks what is set up, what is missing, and how to repair it.

mod engine;
mod environment;
mod maintenance;
mod model;
mod nodes;
mod restate;

use clap::Args;
use entourage::{Engine, Settings};
use entourage_api::{Finding, FindingState};

use super::{
    backend::{Backend, Result, Running},
    failure::Exit,
    globals::Globals,
    out,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage doctor
  entourage doctor --model anthropic::claude-sonnet-5-5      check another model
  entourage doctor --json                                    exit code 1 when something is broken
  entourage doctor --offline                                 without requests to providers
  entourage doctor --repair                                  repair what is stuck in the database

The doctor asks providers for their lists of models, which costs nothing. It asks a model that is on no list \
for one word, and shows what that cost.

It looks for stuck work in the database, or asks the server that has it open. `entourage jobs` shows what \
the server found and repaired by itself.";

/// Check everything that agents need, say what is missing, and repair what is stuck
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Doctor {
    /// Repair what is stuck in the database, and list what was repaired
    #[arg(long)]
    repair: bool,
    /// Do not ask providers whether their models exist
    #[arg(long)]
    offline: bool,
}

/// Everything is as it should be.
fn good(what: impl Into<String>, text: impl Into<String>) -> Finding {
    found(what.into(), FindingState::Good, text.into())
}

/// It works without this, and could work better.
fn remark(what: impl Into<String>, text: impl Into<String>) -> Finding {
    found(what.into(), FindingState::Remark, text.into())
}

/// It does not work until it is repaired.
fn broken(what: impl Into<String>, text: impl Into<String>) -> Finding {
    found(what.into(), FindingState::Broken, text.into())
}

fn found(what: String, state: FindingState, text: String) -> Finding {
    Finding { what, state, text, seen: Vec::new() }
}

impl Doctor {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let settings = globals.settings()?;
        let mut findings = engine::settings(&settings);
        findings.push(engine::data(&settings));
        let running = Running::find(&settings.data, globals.quiet).await;
        findings.push(engine::server(&settings, running.as_ref()));
        let (database, backend) = engine::database(&settings, running.as_ref(), self.repair).await?;
        findings.push(database);
        if let Some(backend) = backend {
            findings.extend(maintenance::maintenance(&backend, self.repair).await);
        }
        findings.extend(reached(&settings, self.offline).await);
        for finding in &findings {
            if globals.json { out::json(finding)? } else { write(finding)? }
        }
        let is_broken = findings.iter().any(|finding| finding.state == FindingState::Broken);
        Ok(if is_broken { Exit::Failed } else { Exit::Done })
    }
}

/// Checks a server from within: what `entourage doctor` says of it while it runs.
pub(super) async fn examine(
    settings: &Settings,
    running: &Running,
    engine: Engine,
    offline: bool,
) -> Vec<Finding> {
    let mut findings = engine::settings(settings);
    findings.push(engine::data(settings));
    findings.push(engine::server(settings, Some(running)));
    findings.push(engine::in_use(running));
    match Backend::at(engine) {
        Ok(backend) => findings.extend(maintenance::maintenance(&backend, false).await),
        Err(error) => findings.push(broken("maintenance", error.to_string())),
    }
    findings.extend(reached(settings, offline).await);
    findings
}

/// Checks what agents reach: models, tools, receivers, and their own kinds.
async fn reached(settings: &Settings, offline: bool) -> Vec<Finding> {
    let mut findings = nodes::nodes(settings).await;
    findings.extend(restate::restate(settings).await);
    findings.extend(model::models(settings, offline).await);
    findings.push(environment::keys(settings));
    findings.push(environment::search(settings));
    findings.push(environment::files(settings));
    findings.push(environment::python(settings).await);
    findings.extend(environment::webhooks(settings));
    findings.extend(environment::mcp(settings).await);
    findings.extend(environment::secrets(settings));
    findings.extend(environment::traces(settings));
    findings.extend(engine::kinds(settings).await);
    findings
}

fn write(finding: &Finding) -> Result<()> {
    let paint = out::stdout();
    let sign = match finding.state {
        FindingState::Good => paint.green("✓"),
        FindingState::Remark => paint.yellow("!"),
        FindingState::Broken => paint.red("✗"),
    };
    out::result(text![sign, " ", paint.bold(format!("{:11}", finding.what)), " ", &finding.text])?;
    finding.seen.iter().try_for_each(|seen| out::result(paint.dim(format!("              {seen}"))))
}
