//! Verifies the invariants: reads a whole store, and what a [`Witness`] has recorded, and returns the
//! violations. It shares no code with the engine, and accepts any store at any moment at which
//! nothing is under way.

mod branches;
mod budgets;
mod decisions;
mod effects;
mod fences;
mod forgotten;
mod joins;
mod owners;
mod posts;
mod records;
mod requests;
mod schedules;
mod snapshot;
mod statuses;
mod transcripts;
mod trees;
mod usage;
mod waits;

use std::fmt;

use entourage_store::{Result, Store};
use entourage_types::AgentId;

use crate::Witness;
use forgotten::Counts;
use records::{Versions, Writes};
use snapshot::Snapshot;

pub(crate) use transcripts::well_formed;

/// The invariants, by the numbers of `docs/spec/invariants.md`.
#[derive(Clone, Copy)]
enum Invariant {
    /// 1: every call has one output, in order, before the next turn, and every decision one item.
    Transcript = 1,
    /// 2: only the activation that claimed an agent last commits for it, and a record counts its writes.
    OneWriter = 2,
    /// 3: no message is lost or handled twice, and a result that is joined is read then and once.
    Messages = 3,
    /// 4: an open run has a wake-up or an open wait, and an active schedule the wake-up of its next time.
    NothingStuck = 4,
    /// 5: no agent outlives a deleted parent, no effect starts after a deletion, and what is forgotten leaves a
    /// tombstone and nothing else.
    Deletion = 5,
    /// 6: a parent reads its children's results, and no other agent's.
    Results = 6,
    /// 7: what has ended stays as it ended, and is not counted with the living.
    Ended = 7,
    /// 8: usage adds up, and nothing is reserved beyond a budget.
    Usage = 8,
    /// 9: owners are isolated from each other.
    Owners = 9,
    /// 10: no unsafe effect happens twice unless a person asked for that.
    Effects = 10,
    /// None of these, but a rule of this program's own: what a model received can be rebuilt.
    Requests = 0,
}

/// A violated invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The number of the invariant in `docs/spec/invariants.md`; 0 if what a model received cannot be
    /// rebuilt.
    pub invariant: u8,
    /// The agent that violates it, if it is an agent.
    pub agent: Option<AgentId>,
    /// What is wrong, naming the item, call or row.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "INV-{:02} ", self.invariant)?;
        if let Some(agent) = self.agent {
            write!(f, "{agent}: ")?;
        }
        f.write_str(&self.what)
    }
}

/// The violations found so far.
#[derive(Default)]
struct Found(Vec<Violation>);

impl Found {
    fn add(&mut self, invariant: Invariant, agent: impl Into<Option<AgentId>>, what: impl Into<String>) {
        self.0.push(Violation { invariant: invariant as u8, agent: agent.into(), what: what.into() });
    }

    /// Adds a violation if a condition does not hold.
    fn must(
        &mut self,
        holds: bool,
        invariant: Invariant,
        agent: impl Into<Option<AgentId>>,
        what: impl FnOnce() -> String,
    ) {
        if !holds {
            self.add(invariant, agent, what());
        }
    }
}

/// Returns the violations in the store, on its own and compared with what a witness has recorded
/// from the beginning. Nothing may be under way meanwhile.
///
/// # Errors
/// If the store cannot be read.
pub async fn audit(store: &dyn Store, witness: Option<&Witness>) -> Result<Vec<Violation>> {
    let counts = Counts::read(store).await?;
    // The store and the facts are compared at one moment.
    let _still = match witness {
        Some(witness) => Some(witness.still().await),
        None => None,
    };
    let whole = Snapshot::read(store).await?;
    let facts = witness.map(Witness::facts).unwrap_or_default();
    let writes = Writes::of(&facts);
    let versions = Versions::read(store, &writes).await?;
    let of_days = budgets::of_days(store, &facts).await?;
    let mut found = Found::default();
    transcripts::check(&whole, &mut found);
    waits::check(&whole, &mut found);
    schedules::check(&whole, &mut found);
    trees::check(&whole, &mut found);
    statuses::check(&whole, &mut found);
    usage::check(&whole, &mut found);
    branches::check(&whole, &mut found);
    owners::check(&whole, &mut found);
    forgotten::check(&whole, &mut found);
    counts.check(&whole, &mut found);
    requests::check(&whole, &mut found);
    decisions::check(&whole, &mut found);
    joins::check(&whole, &mut found);
    if witness.is_some() {
        requests::facts(&facts, &mut found);
        joins::facts(&facts, &mut found);
        versions.check(&writes, &mut found);
        budgets::check(&whole, &of_days, &facts, &mut found);
        fences::check(&facts, &mut found);
        statuses::tasks(&facts, &mut found);
        posts::check(&whole, &facts, &mut found);
        effects::check(&whole, &facts, &mut found);
        owners::check_shown(&facts, &mut found);
    }
    Ok(found.0)
}

/// Returns the active schedules without the wake-up of their next time, at a moment at which other work may be left.
///
/// # Errors
/// If the store cannot be read.
pub async fn audit_schedules(store: &dyn Store, witness: &Witness) -> Result<Vec<Violation>> {
    let _still = witness.still().await;
    let mut found = Found::default();
    schedules::check(&Snapshot::read(store).await?, &mut found);
    Ok(found.0)
}
