//! Whether all that always holds did hold: reads a whole store, and what a [`Witness`] saw, and
//! returns what is not so. It shares no code with the engine, and can be asked of any store at any
//! moment at which nothing is under way.

mod effects;
mod fences;
mod owners;
mod posts;
mod statuses;
mod transcripts;
mod trees;
mod usage;
mod waits;
mod whole;

use std::fmt;

use entourage_store::{Result, Store};
use entourage_types::AgentId;

use crate::Witness;
use whole::Whole;

pub use transcripts::well_formed;

/// What always holds, by the numbers of `docs/spec/invariants.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Invariant {
    /// 1: every call has one output, in order, before the next turn.
    Transcript = 1,
    /// 2: one activation of an agent commits, the last one to claim it.
    OneWriter = 2,
    /// 3: no message is lost or handled twice.
    Messages = 3,
    /// 4: an open run has a wake-up or an open wait.
    NothingStuck = 4,
    /// 5: nobody outlives a deleted parent, and no effect starts after a deletion.
    Deletion = 5,
    /// 6: a parent sees its children's results, and nobody else's.
    Results = 6,
    /// 7: what has ended stays as it ended.
    Ended = 7,
    /// 8: usage adds up.
    Usage = 8,
    /// 9: owners are apart.
    Owners = 9,
    /// 10: no effect happens twice unasked.
    Effects = 10,
}

/// Something that is not as it always must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// What does not hold.
    pub invariant: Invariant,
    /// Whose, where it is an agent's.
    pub agent: Option<AgentId>,
    /// What is wrong, with the item, call or row that it is about.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "INV-{:02} ", self.invariant as u8)?;
        if let Some(agent) = self.agent {
            write!(f, "{agent}: ")?;
        }
        f.write_str(&self.what)
    }
}

/// Violations as they are found.
#[derive(Default)]
struct Found(Vec<Violation>);

impl Found {
    fn add(&mut self, invariant: Invariant, agent: impl Into<Option<AgentId>>, what: impl Into<String>) {
        self.0.push(Violation { invariant, agent: agent.into(), what: what.into() });
    }

    /// Adds one when something does not hold.
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

/// What is not so in the store, on its own and against what a witness saw from the beginning.
/// Nothing may be under way meanwhile.
///
/// # Errors
/// When the store cannot be read.
pub async fn audit(store: &dyn Store, witness: Option<&Witness>) -> Result<Vec<Violation>> {
    // The store and the facts are compared at one moment.
    let _still = match witness {
        Some(witness) => Some(witness.still().await),
        None => None,
    };
    let whole = Whole::read(store).await?;
    let mut found = Found::default();
    transcripts::check(&whole, &mut found);
    waits::check(&whole, &mut found);
    trees::check(&whole, &mut found);
    statuses::check(&whole, &mut found);
    usage::check(&whole, &mut found);
    owners::check(&whole, &mut found);
    if let Some(witness) = witness {
        let facts = witness.facts();
        fences::check(&facts, &mut found);
        statuses::tasks(&facts, &mut found);
        posts::check(&whole, &facts, &mut found);
        effects::check(&whole, &facts, &mut found);
        owners::check_shown(&facts, &mut found);
    }
    Ok(found.0)
}
