//! The facts that a store found for the lookups of a commit.

use entourage_types::{Agent, AgentId, EntityKind, Owner, RunId, Time};

use super::Lookup;
use crate::{Commit, Error, Result};

/// The state of an existing record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordState {
    /// Its status.
    pub status: String,
    /// How many times it was written.
    pub version: u64,
    /// Its owner.
    pub owner: Owner,
}

/// Finds what each [`Lookup`] names, inside the transaction that writes.
pub trait Find {
    /// The error of a failed lookup.
    type Error;

    /// [`Lookup::Writer`].
    ///
    /// # Errors
    /// If the store fails, as in all other methods.
    fn writer(&mut self, agent: AgentId) -> Result<Option<Agent>, Self::Error>;
    /// [`Lookup::Exists`].
    fn exists(&mut self, agent: AgentId) -> Result<bool, Self::Error>;
    /// [`Lookup::InPlaceOf`].
    fn in_place_of(&mut self, new: &Agent) -> Result<Option<AgentId>, Self::Error>;
    /// [`Lookup::Run`].
    fn run(&mut self, run: RunId) -> Result<Option<AgentId>, Self::Error>;
    /// [`Lookup::Record`].
    fn record(&mut self, kind: EntityKind, id: &str) -> Result<Option<RecordState>, Self::Error>;
    /// [`Lookup::AgentsOfTree`].
    fn agents_of_tree(&mut self, root: AgentId) -> Result<u32, Self::Error>;
    /// [`Lookup::Children`].
    fn children(&mut self, parent: AgentId) -> Result<u32, Self::Error>;
    /// [`Lookup::Stirs`].
    fn stirs(&mut self, root: AgentId, since: Time) -> Result<bool, Self::Error>;
    /// [`Lookup::Dependents`].
    fn dependents(&mut self, agent: AgentId) -> Result<Vec<AgentId>, Self::Error>;
}

/// What the lookups of a commit found.
#[derive(Debug, Default)]
pub struct Facts {
    /// The fenced agent.
    pub writer: Option<Agent>,
    /// The agents that exist, of those that were looked up.
    pub agents: Vec<AgentId>,
    /// New agents, each with the existing agent that it conflicts with.
    pub taken: Vec<(AgentId, AgentId)>,
    /// The runs that exist, with their agents.
    pub runs: Vec<(RunId, AgentId)>,
    /// The records that exist.
    pub records: Vec<(EntityKind, String, RecordState)>,
    /// Sizes of trees, by their roots.
    pub trees: Vec<(AgentId, u32)>,
    /// Numbers of children, by their parents.
    pub children: Vec<(AgentId, u32)>,
    /// The roots of trees that are not at rest.
    pub stirring: Vec<AgentId>,
    /// Agents, each with the agents that depend on it.
    pub dependents: Vec<(AgentId, Vec<AgentId>)>,
}

impl Facts {
    /// Looks up what a commit depends on.
    ///
    /// # Errors
    /// If the store fails.
    pub fn of<S: Find>(commit: &Commit, store: &mut S) -> Result<Self, S::Error> {
        let mut facts = Self::default();
        for lookup in commit.lookups() {
            match lookup {
                Lookup::Writer(agent) => facts.writer = store.writer(agent)?,
                Lookup::Exists(agent) => facts.agents.extend(store.exists(agent)?.then_some(agent)),
                Lookup::InPlaceOf(new) => {
                    facts.taken.extend(store.in_place_of(new)?.map(|agent| (new.id, agent)));
                }
                Lookup::Run(run) => facts.runs.extend(store.run(run)?.map(|agent| (run, agent))),
                Lookup::Record(kind, id) => {
                    let standing = store.record(kind, id)?;
                    facts.records.extend(standing.map(|standing| (kind, id.to_owned(), standing)));
                }
                Lookup::AgentsOfTree(root) => facts.trees.push((root, store.agents_of_tree(root)?)),
                Lookup::Children(parent) => facts.children.push((parent, store.children(parent)?)),
                Lookup::Stirs(root, since) => {
                    facts.stirring.extend(store.stirs(root, since)?.then_some(root))
                }
                Lookup::Dependents(agent) => facts.dependents.push((agent, store.dependents(agent)?)),
            }
        }
        Ok(facts)
    }

    pub(super) fn record(&self, kind: EntityKind, id: &str) -> Option<&RecordState> {
        let same = |known: &&(EntityKind, String, RecordState)| (known.0, known.1.as_str()) == (kind, id);
        self.records.iter().find(same).map(|(_, _, standing)| standing)
    }

    pub(super) fn run(&self, run: RunId) -> Option<AgentId> {
        self.runs.iter().find(|(known, _)| *known == run).map(|(_, agent)| *agent)
    }

    /// Returns the count that was looked up for `of`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the store did not look it up.
    pub(super) fn count(counts: &[(AgentId, u32)], of: AgentId) -> Result<u32> {
        let found = counts.iter().find(|(known, _)| *known == of).map(|(_, count)| *count);
        found.ok_or_else(|| Error::Corrupt(format!("the store did not look up how many there are of {of}")))
    }
}
