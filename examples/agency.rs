//! A CEO, a developer and a reviewer: `cargo run --example agency "A greeting in Rust"`.
#![allow(clippy::print_stdout, reason = "it is an example")]

use entourage::agency::{Agency, Agent, RunItem, StreamEvent};

#[tokio::main]
async fn main() -> entourage::Result<()> {
    let wish = std::env::args().nth(1).unwrap_or_else(|| "A function that greets, in Rust".into());
    let ceo = Agent::builder("Ceo").instructions("Have it written and reviewed, then answer.").build()?;
    let developer = Agent::builder("Developer")
        .instructions("You write small programs; have each reviewed once.")
        .build()?;
    let reviewer = Agent::builder("Reviewer").instructions("You review code, in one sentence.").build()?;
    let agency = Agency::new([&ceo], [(&ceo, &developer), (&ceo, &reviewer), (&developer, &reviewer)])
        .shared_instructions("Be brief.")
        .database(std::env::temp_dir().join("entourage-agency.db")) // or .in_memory()
        .open()
        .await?;
    let mut stream = agency.get_response_stream(wish).max_steps(6).await?;
    while let Some(event) = stream.next().await {
        match event? {
            StreamEvent::Item(RunItem::ToolCall(call)) => {
                println!("{} calls {} {}", call.origin.agent, call.tool, call.arguments);
            }
            StreamEvent::Item(RunItem::MessageOutput(said)) => {
                println!("{}: {}", said.origin.agent, said.text);
            }
            StreamEvent::Error(failed) => println!("it failed: {:?}", failed.error),
            _ => {}
        }
    }
    Ok(())
}
