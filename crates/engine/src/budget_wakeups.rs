//! Agents that wait for room in a budget, and how they are woken once it has some: by a grant, or because the kinds or
//! the settings allow more than when they fell asleep.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::atomic::{AtomicBool, Ordering},
};

use entourage_store::{AgentQuery, Commit, Error as StoreError, Write};
use entourage_types::{
    Agent, Allowance, BudgetId, Scope, Shortage, ShownStatus, StepState, WaitingOn, Wakeup,
};

use crate::{Engine, pages::pages};

/// How many agents a commit wakes; the others are woken in further commits.
pub(crate) const WOKEN_AT_ONCE: usize = 1_000;

/// The remaining allowance of each budget during one scan, minus what the agents woken so far need.
#[derive(Default)]
struct Room(HashMap<BudgetId, Allowance>);

/// Serializes the scans of agents that wait for a budget.
#[derive(Default)]
pub(crate) struct Scans {
    alone: tokio::sync::Mutex<()>,
    is_wanted: AtomicBool,
}

impl Scans {
    /// Waits until no other scan is under way; none if one that began after this call has ended by then.
    async fn begin(&self) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        self.is_wanted.store(true, Ordering::SeqCst);
        let alone = self.alone.lock().await;
        self.is_wanted.swap(false, Ordering::SeqCst).then_some(alone)
    }
}

impl Engine {
    /// What the next model call of an agent lacks, in whichever budgets it waits for.
    pub(crate) async fn shortages_of(&self, agent: &Agent) -> Result<Vec<Shortage>, StoreError> {
        let last = self.last_run(agent).await?;
        let Some(run) = last.filter(|run| !run.status.is_terminal()) else { return Ok(Vec::new()) };
        let steps = self.store().steps(&Scope::from(&agent.owner), run.id).await?;
        let lacking = steps.into_iter().filter_map(|step| match step.state {
            StepState::Retry(retry) => retry.shortage,
            _ => None,
        });
        Ok(lacking.collect())
    }

    /// Wakes these agents in one commit. An agent that was forgotten meanwhile is left out, and the others are woken.
    pub(crate) async fn wake_at_once(&self, mut agents: Vec<Agent>) -> Result<(), StoreError> {
        while !agents.is_empty() {
            let now = self.now();
            let wakeups = agents.iter().map(|agent| Wakeup::new(agent.id, agent.owner.clone(), now));
            let writes = wakeups.map(Write::ScheduleWakeup).collect();
            match self.commit(Commit { writes, ..Commit::new(now) }).await {
                Err(StoreError::NoAgent { agent: gone }) => agents.retain(|agent| agent.id != gone),
                done => return done.map(drop),
            }
        }
        Ok(())
    }

    /// Wakes agents that wait for a budget which has room for them now, after the kinds or the settings may have raised
    /// it: as many as fit, the oldest first. Every waiting agent also checks by itself within 15 minutes, so nothing is
    /// lost if this fails, or ends early because the engine is [stopping](Engine::stopping).
    ///
    /// Returns once all waiting agents were checked. Concurrent calls share a scan.
    pub async fn wake_where_room(&self) {
        let Some(_alone) = self.inner.budget_scans.begin().await else { return };
        if let Err(error) = self.wake_those_with_room().await {
            tracing::warn!(%error, "could not check the agents that wait for a budget; they check again themselves");
        }
    }

    async fn wake_those_with_room(&self) -> Result<(), StoreError> {
        self.inner.versions.look_for_budgets(&**self.store()).await?;
        if !self.has_budgets() {
            return Ok(());
        }
        // A paused agent checks again once it is resumed.
        let (status, waiting_on) = (Some(ShownStatus::Waiting), Some(WaitingOn::Retry));
        let waiting = AgentQuery { status, waiting_on, ..AgentQuery::default() };
        let mut waiting = pages(&**self.store(), &Scope::All, waiting);
        let (mut room, mut with_room) = (Room::default(), Vec::new());
        while !self.stopping().is_cancelled()
            && let Some(page) = waiting.next().await?
        {
            for agent in page {
                match self.finds_room(&agent, &mut room).await {
                    Ok(true) => with_room.push(agent),
                    Ok(false) => {}
                    Err(error) => tracing::warn!(
                        agent = %agent.id, %error, "cannot read the budget that this agent waits for; it checks again itself"
                    ),
                }
                if with_room.len() == WOKEN_AT_ONCE {
                    self.wake_at_once(std::mem::take(&mut with_room)).await?;
                }
            }
        }
        self.wake_at_once(with_room).await
    }

    /// Whether an agent waits for a budget that has room for what it needs, and takes that room if so.
    async fn finds_room(&self, agent: &Agent, room: &mut Room) -> Result<bool, StoreError> {
        for shortage in self.shortages_of(agent).await? {
            let left = match room.0.entry(shortage.budget.clone()) {
                Entry::Occupied(met) => met.into_mut(),
                Entry::Vacant(new) => new.insert(self.left_of(agent, &shortage.budget).await?),
            };
            if left.take(shortage.needed()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, atomic::AtomicUsize},
        time::Duration,
    };

    use entourage_llm::ScriptedModel;
    use entourage_store::{Layered, MemoryStore, RecordFilter, StoreLayer};
    use entourage_types::{JobRun, Owner, Time};

    use super::*;

    #[tokio::test]
    async fn an_agent_that_was_forgotten_meanwhile_keeps_no_other_from_being_woken() {
        let engine =
            Engine::builder(Arc::new(MemoryStore::default()), Arc::new(ScriptedModel::new([]))).build();
        let agents = [(); 4].map(|()| Agent::root(Owner::local(), "assistant", "", engine.now()));
        let kept = [1, 3].map(|nth: usize| agents[nth].clone());
        let made = kept.clone().map(Write::NewAgent).to_vec();
        engine.commit(Commit { writes: made, ..Commit::new(engine.now()) }).await.unwrap();
        engine.wake_at_once(agents.to_vec()).await.unwrap();
        let woken = engine.store().due(Time::LAST, None, 10).await.unwrap();
        let mut woken: Vec<_> = woken.into_iter().map(|wakeup| wakeup.agent).collect();
        woken.sort();
        assert_eq!(woken, kept.map(|agent| agent.id));
    }

    /// Counts what reaches the store.
    #[derive(Clone, Default)]
    struct Counts(Arc<AtomicUsize>);

    #[async_trait::async_trait]
    impl StoreLayer for Counts {
        async fn pass(&self) -> Result<(), StoreError> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    }

    /// Beside the versions of kinds, which are read once.
    #[tokio::test]
    async fn without_any_budget_nothing_is_read_of_those_that_wait() {
        let reads = Counts::default();
        let store = Layered::new(Arc::new(MemoryStore::default()), reads.clone());
        let engine = Engine::builder(Arc::new(store), Arc::new(ScriptedModel::new([]))).build();
        engine.wake_where_room().await;
        let before = reads.0.load(Ordering::SeqCst);
        engine.wake_where_room().await;
        assert_eq!(reads.0.load(Ordering::SeqCst), before);
    }

    #[tokio::test]
    async fn looks_that_are_wanted_during_one_share_the_next() {
        let scans = Scans::default();
        let first = scans.begin().await.unwrap();
        let one = async { scans.begin().await.is_some() };
        let other = async { scans.begin().await.is_some() };
        let (one, other, ()) = tokio::join!(one, other, async { drop(first) });
        assert!(one && !other, "the second finds it done");
        assert!(scans.begin().await.is_some(), "it is wanted anew");
    }

    #[tokio::test]
    async fn no_job_of_maintenance_waits_for_a_look() {
        let engine =
            Engine::builder(Arc::new(MemoryStore::default()), Arc::new(ScriptedModel::new([]))).build();
        let _scan = engine.inner.budget_scans.begin().await;
        let on_record = async {
            let jobs = RecordFilter::<JobRun>::default;
            while engine.store().records(&Scope::All, jobs()).await.unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        let begun = async {
            tokio::select! {
                () = engine.keep_up() => false,
                () = on_record => true,
            }
        };
        assert_eq!(tokio::time::timeout(Duration::from_secs(60), begun).await, Ok(true));
    }
}
