//! A planner with workers: `cargo run --example planner "Compare three ways to heat a house"`.
#![allow(clippy::print_stdout, reason = "it is an example")]

mod plan;

use std::io::stdin;

use entourage::{
    agency::{Agency, Agent, RunItem, StreamEvent},
    types::Answer,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let task = std::env::args().nth(1).unwrap_or_else(|| "Compare three ways to heat a house".into());
    let planner = Agent::builder("Planner")
        .instructions("Answer the task from the results of its parts, in three sentences.")
        .program(plan::Planner)
        .build()?;
    let worker = Agent::builder(plan::WORKER).instructions("Do the task in a few sentences.").build()?;
    let agency = Agency::new([&planner], [(&planner, &worker)])
        .database(std::env::temp_dir().join("entourage-planner.db"))
        .open()
        .await?;
    let mut stream = agency.get_response_stream(task).await?;
    while let Some(event) = stream.next().await {
        match event? {
            StreamEvent::Question(question) => {
                println!("{} (an empty line declines)", question.text);
                let mut line = String::new();
                stdin().read_line(&mut line)?;
                let answer = if line.trim().is_empty() { Answer::Declined } else { Answer::Text(line) };
                agency.client().answer(question.id, answer).await?;
            }
            StreamEvent::Item(RunItem::Notice(notice)) => println!("({})", notice.text),
            StreamEvent::Item(RunItem::MessageOutput(said)) => {
                println!("{}: {}", said.origin.agent, said.text)
            }
            StreamEvent::Error(failed) => println!("it failed: {:?}", failed.error),
            _ => {}
        }
    }
    Ok(())
}
