//! `entourage mcp`: the MCP servers that agents may use, and their switches.

use clap::{Args, Subcommand};
use entourage_api::McpServer;
use entourage_types::{AgentId, Switch};

use super::{
    backend::{self, Purpose, Result},
    failure::Exit,
    globals::Globals,
    id_input::IdInput,
    out,
    text::{Text, text},
};

const AFTER_HELP: &str = "\
Examples:
  entourage mcp                                 the servers, their tools, and what is switched
  entourage mcp off bank                        for all your agents
  entourage mcp off bank__pay --agent agt_0199…  one tool, for a goal and its tasks
  entourage mcp on bank --agent agt_0199…       also where it is off for all others
  entourage mcp reset bank --agent agt_0199…    as for all others again

The servers are those of the settings: [[tools.mcp]]. They are on until they are switched off. A switch takes effect in runs \
that begin after it.";

/// List MCP servers, and switch them and their tools on and off
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(List),
    /// Let agents use a server, or one of its tools
    #[command(after_help = "Example:\n  entourage mcp on bank --agent agt_0199…")]
    On(Named),
    /// Keep agents from using a server, or one of its tools
    #[command(after_help = "Example:\n  entourage mcp off bank__pay")]
    Off(Named),
    /// Remove a switch, so that what is wider counts again
    #[command(after_help = "Example:\n  entourage mcp reset bank --agent agt_0199…")]
    Reset(Named),
}

/// List the servers with their tools and switches (as without a command)
#[derive(Debug, Default, Args)]
#[command(after_help = "Example:\n  entourage mcp list --agent agt_0199…")]
struct List {
    /// As they are switched for this agent, which is the root of a tree, such as that of a goal
    #[arg(long, value_name = "AGENT")]
    agent: Option<IdInput<AgentId>>,
}

#[derive(Debug, Args)]
struct Named {
    /// The server, or one of its tools: server__tool
    name: String,
    /// For this agent and its tasks; for all your agents if none is given
    #[arg(long, value_name = "AGENT")]
    agent: Option<IdInput<AgentId>>,
}

impl Mcp {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        match self.command.unwrap_or_else(|| Command::List(List::default())) {
            Command::List(which) => list(globals, which).await,
            Command::On(named) => switch(globals, named, Some(Switch::On)).await,
            Command::Off(named) => switch(globals, named, Some(Switch::Off)).await,
            Command::Reset(named) => switch(globals, named, None).await,
        }
    }
}

async fn list(globals: &Globals, which: List) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
    let agent = match which.agent {
        Some(agent) => Some(agent.find(&backend).await?),
        None => None,
    };
    let servers = backend.mcp_servers(agent).await?;
    for server in &servers {
        match globals.json {
            true => out::json(server)?,
            false => show(server, backend.is_at_work(None))?,
        }
    }
    if servers.is_empty() && !globals.json && !globals.quiet {
        out::note("the settings name no MCP server that your agents may use; [[tools.mcp]] names one");
    }
    Ok(Exit::Done)
}

async fn switch(globals: &Globals, named: Named, to: Option<Switch>) -> Result<Exit> {
    let backend = backend::connect(globals, &globals.settings()?, Purpose::Write).await?;
    let agent = match named.agent {
        Some(agent) => Some(agent.find(&backend).await?),
        None => None,
    };
    let server = match to {
        Some(to) => backend.switch_mcp(agent, &named.name, to).await?,
        None => {
            backend.reset_mcp(agent, &named.name).await?;
            if !globals.quiet && !globals.json {
                out::note(format!(
                    "the switch of `{}` is removed; it takes effect in the next run",
                    named.name
                ));
            }
            return Ok(Exit::Done);
        }
    };
    match globals.json {
        true => out::json(&server)?,
        false => show(&server, backend.is_at_work(None))?,
    }
    if named.name != server.name && !server.connected && !globals.quiet {
        out::note(format!(
            "note: `{}` is not connected, so it is not known whether it has this tool: `entourage mcp` lists its tools \
             while agents work",
            server.name
        ));
    }
    Ok(Exit::Done)
}

/// Shows a server, with a line for each tool. Servers are connected where agents work.
fn show(server: &McpServer, is_at_work: bool) -> Result<()> {
    let paint = out::stdout();
    let state = match (&server.problem, server.connected) {
        (Some(problem), _) => format!("not connected: {problem}"),
        (None, true) => "connected".to_owned(),
        (None, false) if !server.secrets.is_empty() => "connected when an agent is to use it".to_owned(),
        (None, false) if !is_at_work => "not tried here: it is connected while agents work".to_owned(),
        (None, false) => "not connected".to_owned(),
    };
    let head = switched(server.effective, server.switch);
    out::result(text![paint.bold(&server.name), "  ", head, "  ", state])?;
    for tool in &server.tools {
        out::result(text!["  ", &tool.name, "  ", switched(tool.effective, tool.switch)])?;
    }
    Ok(())
}

/// Whether something is on, and whether that is switched here.
fn switched(effective: Switch, own: Option<Switch>) -> Text {
    match own {
        Some(_) => text![effective, " (switched here)"],
        None => text![effective],
    }
}
