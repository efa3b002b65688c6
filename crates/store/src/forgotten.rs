//! What a commit forgets while its tree lives on, and what the events about it still tell, the same for every store.

use std::collections::{BTreeSet, HashSet};

use entourage_types::{AgentId, EntityKind, EventBody, Parent, Tombstone};

use crate::{Commit, Write};

/// What a commit forgets: what its tombstones stand for, the records of applications that it removes, and all that is
/// removed with these.
#[derive(Debug, Default)]
pub struct Forgotten {
    forgets: bool,
    roots: BTreeSet<AgentId>,
    agents: HashSet<AgentId>,
    records: HashSet<(EntityKind, String)>,
}

impl Forgotten {
    /// What the writes of a commit name. The store adds what it [removes](Self::removed) with that.
    #[must_use]
    pub fn by(commit: &Commit) -> Self {
        let mut forgotten = Self::default();
        for write in &commit.writes {
            if let Some(Tombstone { of, root, .. }) = write.as_record() {
                forgotten.forgets = true;
                match of {
                    Parent::Agent(agent) => {
                        forgotten.roots.insert(root);
                        forgotten.agents.insert(agent);
                    }
                    Parent::Record(kind, id) => forgotten.removed(kind, id, Some(root)),
                }
            }
            // Retention removes the engine's own: whole trees, and records of which no event tells.
            forgotten.forgets |= matches!(write, Write::PruneEntity(kind, _) if !kind.is_reserved());
        }
        forgotten
    }

    /// The roots of the trees whose events may tell of it; none if the commit forgets nothing.
    pub fn roots(&self) -> impl Iterator<Item = AgentId> {
        self.roots.iter().copied()
    }

    /// Adds a record of this tree that the commit removes.
    pub fn removed(&mut self, kind: EntityKind, id: String, root: Option<AgentId>) {
        if self.forgets
            && let Some(root) = root
        {
            self.roots.insert(root);
            self.records.insert((kind, id));
        }
    }

    /// What is left of an event of an agent; none if it stays as it is.
    #[must_use]
    pub fn left_of(&self, agent: AgentId, body: &EventBody) -> Option<EventBody> {
        let is_gone = |(kind, id): (&str, String)| {
            let Ok(kind) = kind.parse();
            self.records.contains(&(kind, id))
        };
        // An item's event says what the item says, which is removed with its agent.
        let is_item = matches!(body, EventBody::Item { .. });
        if is_item || !(self.agents.contains(&agent) || body.record().is_some_and(is_gone)) {
            return None;
        }
        let left = body.clone().without_texts();
        (left != *body).then_some(left)
    }
}
