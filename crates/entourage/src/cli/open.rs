//! `entourage open`: opens the console in a browser.

use clap::Args;
use entourage_types::AgentId;
use serde_json::json;

use super::{
    backend::{self, Purpose, Result, Running},
    failure::{Exit, Failure},
    globals::Globals,
    id_input::IdInput,
    out,
};

const AFTER_HELP: &str = "\
Examples:
  entourage open                  the inbox: all that agents ask you
  entourage open agt_0199…        one agent
  entourage open \"See Rome\"       the agent of a goal
  entourage open --print          only print the address

The console is part of whatever is at work for the data directory: `entourage serve`, or a command that works on a task. \
Where that needs a token, the page asks for it.";

/// Open the console in a browser: see, answer and steer everything
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Open {
    /// The agent to show
    agent: Option<IdInput<AgentId>>,
    /// Print the address, and open nothing
    #[arg(long)]
    print: bool,
}

impl Open {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let settings = globals.settings()?;
        let running = Running::find(&settings.data, globals.quiet).await.ok_or_else(|| {
            Failure::failed(format!(
                "nothing is at work for {}: start `entourage serve`, which has the console",
                settings.data.display()
            ))
        })?;
        let page = match self.agent {
            None => String::new(),
            Some(agent) => {
                let backend = backend::connect(globals, &settings, Purpose::Read).await?;
                format!("/agents/{}", agent.find(&backend).await?)
            }
        };
        let url = format!("{}/console{page}", running.url);
        if globals.json {
            out::json(&json!({ "url": url }))?;
        } else {
            out::result(&url)?;
        }
        if let Some(token) = running.token().filter(|_| !globals.quiet && !globals.json) {
            out::note(format!("log in with the token of this process: {token}"));
        }
        if self.print || globals.json {
            return Ok(Exit::Done);
        }
        // The launcher is not waited for: some browsers stay in it until they are closed.
        if let Err(error) = open::that_detached(&url) {
            out::note(format!("no browser can be opened here ({error}): open the address yourself"));
        }
        Ok(Exit::Done)
    }
}
