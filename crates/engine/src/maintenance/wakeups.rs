//! Wake-ups of agents that do not exist. The dispatcher delivers them for ever, and no agent serves them.

use std::time::Duration;

use async_trait::async_trait;
use entourage_store::{Commit, Write};
use entourage_types::{Scope, Time, Wakeup};

use super::{Inconsistency, Job, agent};
use crate::{
    Engine, Result,
    pages::{DueWakeups, pages},
};

/// A wake-up that has been due for so long was delivered and not served.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Wakeups;

#[async_trait]
impl Job for Wakeups {
    fn name(&self) -> &'static str {
        "wakeups"
    }

    fn purpose(&self) -> &'static str {
        "wake-ups of agents that do not exist"
    }

    async fn find(&self, engine: &Engine) -> Result<Vec<Inconsistency>> {
        let mut found = Vec::new();
        let until =
            Time::from_micros(engine.now().micros() - i64::try_from(PATIENCE.as_micros()).unwrap_or(0));
        let mut pages = pages(&**engine.store(), &Scope::All, DueWakeups(until));
        while let Some(page) = pages.next().await? {
            for wakeup in &page {
                if agent(engine, wakeup.agent).await?.is_none() {
                    found.push(inconsistency(engine, wakeup));
                }
            }
        }
        Ok(found)
    }
}

fn inconsistency(engine: &Engine, wakeup: &Wakeup) -> Inconsistency {
    Inconsistency {
        agent: wakeup.agent,
        text: format!("there is no agent {} for wake-up {}: the wake-up is deleted", wakeup.agent, wakeup.id),
        repair: Commit::new(engine.now()).write(Write::DropOrphanWakeup(wakeup.clone())),
    }
}
