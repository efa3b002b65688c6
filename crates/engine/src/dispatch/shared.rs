//! The dispatcher of a node that shares its store with others: each agent is served by one node at a time. A node takes an
//! agent before it activates it, and gives it back afterwards. What a node has taken is free again once it is no longer
//! alive. All this spares work: two nodes that serve one agent are told apart by its epoch.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage_store::{Held, Nodes, Store};
use entourage_types::{AgentId, Time, Wakeup, WakeupId};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio_util::sync::CancellationToken;

use super::{Advance, Dispatcher, Settings, embedded::deliver, wakeups::WakeupWork};
use crate::{
    Clock, Error, Result, Signals,
    due::{Hints, Worker},
    signals::NO_LEASE,
};

/// The dispatcher of a node that shares its store.
pub struct Shared {
    settings: Settings,
    share: Share,
    handed_over: broadcast::Sender<Arc<[Wakeup]>>,
}

impl Shared {
    /// How many wake-ups may wait for the dispatcher; if it lags behind, it reads the store again.
    pub const HANDED_OVER: usize = 1024;

    /// A dispatcher with these settings, for this node. The wake-ups that other nodes [hand over](Signals::hand_over) come by
    /// `handed_over`.
    #[must_use]
    pub fn new(
        settings: Settings,
        nodes: Arc<dyn Nodes>,
        signals: Arc<dyn Signals>,
        handed_over: broadcast::Sender<Arc<[Wakeup]>>,
    ) -> Self {
        Self { settings, share: Share { nodes, signals }, handed_over }
    }
}

#[async_trait]
impl Dispatcher for Shared {
    async fn run(
        &self,
        engine: Arc<dyn Advance>,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) -> Result<()> {
        // Subscribe before the first read, so that no wake-up is missed in between.
        let woken = Hints::both(store.woken(), self.handed_over.subscribe());
        let share = Some(self.share.clone());
        let work = WakeupWork::new(self.settings.clone(), Arc::clone(&engine), store, share);
        deliver(Worker::new(work, woken, clock), &*engine, &stop, self.settings.grace).await
    }
}

/// The dispatcher of a node at which no agents work: hands the wake-ups of its own commits over to nodes at which they do.
pub struct HandOver {
    signals: Arc<dyn Signals>,
}

impl HandOver {
    /// How long before its time a wake-up is handed over; the others are found by the nodes that work.
    const AHEAD: Duration = Duration::from_secs(2);

    /// How many wake-ups are read where hints were missed; the nodes that work poll for the others.
    const PAGE: u32 = 500;

    /// A dispatcher that hands over by these signals.
    #[must_use]
    pub fn new(signals: Arc<dyn Signals>) -> Self {
        Self { signals }
    }

    fn hand_over(&self, wakeups: &[Wakeup], soon: Time) {
        for wakeup in wakeups.iter().filter(|wakeup| wakeup.due <= soon) {
            if let Some(home) = self.signals.home(wakeup.agent) {
                self.signals.hand_over(home, wakeup.clone());
            }
        }
    }
}

#[async_trait]
impl Dispatcher for HandOver {
    async fn run(
        &self,
        _: Arc<dyn Advance>,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) -> Result<()> {
        let mut woken = store.woken();
        // Hints of earlier commits were missed, so what is due is read first.
        let mut missed = true;
        loop {
            let soon = clock.now() + Self::AHEAD;
            if std::mem::take(&mut missed) {
                match store.due(soon, None, Self::PAGE).await {
                    Ok(due) => self.hand_over(&due, soon),
                    Err(error) => {
                        tracing::debug!(%error, "what is due was not handed over; the nodes that work find it")
                    }
                }
            }
            let wakeups = tokio::select! {
                wakeups = woken.recv() => wakeups,
                () = stop.cancelled() => return Ok(()),
            };
            match wakeups {
                Ok(wakeups) => self.hand_over(&wakeups, clock.now() + Self::AHEAD),
                Err(RecvError::Lagged(_)) => missed = true,
                Err(RecvError::Closed) => return Ok(()),
            }
        }
    }
}

/// What this node serves, and what the others do.
#[derive(Clone)]
pub(super) struct Share {
    nodes: Arc<dyn Nodes>,
    signals: Arc<dyn Signals>,
}

impl Share {
    /// How often the store is polled for agents that no node serves.
    pub(super) const LOOK: Duration = Duration::from_secs(2);
    /// How long other nodes leave an agent to its home.
    pub(super) const DEFERENCE: Duration = Duration::from_secs(1);

    /// The wake-ups that are due at `until` or before, without those of agents that other nodes serve.
    pub(super) async fn due(
        &self,
        until: Time,
        after: Option<(Time, WakeupId)>,
        limit: u32,
    ) -> Result<Vec<Wakeup>> {
        Ok(self.nodes.due(until, after, limit).await?)
    }

    /// Whether another node is to serve the agent, if that is in time.
    pub(super) fn defers(&self, agent: AgentId) -> bool {
        self.signals.home(agent).is_some()
    }

    /// Runs an activation while no other node serves the agent. If one does, the wake-up is handed over to it.
    ///
    /// An agent whose activation failed stays with this node, which knows when to try it again.
    pub(super) async fn alone(
        &self,
        wakeup: Wakeup,
        activation: impl Future<Output = Result<()>>,
    ) -> Result<()> {
        let agent = wakeup.agent;
        // What a node takes that is none at the moment, it would keep from the others.
        if !self.signals.holds_lease() {
            return Err(Error::NotYet { agent, after: NO_LEASE });
        }
        if let Some(Held { by, .. }) = self.nodes.take(&[agent]).await?.pop() {
            self.signals.hand_over(by, wakeup);
            return Ok(());
        }
        activation.await?;
        if let Err(error) = self.nodes.give_back(&[agent]).await {
            // It stays with this node, which gives it back after the next activation.
            tracing::warn!(%agent, %error, "an agent could not be given back to the other nodes");
        }
        Ok(())
    }
}
