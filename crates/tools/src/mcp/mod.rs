//! Tools of MCP servers: programs on this machine that we start and end, or services elsewhere.

#[cfg(feature = "mcp")]
mod child;
#[cfg(feature = "mcp")]
mod connection;
#[cfg(feature = "mcp")]
mod lines;
#[cfg(feature = "mcp")]
mod result;
#[cfg(feature = "mcp")]
mod secrets;
#[cfg(feature = "mcp")]
mod server;
mod settings;
#[cfg(all(feature = "mcp", target_os = "linux"))]
mod supervise;
#[cfg(feature = "mcp")]
mod tool;

use std::{fmt, sync::Arc};

#[cfg(feature = "mcp")]
pub use server::McpServer;
pub use settings::{McpSettings, McpTransport};
#[cfg(all(feature = "mcp", target_os = "linux"))]
pub use supervise::supervise;

use crate::Tool;

/// Why a server, or one of its tools, cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The server's name in the settings.
    pub server: String,
    /// What is wrong and what to do about it.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MCP server `{}`: {}", self.server, self.message)
    }
}

/// Without the feature `mcp` no server can be used, and each is told so.
#[cfg(not(feature = "mcp"))]
pub async fn connect_all(settings: Vec<McpSettings>) -> (Vec<Arc<dyn Tool>>, Vec<Problem>) {
    let message = "this program was built without MCP; build it with the feature `mcp` of entourage";
    let problem = |server: McpSettings| Problem { server: server.name, message: message.to_owned() };
    (Vec::new(), settings.into_iter().map(problem).collect())
}

/// Connects to all servers at once and lists their tools. A server that cannot be reached costs
/// only its own tools. The tools hold their server: dropping the last one ends it.
#[cfg(feature = "mcp")]
pub async fn connect_all(settings: Vec<McpSettings>) -> (Vec<Arc<dyn Tool>>, Vec<Problem>) {
    let (mut tools, mut problems) = (Vec::new(), Vec::new());
    let mut names = std::collections::BTreeSet::new();
    let (first, again): (Vec<_>, Vec<_>) =
        settings.into_iter().partition(|server| names.insert(server.name.clone()));
    problems.extend(again.into_iter().map(|server| Problem {
        server: server.name,
        message: "the name is taken by another server; give it its own".to_owned(),
    }));
    let listed = futures::future::join_all(first.into_iter().map(|settings| async {
        let name = settings.name.clone();
        (name, Arc::new(McpServer::new(settings)).tools().await)
    }));
    for (server, listed) in listed.await {
        match listed {
            Ok((found, unusable)) => {
                tools.extend(found);
                problems.extend(unusable);
            }
            Err(error) => problems.push(Problem { server, message: error.to_string() }),
        }
    }
    (tools, problems)
}
