//! `entourage grants` and `entourage revoke`: what agents may do without asking again.

use clap::Args;
use entourage_types::{AgentId, GrantId};

use super::{
    backend::{self, Purpose, Result},
    failure::Exit,
    globals::Globals,
    out,
    text::text,
    which::Which,
    words,
};

const AFTER_HELP: &str = "\
Examples:
  entourage grants                all that stand
  entourage grants agt_0199…      those of one agent
  entourage revoke grt_0199…      takes one back

A grant is made by answering a question with --always. It is for one agent, one tool and one rule; a
rule that changes asks again.";

/// List what agents may do without asking again
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Grants {
    /// Only grants for this agent
    agent: Option<Which<AgentId>>,
}

/// Take a grant back: what it covered is asked about again
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  entourage revoke grt_0199…      `entourage grants` lists them")]
pub(crate) struct Revoke {
    /// The grant
    grant: Which<GrantId>,
}

impl Grants {
    pub(crate) async fn obey(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
        let agent = match self.agent {
            Some(agent) => Some(agent.find(&*backend).await?),
            None => None,
        };
        let grants = backend.grants(agent).await?;
        let paint = out::stdout();
        for grant in &grants {
            if globals.json {
                out::json(grant)?;
            } else {
                let (id, agent) = (paint.dim(grant.id), paint.dim(grant.agent));
                let rule = words::short(&grant.rule);
                out::result(text![id, "  ", paint.bold(&grant.tool), " although: ", rule, "  ", agent])?;
            }
        }
        if grants.is_empty() && !globals.json && !globals.quiet {
            out::note("no grant stands: every call that a rule holds back is asked about");
        }
        Ok(Exit::Done)
    }
}

impl Revoke {
    pub(crate) async fn obey(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Look).await?;
        let grant = self.grant.find(&*backend).await?;
        let grant = backend.revoke(grant).await?;
        if globals.json {
            out::json(&grant)?;
        } else if !globals.quiet {
            out::note(format!(
                "{}: calls of `{}` that its rule holds back are asked about again",
                grant.status, grant.tool
            ));
        }
        Ok(Exit::Done)
    }
}
