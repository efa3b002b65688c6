//! A chat with an orchestrator: it answers what it knows and delegates research to sub-agents,
//! while you continue to talk.
//!
//! ```console
//! $ cargo run --example research_chat
//! $ cargo run --example research_chat -- "Who wrote the first compiler? Ask me if anything is unclear."
//! ```
//!
//! It uses the model for which you have keys (`entourage doctor` shows which), otherwise a
//! rehearsal model that needs no key. Stop it at any moment and start it again: the chat continues
//! where it was.

use std::{collections::HashSet, error::Error, io::Write as _};

use entourage::{Client, Entourage, NewAgent, Owner, Page, Role, Settings, Signal, types::AgentId};
use tokio::sync::mpsc;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::temp_dir().join("entourage-research-chat");
    let entourage = Entourage::open(&Settings::load(Some(&directory), None)?).await?;
    say(&format!("({})", entourage.choice.model.describe()))?;
    let client = entourage.engine.client(Owner::local());
    let at_work = tokio::spawn(entourage.clone().work());

    let first = std::env::args().nth(1);
    let earlier = client.roots(None, Page { newest_first: true, limit: 1, ..Default::default() }).await?;
    let chat = match (earlier.first(), first) {
        (Some(chat), None) => chat.id,
        (_, first) => {
            let message = first.unwrap_or_else(|| "What is durable execution? Two sentences.".into());
            let new = NewAgent {
                kind: Some("orchestrator".into()),
                message: Some(message),
                title: None,
                parent: None,
            };
            client.create(new, None).await?.id
        }
    };

    let (mut lines, mut told) = (typed(), HashSet::new());
    let mut events = client.watch(chat, None).await?;
    loop {
        tokio::select! {
            signal = events.next() => match signal? {
                // Pieces of running answers arrive too; this example shows whole messages only.
                Signal::Delta(_) => {}
                Signal::Event(_) | Signal::Inbox | Signal::CaughtUp(_) => tell(&client, chat, &mut told).await?,
            },
            line = lines.recv() => match line {
                Some(line) if line.trim().is_empty() => {}
                // A plain message answers a sub-agent's question: the orchestrator passes it on.
                Some(line) => drop(client.send(chat, &line, None).await?),
                None => break,
            },
        }
    }
    entourage.engine.stopping().cancel();
    Ok(at_work.await??)
}

/// Prints the entries that are not printed yet.
async fn tell(client: &Client, chat: AgentId, told: &mut HashSet<String>) -> Result<(), Box<dyn Error>> {
    for entry in client.transcript(chat).await? {
        // A message of yours has the id of its post, before an agent reads it and after.
        let known_by = match entry.post {
            Some(post) => post.to_string(),
            None => format!("{:?} {:?}", entry.item_seq, entry.question),
        };
        if told.insert(known_by) {
            let sign = if entry.role == Role::User { "> " } else { "" };
            say(&format!("\n{sign}{}", entry.text))?;
        }
    }
    Ok(())
}

/// Returns the typed lines until the input ends.
fn typed() -> mpsc::UnboundedReceiver<String> {
    let (send, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let typed = std::io::stdin().lines().map_while(Result::ok);
        // The receiver is dropped once the chat is over.
        typed.map(|line| send.send(line)).take_while(Result::is_ok).count()
    });
    lines
}

fn say(text: &str) -> std::io::Result<()> {
    writeln!(std::io::stdout(), "{text}")
}
