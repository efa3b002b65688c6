//! The whole program that `docs/library.md` shows.

use entourage::agency::{Agency, Agent};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    entourage::runtime()?.block_on(async {
        let helper = Agent::builder("Helper").instructions("Answer in one sentence.").build()?;
        let agency = Agency::new([&helper], []).database("agency.db").open().await?;
        let result = agency.get_response("What makes an agent durable?").await?;
        println!("{}", result.final_output.unwrap_or_default());
        agency.close().await;
        Ok(())
    })
}
