//! The activations in progress in this engine: one at a time for each agent. A second one waits until the
//! first is over, so that nothing of the first starts any more: what that had begun is then as after a crash.
//! Between processes the epoch guarantees this; losing track of an activation costs time only, since the
//! store refuses its next commit.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use entourage_types::{AgentId, PostId};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{Clock, Tick, watchdog::Heartbeat};

/// How long a cancelled activation may take to end before it is abandoned: a tool that blocks its thread must
/// not hold up the person who ends the agent.
const GRACE: Duration = Duration::from_secs(5);

/// Agents that are being deleted, with the number of their deletions in progress.
type Deletions = Arc<Mutex<HashMap<AgentId, u32>>>;
type AtWork = Arc<Mutex<HashMap<AgentId, Activation>>>;

/// The activations in progress, by agent.
#[derive(Default)]
pub(crate) struct Activations {
    at_work: AtWork,
    deleting: Deletions,
}

/// What others can see of an activation in progress.
#[derive(Clone)]
struct Activation {
    agent: AgentId,
    /// Cancelled when it must end where it is.
    cancel: CancellationToken,
    /// The message that it answers, if a run of its own answers it.
    answers: Arc<Mutex<Option<PostId>>>,
    /// Cancelled when it begins nothing for the agent any more, except for deleting it.
    harmless: CancellationToken,
    /// Notified when the agent may have something new to read.
    woken: Arc<Notify>,
    /// Cancelled when it is over, or was abandoned.
    gone: Arc<CancellationToken>,
}

/// One activation in progress, until dropped.
pub(crate) struct ActivationGuard {
    activation: Activation,
    pulse: Arc<Heartbeat>,
    at_work: AtWork,
}

/// Until when an activation that was cancelled may go on.
#[derive(Clone, Copy)]
struct Deadline<'c> {
    clock: &'c dyn Clock,
    end: Tick,
}

impl<'c> Deadline<'c> {
    fn in_grace(clock: &'c dyn Clock) -> Self {
        Self { clock, end: clock.tick() + GRACE }
    }

    async fn passes(self) {
        self.clock.sleep(self.end.since(self.clock.tick())).await;
    }
}

impl Activations {
    /// Begins an activation of the agent, once no other is in progress. It begins before the agent is
    /// claimed, so that a caller that writes to the agent after the claim can cancel it. `stopping` cancels
    /// all activations.
    pub(crate) async fn enter(
        &self,
        agent: AgentId,
        stopping: &CancellationToken,
        clock: &dyn Clock,
    ) -> ActivationGuard {
        loop {
            match self.try_enter(agent, stopping, clock.tick()) {
                Ok(entered) => return entered,
                Err(other) => other.gone.cancelled().await,
            }
        }
    }

    /// Begins an activation of the agent, unless one is in progress.
    pub(crate) fn enter_if_idle(
        &self,
        agent: AgentId,
        stopping: &CancellationToken,
        now: Tick,
    ) -> Option<ActivationGuard> {
        self.try_enter(agent, stopping, now).ok()
    }

    /// Begins an activation that ends the agent: cancels the one in progress, and abandons it after `GRACE`.
    /// Once this has returned, nothing of the other one starts any more.
    pub(crate) async fn preempt(
        &self,
        agent: AgentId,
        stopping: &CancellationToken,
        clock: &dyn Clock,
    ) -> ActivationGuard {
        let deadline = Deadline::in_grace(clock);
        loop {
            let other = match self.try_enter(agent, stopping, clock.tick()) {
                Ok(entered) => return entered,
                Err(other) => other,
            };
            self.end(&other, &other.gone, deadline).await;
        }
    }

    /// Ends the activation in progress, if any: it is cancelled, and abandoned after `GRACE`. Once this has
    /// returned, it begins nothing for the agent. Does not wait for one that deletes the agent: it may wait for
    /// the caller's node, too.
    pub(crate) async fn leave(&self, agent: AgentId, clock: &dyn Clock) {
        let other = locked(&self.at_work).get(&agent).cloned();
        if let Some(other) = other {
            self.end(&other, &other.harmless, Deadline::in_grace(clock)).await;
        }
    }

    /// Cancels an activation and waits until it is `over`; abandons it at the deadline.
    async fn end(&self, activation: &Activation, over: &CancellationToken, deadline: Deadline<'_>) {
        activation.cancel.cancel();
        tokio::select! {
            biased;
            () = over.cancelled() => {}
            () = deadline.passes() => leave(&self.at_work, activation),
        }
    }

    fn try_enter(
        &self,
        agent: AgentId,
        stopping: &CancellationToken,
        now: Tick,
    ) -> Result<ActivationGuard, Activation> {
        match locked(&self.at_work).entry(agent) {
            Entry::Occupied(other) => Err(other.get().clone()),
            Entry::Vacant(place) => {
                let activation = Activation {
                    agent,
                    cancel: stopping.child_token(),
                    answers: Arc::default(),
                    harmless: CancellationToken::new(),
                    woken: Arc::default(),
                    gone: Arc::default(),
                };
                place.insert(activation.clone());
                let at_work = Arc::clone(&self.at_work);
                Ok(ActivationGuard { activation, pulse: Arc::new(Heartbeat::new(now)), at_work })
            }
        }
    }

    /// Marks the agent as being deleted until the returned value is dropped: there is no use in advancing it
    /// meanwhile.
    pub(crate) fn mark_deleting(&self, agent: AgentId) -> impl Drop + Send + use<> {
        *locked(&self.deleting).entry(agent).or_default() += 1;
        let deleting = Arc::clone(&self.deleting);
        DeletionMark { agent, deleting }
    }

    /// Whether the agent is being deleted.
    pub(crate) fn is_deleting(&self, agent: AgentId) -> bool {
        locked(&self.deleting).contains_key(&agent)
    }

    /// Whether an activation of the agent is in progress.
    pub(crate) fn is_at_work(&self, agent: AgentId) -> bool {
        locked(&self.at_work).contains_key(&agent)
    }

    /// Cancels what the agent is doing; if `answering`, only if it answers this message. What it has committed
    /// stays.
    pub(crate) fn interrupt(&self, agent: AgentId, answering: Option<PostId>) {
        let at_work = locked(&self.at_work);
        let fits = |it: &&Activation| answering.is_none() || *locked(&it.answers) == answering;
        if let Some(activation) = at_work.get(&agent).filter(fits) {
            activation.cancel.cancel();
        }
    }

    /// Tells what the agent is doing, if anything, that it may have something new to read.
    pub(crate) fn wake(&self, agent: AgentId) {
        if let Some(activation) = locked(&self.at_work).get(&agent) {
            activation.woken.notify_one();
        }
    }
}

/// An agent that is being deleted.
struct DeletionMark {
    agent: AgentId,
    deleting: Deletions,
}

impl Drop for DeletionMark {
    fn drop(&mut self) {
        if let Entry::Occupied(mut entry) = locked(&self.deleting).entry(self.agent) {
            *entry.get_mut() -= 1;
            if *entry.get() == 0 {
                entry.remove();
            }
        }
    }
}

/// Removes an activation and wakes all that wait for its end. One that was abandoned has lost its place
/// before, perhaps to another.
fn leave(at_work: &AtWork, activation: &Activation) {
    let mut at_work = locked(at_work);
    if at_work.get(&activation.agent).is_some_and(|other| Arc::ptr_eq(&other.gone, &activation.gone)) {
        at_work.remove(&activation.agent);
    }
    drop(at_work);
    activation.harmless.cancel();
    activation.gone.cancel();
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ActivationGuard {
    /// The signs of life of this activation.
    pub(crate) fn pulse(&self) -> &Arc<Heartbeat> {
        &self.pulse
    }

    /// Notified when the agent may have something new to read.
    pub(crate) fn woken(&self) -> &Arc<Notify> {
        &self.activation.woken
    }

    /// Where this activation publishes which message it answers.
    pub(crate) fn answers(&self) -> &Arc<Mutex<Option<PostId>>> {
        &self.activation.answers
    }

    /// Records that this activation begins nothing for the agent any more, except for deleting it.
    pub(crate) fn only_deletes(&self) {
        self.activation.harmless.cancel();
    }

    /// Cancelled when this activation must end where it is.
    pub(crate) fn cancel_token(&self) -> &CancellationToken {
        &self.activation.cancel
    }
}

impl Drop for ActivationGuard {
    fn drop(&mut self) {
        leave(&self.at_work, &self.activation);
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use entourage_types::Time;
    use futures::poll;

    use super::*;
    use crate::SystemClock;

    /// A clock on which every sleep is over at once.
    struct InstantClock;

    #[async_trait]
    impl Clock for InstantClock {
        fn now(&self) -> Time {
            Time::from_micros(0)
        }

        async fn sleep_until(&self, _: Time) {}
    }

    #[tokio::test]
    async fn preempting_a_stuck_activation_lets_its_waiters_in() {
        let (activations, stopping, agent) =
            (Activations::default(), CancellationToken::new(), AgentId::new());
        let held_up = activations.enter(agent, &stopping, &InstantClock).await;
        let mut second = Box::pin(activations.enter(agent, &stopping, &InstantClock));
        assert!(poll!(&mut second).is_pending());
        drop(activations.preempt(agent, &stopping, &InstantClock).await);
        assert!(poll!(&mut second).is_ready(), "though the first is not over");
        drop(held_up);
    }

    #[tokio::test]
    async fn no_state_is_kept_for_agents_at_rest() {
        let (activations, stopping) = (Activations::default(), CancellationToken::new());
        for _ in 0..10 {
            let agent = AgentId::new();
            let (deleting, first) =
                (activations.mark_deleting(agent), activations.enter(agent, &stopping, &SystemClock).await);
            activations.interrupt(agent, None);
            let (second, ()) =
                tokio::join!(activations.preempt(agent, &stopping, &SystemClock), async { drop(first) });
            assert!(activations.is_at_work(agent) && activations.is_deleting(agent));
            drop((deleting, second));
        }
        assert!(locked(&activations.at_work).is_empty() && locked(&activations.deleting).is_empty());
    }
}
