//! Which wake-ups are handed over to Restate, and when: those of this node's commits at once, and whatever nobody has
//! served, from time to time. Only what is due soon; all else stays in the store, where moving it costs nothing.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::Duration,
};

use entourage_engine::{Clock, Result};
use entourage_store::Store;
use entourage_types::{AgentId, Time, Wakeup, WakeupId};
use tokio::sync::{
    Notify,
    broadcast::{Receiver, error::RecvError},
    mpsc::{Sender, error::TrySendError},
};

use crate::{deliveries::Deliveries, ingress::Handover};

/// How far ahead of its time a wake-up is handed over.
pub(crate) const SOON: Duration = Duration::from_secs(60);
/// How often the sweeper looks, on average.
const PERIOD: Duration = Duration::from_secs(20);
/// How many wake-ups are read at once.
const PAGE: u32 = 500;

/// The hints of this node's commits.
pub(crate) struct Hints<'n> {
    pub woken: Receiver<Arc<[Wakeup]>>,
    pub queue: Sender<Handover>,
    /// Notified when hints were lost.
    pub behind: &'n Notify,
}

impl Hints<'_> {
    /// Hands over what this node's commits schedule, until the store is gone. Calls `woken_now` for agents for which
    /// something is due now.
    pub(crate) async fn run(mut self, clock: &dyn Clock, woken_now: impl Fn(AgentId)) {
        loop {
            let woken = match self.woken.recv().await {
                Ok(woken) => woken,
                Err(RecvError::Lagged(_)) => {
                    self.behind.notify_one();
                    continue;
                }
                Err(RecvError::Closed) => return,
            };
            let now = clock.now();
            for wakeup in woken.iter().filter(|wakeup| wakeup.due <= now + SOON) {
                if wakeup.due <= now {
                    woken_now(wakeup.agent);
                }
                // If Restate does not keep up, the sweeper hands over the rest, at its pace.
                match self.queue.try_send(Handover::new(wakeup, 0)) {
                    Ok(()) | Err(TrySendError::Full(_)) => {}
                    Err(TrySendError::Closed(_)) => return,
                }
            }
        }
    }
}

/// Hands over what is due first, for what was scheduled unheard. The nodes that work find what is beyond that.
pub(crate) async fn hand_over_first(store: &dyn Store, clock: &dyn Clock, queue: &Sender<Handover>) {
    match store.due(clock.now() + SOON, None, PAGE).await {
        Ok(page) => page.iter().for_each(|wakeup| {
            let _ = queue.try_send(Handover::new(wakeup, 0));
        }),
        Err(error) => tracing::debug!(%error, "what is due could not be read"),
    }
}

/// Hands over what nobody has served.
pub(crate) struct Sweeper<'n> {
    queue: Sender<Handover>,
    behind: &'n Notify,
    deliveries: &'n Deliveries,
    /// Since when each wake-up that the last sweep found is due for all that this node knows.
    seen: HashMap<WakeupId, Time>,
    /// Spreads the sweeps of nodes that began together.
    spread: RandomState,
}

impl<'n> Sweeper<'n> {
    pub(crate) fn new(queue: Sender<Handover>, behind: &'n Notify, deliveries: &'n Deliveries) -> Self {
        Self { queue, behind, deliveries, seen: HashMap::new(), spread: RandomState::new() }
    }

    /// Sweeps until this is dropped.
    ///
    /// # Errors
    /// If the first sweep cannot read the store.
    pub(crate) async fn run(mut self, store: &dyn Store, clock: &dyn Clock) -> Result<()> {
        self.sweep(store, clock).await?;
        loop {
            tokio::select! {
                () = clock.sleep(self.pause(clock.now())) => {}
                () = self.behind.notified() => {}
            }
            if let Err(error) = self.sweep(store, clock).await {
                self.deliveries.failures().unread(&error, clock.now());
            }
        }
    }

    async fn sweep(&mut self, store: &dyn Store, clock: &dyn Clock) -> Result<()> {
        let (now, mut after) = (clock.now(), None);
        let (mut seen, mut agents) = (HashMap::new(), HashSet::new());
        loop {
            let page = store.due(now + SOON, after, PAGE).await?;
            for wakeup in &page {
                let since = self.seen.get(&wakeup.id).copied().unwrap_or(now).min(now).max(wakeup.due);
                seen.insert(wakeup.id, since);
                agents.insert(wakeup.agent);
                if self.deliveries.has(wakeup.agent) {
                    // The hint of this one may have been lost.
                    self.deliveries.woken(wakeup.agent);
                } else {
                    let handover = Handover::new(wakeup, round(now.since(since)));
                    // Nobody takes any more when the node ends.
                    let _ = self.queue.send(handover).await;
                }
            }
            match page.last() {
                Some(last) if page.len() == PAGE as usize => after = Some((last.due, last.id)),
                _ => break,
            }
        }
        self.seen = seen;
        self.deliveries.failures().retain(|agent| agents.contains(&agent));
        Ok(())
    }

    /// The time until the next sweep: the period, give or take a quarter.
    fn pause(&self, now: Time) -> Duration {
        let thousandth = (self.spread.hash_one(now.micros()) % 500) as u32;
        PERIOD * (750 + thousandth) / 1000
    }
}

/// The round in which a wake-up is handed over that has been due for so long. Restate does not take a round again that
/// it took before, even if whatever it began did not serve the wake-up. A long activation is due all the time, so rounds
/// become rare.
fn round(overdue: Duration) -> u32 {
    (1 + overdue.as_secs() / PERIOD.as_secs()).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rounds_of_a_wake_up_become_rare() {
        let rounds = [0, 19, 20, 59, 60, 139, 140, 1_800].map(|seconds| round(Duration::from_secs(seconds)));
        assert_eq!(rounds, [0, 0, 1, 1, 2, 2, 3, 6]);
    }
}
