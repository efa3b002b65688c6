//! `entourage prune`: deletes old data now.

use std::time::Duration;

use clap::Args;
use entourage::settings::time;
use entourage_engine::{Pruned, Retention};

use super::{
    backend::{Patience, Result, Running},
    failure::Exit,
    globals::Globals,
    out,
};

const AFTER_HELP: &str = "\
Examples:
  entourage prune --events 30d               delete events older than 30 days; the last of each tree stays
  entourage prune --trees 52w                delete trees at rest for a year, with everything in them
  entourage prune                            delete what the settings say (`retention`)

In any case it also deletes answers to requests and deliveries of webhooks as the settings say, by default \
after a day. What is deleted is gone; `entourage backup` makes a copy first. A server prunes by itself, as its \
settings say.";

/// Delete data that is older than its retention
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Prune {
    /// How long to keep events: 30d, 52w
    #[arg(long, value_name = "TIME", value_parser = time)]
    events: Option<Duration>,
    /// How long to keep trees at rest
    #[arg(long, value_name = "TIME", value_parser = time)]
    trees: Option<Duration>,
}

impl Prune {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let settings = globals.settings()?;
        let mut patience = Patience::new(globals);
        let engine = loop {
            if let Some(running) = Running::find(&settings.data, globals.quiet).await {
                return Err(running.in_the_way("prune"));
            }
            match entourage::look_only(&settings).await {
                Ok(engine) => break engine,
                Err(error) => patience.wait(error).await?,
            }
        };
        let set = settings.retention;
        let (events, trees) = (self.events.or(set.events), self.trees.or(set.trees));
        let retention = Retention { events, trees, ..set.into() };
        let pruned = engine.prune(&retention).await?;
        if globals.json {
            out::json(&pruned)?;
        } else {
            let Pruned { events, trees, requests, deliveries } = pruned;
            out::result(format!(
                "deleted {trees} trees, {events} events of others, {requests} answers to requests and \
                 {deliveries} deliveries"
            ))?;
        }
        Ok(Exit::Done)
    }
}
