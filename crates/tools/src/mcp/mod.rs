//! Tools of MCP servers: programs on this machine that the engine starts and ends, or remote services.

#[cfg(feature = "mcp")]
mod bounded;
#[cfg(feature = "mcp")]
mod child;
#[cfg(feature = "mcp")]
mod connection;
#[cfg(feature = "mcp")]
mod credentials;
#[cfg(feature = "mcp")]
mod failure;
#[cfg(feature = "mcp")]
mod forms;
#[cfg(feature = "mcp")]
mod lines;
mod placeholders;
#[cfg(feature = "mcp")]
mod result;
#[cfg(feature = "mcp")]
mod schema;
#[cfg(feature = "mcp")]
mod secrets;
#[cfg(feature = "mcp")]
mod server;
mod settings;
#[cfg(feature = "mcp")]
mod silence;
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

/// Why a server or one of its tools cannot be used.
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

/// The tools of a server, and why its other tools cannot be used.
pub type Connected = (Vec<Arc<dyn Tool>>, Vec<Problem>);

/// Reports that no server can be used without the feature `mcp`.
///
/// # Errors
/// Always.
#[cfg(not(feature = "mcp"))]
pub async fn connect_server(settings: McpSettings) -> Result<Connected, Problem> {
    let message = "this program was built without MCP; build it with the feature `mcp` of entourage";
    Err(Problem { server: settings.name, message: message.to_owned() })
}

/// Connects to a server and lists its tools. The tools hold the server: dropping the last one ends it.
///
/// # Errors
/// When it cannot be reached, or does not list its tools.
#[cfg(feature = "mcp")]
pub async fn connect_server(settings: McpSettings) -> Result<Connected, Problem> {
    let server = settings.name.clone();
    let connected = Arc::new(McpServer::new(settings)).tools().await;
    connected.map_err(|error| Problem { server, message: error.to_string() })
}
