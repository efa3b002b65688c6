//! The tests' MCP server over standard input and output.

#[path = "../tests/everything.rs"]
mod everything;

use rmcp::ServiceExt;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = everything::Everything.serve((tokio::io::stdin(), tokio::io::stdout())).await?;
    server.waiting().await?;
    Ok(())
}
