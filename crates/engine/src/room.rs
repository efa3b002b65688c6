//! Agents that wait for room in a budget, and how they are woken once it has some: by a grant, or because the kinds or
//! the settings allow more than when they fell asleep.

use entourage_store::{AgentQuery, Commit, Error as StoreError, Write};
use entourage_types::{Agent, Scope, Shortage, ShownStatus, StepState, WaitingOn, Wakeup};

use crate::{Engine, pages::pages};

/// How many agents a commit wakes; the others are woken in further commits.
pub(crate) const WOKEN_AT_ONCE: usize = 1_000;

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

    /// Wakes these agents in one commit. Whoever was forgotten meanwhile keeps no other from being woken.
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

    /// Has all agents go on that wait for a budget which has room for them, after the kinds or the settings may have
    /// come to allow more; those without room are left alone. Otherwise each looks again by itself, within minutes:
    /// nothing is lost if this fails.
    pub(crate) async fn wake_where_room(&self) {
        if let Err(error) = self.wake_those_with_room().await {
            tracing::warn!(%error, "the agents that wait for their budgets were not looked at; they look again later");
        }
    }

    async fn wake_those_with_room(&self) -> Result<(), StoreError> {
        // One that is paused looks again once it is resumed.
        let (status, waiting_on) = (Some(ShownStatus::Waiting), Some(WaitingOn::Retry));
        let waiting = AgentQuery { status, waiting_on, ..AgentQuery::default() };
        let mut waiting = pages(&**self.store(), &Scope::All, waiting);
        let mut with_room = Vec::new();
        while let Some(page) = waiting.next().await? {
            for agent in page {
                if self.has_room_again(&agent).await? {
                    with_room.push(agent);
                }
                if with_room.len() == WOKEN_AT_ONCE {
                    self.wake_at_once(std::mem::take(&mut with_room)).await?;
                }
            }
        }
        self.wake_at_once(with_room).await
    }

    /// Whether an agent waits for a budget that has room for what it needs.
    async fn has_room_again(&self, agent: &Agent) -> Result<bool, StoreError> {
        for shortage in self.shortages_of(agent).await? {
            if self.still_short(agent, &shortage).await?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use entourage_llm::ScriptedModel;
    use entourage_store::MemoryStore;
    use entourage_types::{Owner, Time};

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
}
