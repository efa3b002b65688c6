//! Runs that are taken up after the process that worked on them ended. One that ends its process each time, by
//! what it reads or by the memory it takes, must not do so for ever: nobody else's agents would get on either.
//!
//! How often in a row that happened is on record, since the process that counts in memory is gone: before the
//! transcript is read, which may be what ends the process. It counts until anything else is written of the run,
//! and an orderly end of the process takes it back.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use entourage_store::{AgentQuery, Claim, Commit, ItemQuery, Page, Store, Write};
use entourage_types::{AgentId, Item, Run, Scope, ShownStatus, Status, Step, StepState, Time};
use serde_json::Value;
use tokio::sync::{Mutex as AsyncMutex, OnceCell, OwnedMutexGuard};

use crate::{House, Result, live::Entered};

/// The key of the step that counts.
pub(crate) const KEY: &str = "restart";

/// From so many ends in a row on, runs are taken up one at a time, each until it has got somewhere: the one that is
/// at fault is then alone among them when the process ends.
const ALONE_FROM: u32 = 3;
/// For how long a run waits for that. Then it leaves, and its wake-up brings it back with the next look at those
/// that are due: a place of the dispatcher is for who works.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many agents are read at once.
const AGENTS: u32 = 500;

/// What an earlier process has left, and who takes it up.
#[derive(Default)]
pub(crate) struct Restarts {
    /// The agents that were at work when this process began and were not taken up yet.
    left: OnceCell<Mutex<HashSet<AgentId>>>,
    /// Held by a run that is taken up alone.
    alone: Arc<AsyncMutex<()>>,
}

/// Held by a run that is taken up alone, until it has got somewhere.
pub(crate) type Alone = Option<OwnedMutexGuard<()>>;

/// Whether a run goes on.
pub(crate) enum TakeUp {
    /// It does.
    GoOn(Alone),
    /// Others go first.
    Later,
    /// It has ended its process too often.
    GiveUp(String),
}

impl Restarts {
    /// Whether an earlier process has left the agent at work. True once.
    async fn take(&self, store: &dyn Store, agent: AgentId) -> Result<bool> {
        let left = self.left.get_or_try_init(|| at_work(store)).await?;
        Ok(left.lock().unwrap_or_else(PoisonError::into_inner).remove(&agent))
    }

    fn put_back(&self, agent: AgentId) {
        if let Some(left) = self.left.get() {
            left.lock().unwrap_or_else(PoisonError::into_inner).insert(agent);
        }
    }
}

/// The agents that are on record as at work.
async fn at_work(store: &dyn Store) -> Result<Mutex<HashSet<AgentId>>> {
    let mut left = HashSet::new();
    let mut page = Page { limit: AGENTS, ..Page::default() };
    loop {
        let query =
            AgentQuery { status: Some(ShownStatus::Running), page: page.clone(), ..AgentQuery::default() };
        let agents = store.agents(&Scope::House, query).await?;
        left.extend(agents.iter().map(|agent| agent.id));
        match agents.last() {
            Some(last) if agents.len() == AGENTS as usize => page.after = Some(last.id.to_string()),
            _ => return Ok(Mutex::new(left)),
        }
    }
}

impl House {
    /// Puts on record that the agent's run is taken up again, where the process before this one left it at work.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn take_up(&self, id: AgentId, entered: &Entered) -> Result<TakeUp> {
        let restarts = &self.inner.restarts;
        if !restarts.take(&*self.inner.store, id).await? {
            return Ok(TakeUp::GoOn(None));
        }
        let taken = self.count_restart(id, entered).await;
        // Whatever else became of it, also a store that failed, it is looked at again.
        if !matches!(taken, Ok(TakeUp::GoOn(_))) {
            restarts.put_back(id);
        }
        taken
    }

    async fn count_restart(&self, id: AgentId, entered: &Entered) -> Result<TakeUp> {
        let store = &self.inner.store;
        // Without the transcript.
        let Some(claim) = store.claim(id, u64::MAX).await? else { return Ok(TakeUp::GoOn(None)) };
        let Claim { agent, run: Some(run), steps, .. } = claim else { return Ok(TakeUp::GoOn(None)) };
        if run.status != Status::Running {
            return Ok(TakeUp::GoOn(None));
        }
        let last = ItemQuery::of(id, agent.items.saturating_sub(1), 1);
        let last = store.items(&Scope::House, last).await?;
        let done = done_last(&run, steps.iter(), &last);
        let known = steps.into_iter().find(|step| step.key == KEY);
        let ends = 1 + known.as_ref().filter(|known| known.updated > done).map_or(0, |known| known.attempt);
        let most = self.inner.give_up_after;
        if ends >= most {
            let often = if ends == 1 { "once".to_owned() } else { format!("{ends} times in a row") };
            let cause = "the process ended while this was worked on";
            return Ok(TakeUp::GiveUp(format!("{cause}, {often}, and nothing was done in between")));
        }
        let mut alone = None;
        if ends >= ALONE_FROM.min(most.saturating_sub(1)) {
            alone = tokio::select! {
                biased;
                () = entered.cut().cancelled() => None,
                place = Arc::clone(&self.inner.restarts.alone).lock_owned() => Some(place),
                () = self.clock().sleep_until(self.now() + PATIENCE) => None,
            };
            if alone.is_none() {
                return Ok(TakeUp::Later);
            }
        }
        let at = self.now();
        let step = step_of(&run, known.as_ref().map_or(at, |known| known.started), ends, at);
        store.commit(Commit::fenced(&agent, at).write(Write::Step(step))).await?;
        Ok(TakeUp::GoOn(alone))
    }
}

/// The step that counts.
fn step_of(run: &Run, started: Time, attempt: u32, updated: Time) -> Step {
    Step {
        run: run.id,
        key: KEY.to_owned(),
        state: StepState::Done,
        value: Value::Null,
        attempt,
        used: None,
        started,
        updated,
    }
}

/// When anything of a run was written last, but for what counts its restarts.
fn done_last<'s>(run: &Run, steps: impl Iterator<Item = &'s Step>, items: &[Item]) -> Time {
    let items = items.iter().rev().find(|item| item.run == run.id).map(|item| item.at);
    let steps = steps.filter(|step| step.key != KEY).map(|step| step.updated);
    steps.chain(items).fold(run.started, Time::max)
}

/// What takes back what this process has counted, if nothing was written of the run since.
pub(crate) fn taken_back(
    run: &Run,
    steps: &HashMap<String, Step>,
    items: &[Item],
    now: Time,
) -> Option<Write> {
    let done = done_last(run, steps.values(), items);
    let counted = steps.get(KEY).filter(|counted| counted.updated > done)?;
    Some(Write::Step(step_of(run, counted.started, counted.attempt.saturating_sub(1), now)))
}
