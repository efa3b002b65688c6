//! Waking an agent because something outside says that there is work for it. The agent checks whether there
//! is: a needless wake-up changes nothing.

use std::{fmt, str::FromStr};

use entourage_store::{Commit, Expect, Write};
use entourage_types::{Agent, AgentId, CallId, ItemBody, Status, Wakeup};

use super::Client;
use crate::{Error, Result};

/// More items than lie between a turn and the outputs of its calls.
const LAST_ITEMS: u64 = 256;

/// The answer to a request that woke an agent.
struct Woken;

impl fmt::Display for Woken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("woken")
    }
}

impl FromStr for Woken {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == Self.to_string() { Ok(Self) } else { Err(Error::KeyReused) }
    }
}

impl Client {
    /// Wakes an agent that has something to do or to read. If it has not, does nothing and returns false.
    ///
    /// The same `key` wakes once.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`], [`crate::Error::KeyReused`].
    pub async fn wake(&self, id: AgentId, key: Option<&str>) -> Result<bool> {
        let agent = self.agent(id).await?;
        let request = format!("wake {id}");
        if self.first_answer::<Woken>(key, &request).await?.is_some() {
            return Ok(true);
        }
        if !self.has_something(&agent).await? {
            return Ok(false);
        }
        let now = self.engine.now();
        let wakeup = Wakeup::new(id, agent.owner, now);
        let commit = Commit::new(now).expect(Expect::Agent(id)).write(Write::ScheduleWakeup(wakeup));
        self.commit_once(key, &request, Woken, commit).await?;
        Ok(true)
    }

    /// Whether a call of an agent has no output yet.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn call_is_pending(&self, agent: AgentId, call: CallId) -> Result<bool> {
        let agent = self.agent(agent).await?;
        let from = agent.items.saturating_sub(LAST_ITEMS);
        let items = self.items(agent.id, from, u32::MAX).await?;
        Ok(items.iter().rev().find_map(|item| match &item.body {
            ItemBody::Output(output) if output.call == call => Some(false),
            ItemBody::Turn(turn) if turn.calls.iter().any(|asked| asked.id == call) => Some(true),
            _ => None,
        }) == Some(true))
    }

    async fn has_something(&self, agent: &Agent) -> Result<bool> {
        Ok(match agent.status {
            Status::Cancelled => false,
            Status::Queued | Status::Running | Status::Waiting => true,
            Status::Idle | Status::Succeeded | Status::Failed => self.is_at_work(agent).await?,
        })
    }
}
