//! A program whose function is told what messages to the document agent came to: `docs/library.md` shows it.

use entourage::{
    Entourage, Settings, Subscriber,
    types::{Delivery, Occasion, Subject},
};

async fn count(told: Delivery) -> Result<(), std::io::Error> {
    if let Subject::Act(act) = &told.subject {
        let event = act.completed();
        println!("{} chat {}: {}", told.id, event.chat_id, event.success);
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    entourage::runtime()?.block_on(async {
        let analytics = Subscriber::new("analytics", [Occasion::AgentActionCompleted], count);
        let settings = Settings::load(None, None)?;
        Entourage::open_with(&settings, vec![analytics]).await?.work().await?;
        Ok(())
    })
}
