//! `entourage agents`: those that people made.

use clap::Args;

use super::{
    backend::{self, Purpose, Result},
    failure::Exit,
    globals::Globals,
    out,
    text::text,
    words,
};

const AFTER_HELP: &str = "\
Examples:
  entourage agents                the newest twenty
  entourage agents --limit 200
  entourage agents --json         one JSON object a line";

/// List the agents that people made, newest first
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Agents {
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

impl Agents {
    pub(crate) async fn obey(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Look).await?;
        let agents = backend.agents(self.limit).await?;
        let paint = out::stdout();
        for agent in &agents {
            if globals.json {
                out::json(agent)?;
                continue;
            }
            let status = words::status(agent.status, agent.waiting_on);
            let (sign, status) = (words::sign(agent.status), paint.status(agent.status, status));
            let (id, kind) = (paint.dim(agent.id), paint.bold(&agent.kind));
            let sign = paint.status(agent.status, sign);
            out::result(text![sign, " ", id, " ", kind, " ", status, " ", words::cut(&agent.title, 60)])?;
        }
        if agents.is_empty() && !globals.json && !globals.quiet {
            out::note("no agents yet; `entourage run \"…\"` makes one");
        }
        Ok(Exit::Done)
    }
}
