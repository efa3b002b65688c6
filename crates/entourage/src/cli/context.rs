//! `entourage context`: shows what an agent's model sees, and what that costs.

use clap::Args;
use entourage_types::{AgentId, Cost};

use super::{
    backend::{self, Purpose, Result},
    failure::Exit,
    globals::Globals,
    id_input::IdInput,
    out,
};

const AFTER_HELP: &str = "\
Examples:
  entourage context agt_0199…           each block with its tokens, their cached share and cost
  entourage context agt_0199… --json    for programs; `cost` in billionths of a US dollar

Tokens are estimated, and corrected by the provider's last count.";

/// Show what an agent's model sees, block by block
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Context {
    /// The agent's id; `entourage tree` shows it
    agent: IdInput<AgentId>,
}

impl Context {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        // Only an engine that can run agents knows its tools and the window and price of its model.
        let settings = globals.settings()?;
        let is_begun = entourage::is_begun(&settings).await?;
        let purpose = if is_begun { Purpose::Work { files: false, begins: false } } else { Purpose::Look };
        let backend = backend::connect(globals, &settings, purpose).await?;
        let agent = self.agent.find(&backend).await?;
        let seen = backend.context(agent).await?;
        if globals.json {
            out::json(&seen)?;
            return Ok(Exit::Done);
        }
        for block in &seen.blocks {
            let name = match block.items {
                Some((first, last)) if first == last => format!("{} {first}", block.name),
                Some((first, last)) => format!("{} {first} to {last}", block.name),
                None => block.name.clone(),
            };
            out::result(line(&name, block.tokens, block.cached, block.cost))?;
        }
        let window =
            seen.window.map_or("of an unknown window".into(), |window| format!("of {window} tokens"));
        out::result(line(&window, seen.tokens, seen.cached, seen.cost))?;
        Ok(Exit::Done)
    }
}

fn line(name: &str, tokens: u64, cached: u64, cost: Option<Cost>) -> String {
    let share = (cached * 100).checked_div(tokens).unwrap_or_default();
    let cost = cost.map_or_else(String::new, |cost| cost.to_string());
    format!("{name:<28} {tokens:>9} tokens {share:>3} % cached {cost:>12}").trim_end().to_owned()
}
