//! The work of a dispatcher that delivers in its own process: which agents are due, one activation of each at a time, and
//! what follows when one fails.

use std::{sync::Arc, time::Duration};

use entourage_store::Store;
use entourage_types::{AgentId, Owner, Time, Wakeup, WakeupId};

use super::{Advance, Due, Failures, Places, Settings, failures::LONGEST, order, shared::Share};
use crate::{
    Error, Result,
    due::{Limits, Next, PAGE, Page, Work},
};

/// The work of a dispatcher: a key is an agent, and its lane is its owner.
pub(super) struct WakeupWork {
    settings: Settings,
    engine: Arc<dyn Advance>,
    store: Arc<dyn Store>,
    /// What the other nodes serve; none if there are no others.
    share: Option<Share>,
    failures: Failures,
}

impl Work for WakeupWork {
    type Key = AgentId;
    type Lane = Owner;
    type Cursor = (Time, WakeupId);
    type Hint = Arc<[Wakeup]>;
    type Outcome = Result<()>;

    fn horizon(&self) -> Duration {
        self.share.as_ref().map_or(Duration::from_secs(60), |_| Share::LOOK)
    }

    fn limits(&self) -> Limits {
        Limits { in_all: self.settings.concurrency, per_lane: self.settings.per_owner.unwrap_or(usize::MAX) }
    }

    async fn page(&self, until: Time, after: Option<Self::Cursor>) -> Result<Page<Self>> {
        let page = match &self.share {
            Some(share) => share.due(until, after, PAGE).await?,
            None => self.store.due(until, after, PAGE).await?,
        };
        let next = page.last().map(order).filter(|_| page.len() == PAGE as usize);
        // Hints of these may have been lost; those that are not due yet cost an agent at work one look at its inbox.
        page.iter().for_each(|wakeup| self.engine.woken(wakeup.agent));
        let wakeups = page.into_iter().filter(|wakeup| !self.failures.is_left_alone(wakeup.agent));
        let due = wakeups.map(|wakeup| {
            // Wake-ups of an agent that failed keep their delay, however often they are read.
            let put_off = self.failures.put_off_until(wakeup.agent, until);
            let due = put_off.map_or(wakeup.due, |put_off| put_off.max(wakeup.due));
            let due = self
                .share
                .as_ref()
                .map_or(due, |share| if share.defers(wakeup.agent) { due + Share::DEFERENCE } else { due });
            (wakeup.agent, wakeup.owner, due)
        });
        Ok(Page { due: due.collect(), next })
    }

    fn unread(&mut self, error: &Error, now: Time) -> Duration {
        self.failures.unread(error, now);
        // Where others share the store, a look is also how what a dead one has left is found.
        self.share.as_ref().map_or(LONGEST, |_| Share::LOOK)
    }

    fn on_hint(&self, wakeups: &Arc<[Wakeup]>, now: Time, mut put: impl FnMut(AgentId, &Owner, Time)) {
        for wakeup in wakeups.iter().filter(|wakeup| !self.failures.is_left_alone(wakeup.agent)) {
            put(wakeup.agent, &wakeup.owner, wakeup.due);
            if wakeup.due <= now {
                self.engine.woken(wakeup.agent);
            }
        }
    }

    fn start(
        &self,
        agent: AgentId,
        owner: &Owner,
        now: Time,
    ) -> impl Future<Output = Result<()>> + Send + 'static {
        let (engine, given_up) = (Arc::clone(&self.engine), self.failures.given_up(agent));
        let advance = Arc::clone(&self.engine);
        let activation = async move {
            match given_up {
                Some(cause) => engine.give_up(agent, &cause).await,
                None => engine.advance(agent, Due { by: now }).await,
            }
        };
        let store = Arc::clone(&self.store);
        let share = self.share.clone().map(|share| (share, Wakeup::new(agent, owner.clone(), now)));
        async move {
            match share {
                Some(_) if !advance.concerns(agent).await? => Ok(()),
                // Its home has served it meanwhile.
                Some((share, _)) if share.defers(agent) && !store.is_due(agent, now).await? => Ok(()),
                Some((share, wakeup)) => share.alone(wakeup, activation).await,
                None => activation.await,
            }
        }
    }

    fn ended(&mut self, agent: AgentId, outcome: Result<Result<()>, String>, now: Time) -> Next {
        self.failures.ended(agent, outcome, now).map_or(Next::Done, Next::At)
    }

    fn measure(&self, in_progress: usize, ready: usize) {
        self.engine.occupied(Some(Places { busy: in_progress, limit: self.settings.concurrency, ready }));
    }
}

impl WakeupWork {
    pub(super) fn new(
        settings: Settings,
        engine: Arc<dyn Advance>,
        store: Arc<dyn Store>,
        share: Option<Share>,
    ) -> Self {
        let failures = Failures::new(settings.give_up_after);
        Self { settings, engine, store, share, failures }
    }
}
