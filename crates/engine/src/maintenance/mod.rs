//! Maintenance, so that nothing stays stuck in an engine: jobs that look for inconsistencies, each with the
//! commit that repairs it.
//!
//! The engine itself does not cause inconsistencies: they come from a database that was edited, restored from
//! a copy or written by a faulty version. One file per sort of inconsistency. [`Engine::keep_up`] runs the
//! jobs while the engine is at work; `entourage doctor` checks a database that no process works on.

mod interventions;
mod janitor;
mod questions;
mod stranded;
mod tasks;
mod waits;
mod wakeups;

use async_trait::async_trait;
use entourage_store::{AgentQuery, Commit, Error as StoreError, RecordFilter, RunQuery, Write};
use entourage_types::{Agent, AgentId, Owner, Record, Run, Scope, Time, Wakeup};

use crate::{
    Engine, Result,
    pages::{PagedQuery, pages},
};

/// Finds one sort of inconsistency.
#[async_trait]
pub trait Job: Send + Sync {
    /// Its name, by which people refer to it.
    fn name(&self) -> &'static str;

    /// What it looks for, in a few words.
    fn purpose(&self) -> &'static str;

    /// All inconsistencies at this moment. Agents may be at work meanwhile, so what a first read suspects is
    /// read again before it is reported.
    ///
    /// # Errors
    /// When the store fails.
    async fn find(&self, engine: &Engine) -> Result<Vec<Inconsistency>>;
}

/// A state that should not exist, and its repair.
#[derive(Debug, Clone)]
pub struct Inconsistency {
    /// The agent that it keeps from going on.
    pub agent: AgentId,
    /// What is wrong and what is done about it, in a sentence.
    pub text: String,
    /// The commit that repairs it. If the inconsistency is gone meanwhile, the store refuses the commit, or
    /// it is harmless.
    pub repair: Commit,
}

impl Inconsistency {
    /// An inconsistency that a wake-up repairs: its agent checks for itself.
    fn poke(engine: &Engine, agent: AgentId, owner: &Owner, text: impl Into<String>) -> Self {
        let now = engine.now();
        Self { agent, text: text.into(), repair: Commit::new(now).write(wake(agent, owner, now)) }
    }
}

/// All jobs, in the order in which they run: what one repairs, the next need not find.
#[must_use]
pub fn jobs() -> Vec<Box<dyn Job>> {
    vec![
        Box::new(wakeups::Wakeups),
        Box::new(interventions::Interventions),
        Box::new(questions::Questions),
        Box::new(tasks::Tasks),
        Box::new(waits::Waits),
        Box::new(stranded::Stranded),
    ]
}

impl Engine {
    /// Repairs one inconsistency. Returns false if it is gone meanwhile.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn repair(&self, inconsistency: Inconsistency) -> Result<bool> {
        let mut repair = inconsistency.repair;
        for write in &mut repair.writes {
            let Write::Record(left, event) = write else { continue };
            let Some(root) = left.root else { continue };
            if agent(self, root).await?.is_none() {
                // A tree without its root has no subscribers: what is left of it is repaired without an
                // event.
                *event = None;
            }
        }
        match self.commit(repair).await {
            Ok(_) => Ok(true),
            Err(
                StoreError::NotInStatus { .. } | StoreError::OtherVersion { .. } | StoreError::NoAgent { .. },
            ) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn wake(agent: AgentId, owner: &Owner, due: Time) -> Write {
    Write::ScheduleWakeup(Wakeup::new(agent, owner.clone(), due))
}

// Agents sleep by the hundred thousand: rows are read page by page, and of those that are no suspects only
// ids are kept.

/// Calls `show` with every row that a query selects.
async fn each<L: PagedQuery>(engine: &Engine, list: L, mut show: impl FnMut(L::Row) + Send) -> Result<()> {
    let mut pages = pages(&**engine.store(), &Scope::All, list);
    while let Some(page) = pages.next().await? {
        page.into_iter().for_each(&mut show);
    }
    Ok(())
}

/// Calls `show` with every open run.
async fn each_open_run(engine: &Engine, show: impl FnMut(Run) + Send) -> Result<()> {
    each(engine, RunQuery { open: true, ..RunQuery::default() }, show).await
}

/// Calls `show` with every record of a type that has this status.
async fn each_record<R: Record>(
    engine: &Engine,
    status: R::Status,
    show: impl FnMut(R) + Send,
) -> Result<()> {
    each(engine, RecordFilter::<R>::in_status(status), show).await
}

/// The current state of one record.
async fn record<R: Record>(engine: &Engine, id: impl ToString) -> Result<Option<R>> {
    Ok(engine.store().record(&Scope::All, id).await?)
}

/// The current state of one agent.
async fn agent(engine: &Engine, id: AgentId) -> Result<Option<Agent>> {
    Ok(engine.store().agent(&Scope::All, id).await?)
}

/// Whether nothing will wake an agent, read again.
async fn is_unwoken(engine: &Engine, agent: &Agent) -> Result<bool> {
    let mut found = false;
    let query = AgentQuery { root: Some(agent.root), unwoken: true, ..AgentQuery::default() };
    each(engine, query, |other| found |= other.id == agent.id).await?;
    Ok(found)
}

/// The open run of an agent, read again.
async fn open_run(engine: &Engine, agent: AgentId) -> Result<Option<Run>> {
    let query = RunQuery { agent: Some(agent), open: true, ..RunQuery::default() };
    Ok(engine.store().runs(&Scope::All, query).await?.into_iter().next_back())
}
