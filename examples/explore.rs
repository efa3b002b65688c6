//! An exploration that asks on the terminal: `cargo run --example explore "Which crates parse dates?"`.
#![allow(clippy::print_stdout, reason = "it is an example")]

use std::io::Write as _;

use entourage::explore::{Chunk, Explorer};

#[tokio::main]
async fn main() -> entourage::Result<()> {
    let question = std::env::args().nth(1).unwrap_or_else(|| "Which crates parse dates?".into());
    let explorer = Explorer::builder()
        .database(std::env::temp_dir().join("entourage-explore.db")) // or .in_memory()
        .query_user_handler(|agent, prompt| async move { typed(format!("{agent} asks: {prompt}\n> ")).await })
        .open()
        .await?;
    let mut stream = explorer.agent(question).await?;
    while let Some(chunk) = stream.next().await {
        match chunk? {
            Chunk::AgentState { agent_id, state } => println!("{agent_id} is {state}"),
            Chunk::ToolCall { agent_id, tool_name, args, .. } => println!("{agent_id}: {tool_name} {args}"),
            Chunk::Error { agent_id, error } => println!("{agent_id}: {error}"),
            _ => {}
        }
    }
    println!("\n{}", stream.result().await?);
    explorer.close().await;
    Ok(())
}

/// A line from the terminal; none, which declines, if it is empty or the input has ended.
async fn typed(prompt: String) -> Result<Option<String>, tokio::task::JoinError> {
    let read = move || {
        print!("{prompt}");
        let (_, mut line) = (std::io::stdout().flush(), String::new());
        std::io::stdin().read_line(&mut line).ok();
        Some(line.trim().to_owned()).filter(|line| !line.is_empty())
    };
    tokio::task::spawn_blocking(read).await
}
