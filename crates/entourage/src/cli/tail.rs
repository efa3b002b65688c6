//! `entourage tail`: shows the events of a tree.

use std::collections::HashMap;

use clap::Args;
use entourage_api::{Event, EventBody};
use entourage_types::AgentId;
use jiff::{Timestamp, tz::TimeZone};

use super::{
    backend::{self, Purpose, Result, Signal},
    describe,
    failure::Exit,
    globals::Globals,
    id_input::IdInput,
    interrupt, out,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage tail                          all events of the newest tree
  entourage tail agt_0199… --follow       all events so far, then new ones until Ctrl-C
  entourage tail --after 120 --json       events above number 120, one JSON object a line

Numbers have no gaps: --after with the last number you saw misses no event. If the settings delete old events \
(`retention.events`), a number from before the first that is kept is refused.";

/// Show the events of a tree of agents
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Tail {
    /// Any agent of the tree [default: the newest one]
    agent: Option<IdInput<AgentId>>,
    /// Only events above this number [default: all that are kept]
    #[arg(long, value_name = "N")]
    after: Option<u64>,
    /// Keep showing new events
    #[arg(long, short)]
    follow: bool,
}

impl Tail {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let backend = backend::connect(globals, &globals.settings()?, Purpose::Read).await?;
        let agent = self.agent.unwrap_or(IdInput::Last).find(&backend).await?;
        let root = backend.agent(agent).await?.root;
        let members = backend.tree(root).await?.into_agents();
        let mut kinds = members.into_iter().map(|agent| (agent.id, agent.kind)).collect();
        let mut last = self.after.unwrap_or_default();
        for event in backend.history(root, self.after).await? {
            last = event.seq;
            write(&event, &mut kinds, globals)?;
        }
        if !self.follow {
            return Ok(Exit::Done);
        }
        let interrupt = interrupt::token();
        let mut follow = backend.follow(root, last).await?;
        loop {
            let signal = tokio::select! {
                signal = follow.next() => signal?,
                () = interrupt.cancelled() => return Ok(Exit::Done),
            };
            if let Signal::Event(event) = signal {
                write(&event, &mut kinds, globals)?;
            }
        }
    }
}

fn write(event: &Event, kinds: &mut HashMap<AgentId, String>, globals: &Globals) -> Result<()> {
    if let EventBody::AgentCreated { kind, .. } = &event.body {
        kinds.insert(event.agent, kind.clone());
    }
    if globals.json {
        return out::json(event);
    }
    let Some(text) = describe::event(event) else { return Ok(()) };
    let paint = out::stdout();
    let kind = kinds.get(&event.agent).map_or("agent", String::as_str);
    let number = paint.dim(format!("{:>5} {}", event.seq, clock(event)));
    out::result(text![number, "  ", paint.bold(kind), " ", text])
}

/// The time of day of an event, in this machine's time zone.
fn clock(event: &Event) -> String {
    let at = Timestamp::from_microsecond(event.at.micros()).unwrap_or_default();
    at.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()
}
