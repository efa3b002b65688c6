//! `entourage grants` and `entourage revoke`: what agents may do without asking again.

use clap::Args;
use entourage_types::{AgentId, GrantId};

use super::{
    backend::{self, Purpose, Result},
    describe,
    failure::Exit,
    globals::Globals,
    id_input::IdInput,
    out,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage grants                all grants in force
  entourage grants agt_0199…      those of one agent
  entourage revoke grt_0199…      revoke one

Answering a question with --always creates a grant. It is for one agent, one tool and one rule; if the \
rule changes, it asks again.";

/// List what agents may do without asking again
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Grants {
    /// Only grants for this agent
    agent: Option<IdInput<AgentId>>,
}

/// Revoke a grant: the agent asks again about what it covered
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  entourage revoke grt_0199…      `entourage grants` lists them")]
pub(crate) struct Revoke {
    /// The grant's id
    grant: IdInput<GrantId>,
}

impl Grants {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
        let agent = match self.agent {
            Some(agent) => Some(agent.find(&backend).await?),
            None => None,
        };
        let grants = backend.grants(agent).await?;
        let paint = out::stdout();
        for grant in &grants {
            if globals.json {
                out::json(grant)?;
            } else {
                let (id, agent) = (paint.dim(grant.id), paint.dim(grant.agent));
                let rule = describe::short(&grant.rule);
                out::result(text![
                    id,
                    "  ",
                    paint.bold(&grant.tool),
                    ", exempt from rule: ",
                    rule,
                    "  ",
                    agent
                ])?;
            }
        }
        if grants.is_empty() && !globals.json && !globals.quiet {
            out::note("no grant is in force: agents ask about every call that a rule holds back");
        }
        Ok(Exit::Done)
    }
}

impl Revoke {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Look).await?;
        let grant = self.grant.find(&backend).await?;
        let grant = backend.revoke(grant).await?;
        if globals.json {
            out::json(&grant)?;
        } else if !globals.quiet {
            out::note(format!(
                "{}: the agent asks again about calls of `{}` that the rule holds back",
                grant.status, grant.tool
            ));
        }
        Ok(Exit::Done)
    }
}
