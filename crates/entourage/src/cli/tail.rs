//! `entourage tail`: shows the events of a tree.

use std::{collections::HashMap, convert::Infallible};

use clap::Args;
use entourage_api::{Event, EventBody};
use entourage_types::AgentId;
use jiff::{Timestamp, tz::TimeZone};

use super::{
    backend::{self, Backend, Purpose, Result, Signal},
    describe,
    failure::{Exit, Failure},
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
        let settings = globals.settings()?;
        let backend = backend::connect(globals, &settings, Purpose::Read).await?;
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
        // A process that keeps the database open without working on it keeps others out.
        let mut at_work = Some(backend).filter(|backend| backend.is_at_work(Some(root)));
        let followed = async {
            loop {
                let backend = match at_work.take() {
                    Some(backend) => backend,
                    None => {
                        note_waiting(globals);
                        backend::come(globals, &settings, Some(root)).await?
                    }
                };
                let failure = follow(&backend, root, &mut last, &mut kinds, globals).await;
                // Another command may take its turn; a server does not end by itself.
                if failure.who_is_gone().is_none() || backend.is_server() {
                    return Err(failure);
                }
            }
        };
        tokio::select! {
            failed = followed => failed,
            () = interrupt.cancelled() => Ok(Exit::Done),
        }
    }
}

/// Says that nothing new comes by itself.
fn note_waiting(globals: &Globals) {
    if !globals.quiet {
        let start = format!("entourage serve{}", globals.again());
        out::note(out::stderr().dim(format!(
            "note: nothing works on this tree; what happens is shown once something does: {start}"
        )));
    }
}

/// Writes the events of a tree above the last one, as they come. Returns why no more can be had.
async fn follow(
    backend: &Backend,
    root: AgentId,
    last: &mut u64,
    kinds: &mut HashMap<AgentId, String>,
    globals: &Globals,
) -> Failure {
    let mut write_next = async || -> Result<Infallible> {
        let mut follow = backend.follow(root, *last).await?;
        loop {
            if let Signal::Event(event) = follow.next().await? {
                *last = event.seq;
                write(&event, kinds, globals)?;
            }
        }
    };
    match write_next().await {
        Err(failure) => failure,
        Ok(never) => match never {},
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
