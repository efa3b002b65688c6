//! What the judgement of a commit depends on: read in one round trip before it, by what the commit says. What the judge
//! asks beyond that is read then, and the commit is judged again.

use std::collections::{HashMap, HashSet};

use entourage_store::{
    InboxSize,
    judge::{Facts, Lookup, RecordState},
};
use entourage_types::{Agent, AgentId, Amount, Budget, BudgetId, EntityKind, Owner, RunId, Time};
use tokio_postgres::Row;

use crate::{
    agents,
    budgets::Budgets,
    entities::{self, StoredRecord},
    fault::{Missing, Result},
    questions::{Part, Questions},
    rows::{get, id, small},
    runs::{self, StoredRun},
};

/// An agent, and whether it has something to read or is woken.
#[derive(Debug, Clone)]
pub(crate) struct StoredAgent {
    pub(crate) agent: Agent,
    has_posts: bool,
    has_wakeups: bool,
}

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Known {
    agents: HashMap<AgentId, Option<StoredAgent>>,
    runs: HashMap<RunId, Option<StoredRun>>,
    records: HashMap<(EntityKind, String), Option<StoredRecord>>,
    /// The budgets that were read, and the agents whose reservations were.
    named: HashSet<BudgetId>,
    holders: HashSet<AgentId>,
    pub(crate) budgets: Budgets,
    agents_found: HashMap<Lookup, Vec<AgentId>>,
    texts: HashMap<Lookup, Option<String>>,
    counts: HashMap<Lookup, u32>,
    sizes: HashMap<Lookup, InboxSize>,
}

impl Known {
    /// Takes what the statements of these questions have found.
    pub(crate) fn learn(&mut self, questions: Questions, found: &[Vec<Row>]) -> Result<()> {
        let mut budgets: &[Row] = &[];
        for (part, rows) in questions.parts.into_iter().zip(found) {
            match part {
                Part::Agents(ids) => {
                    self.agents.extend(ids.into_iter().map(|id| (id, None)));
                    for row in rows {
                        let (has_posts, has_wakeups) =
                            (get(row, agents::WIDTH)?, get(row, agents::WIDTH + 1)?);
                        let stored = StoredAgent { agent: agents::read(row)?, has_posts, has_wakeups };
                        self.agents.insert(stored.agent.id, Some(stored));
                    }
                }
                Part::Runs(ids) => {
                    self.runs.extend(ids.into_iter().map(|id| (id, None)));
                    for row in rows {
                        let (id, stored) = runs::read_before(row)?;
                        self.runs.insert(id, Some(stored));
                    }
                }
                Part::Records(records) => {
                    self.records.extend(records.into_iter().map(|record| (record, None)));
                    for row in rows {
                        let (record, state) = entities::read_state(row)?;
                        self.records.insert(record, Some(state));
                    }
                }
                Part::Budgets(named, holders) => {
                    self.named.extend(named);
                    self.holders.extend(holders);
                    budgets = rows;
                }
                Part::Held => self.budgets.add(budgets, rows)?,
                Part::One(lookup) => self.learn_one(lookup, rows)?,
            }
        }
        Ok(())
    }

    fn learn_one(&mut self, lookup: Lookup, rows: &[Row]) -> Result<()> {
        match lookup {
            Lookup::HolderOfName(..) => {
                let holder = rows.first().map(|row| get(row, 0)).transpose()?;
                self.texts.insert(lookup, holder);
            }
            Lookup::LivingInTree(_) | Lookup::LivingChildren(_) | Lookup::CreatedSince(..) => {
                let count = rows.first().map(|row| small(row, 0)).transpose()?;
                self.counts.insert(lookup, count.unwrap_or_default());
            }
            Lookup::InboxSize(..) => {
                let read = |row: &Row| Ok(InboxSize { posts: small(row, 0)?, bytes: small(row, 1)? });
                let size: Result<Option<InboxSize>> = rows.first().map(read).transpose();
                self.sizes.insert(lookup, size?.unwrap_or_default());
            }
            _ => {
                let ids =
                    rows.iter().map(|row| id(row, 0, AgentId::from_uuid)).collect::<Result<Vec<_>>>()?;
                self.agents_found.insert(lookup, ids);
            }
        }
        Ok(())
    }

    /// The agents that were found.
    pub(crate) fn agents(&self) -> impl Iterator<Item = &Agent> {
        self.agents.values().flatten().map(|stored| &stored.agent)
    }

    /// An agent that was found.
    pub(crate) fn stored_agent(&self, id: AgentId) -> Option<&Agent> {
        self.agents.get(&id)?.as_ref().map(|stored| &stored.agent)
    }

    /// What is stored of a run.
    pub(crate) fn run(&self, id: RunId) -> Option<&StoredRun> {
        self.runs.get(&id)?.as_ref()
    }

    /// The state of a stored record.
    pub(crate) fn record(&self, kind: EntityKind, id: &str) -> Option<&StoredRecord> {
        self.records.get(&(kind, id.to_owned()))?.as_ref()
    }

    /// Records that a record was removed.
    pub(crate) fn forget_record(&mut self, kind: EntityKind, id: &str) {
        self.records.insert((kind, id.to_owned()), None);
    }

    fn list(&self, lookup: Lookup) -> std::result::Result<&[AgentId], Missing> {
        self.agents_found.get(&lookup).map(Vec::as_slice).ok_or(Missing(lookup))
    }

    fn count(&self, lookup: Lookup) -> std::result::Result<u32, Missing> {
        self.counts.get(&lookup).copied().ok_or(Missing(lookup))
    }

    fn known_agent(
        &self,
        id: AgentId,
        lookup: impl FnOnce(AgentId) -> Lookup,
    ) -> std::result::Result<Option<&StoredAgent>, Missing> {
        self.agents.get(&id).map(Option::as_ref).ok_or_else(|| Missing(lookup(id)))
    }
}

/// What the judge gets, in the terms of its own crate.
type Answer<T> = entourage_store::Result<T, Missing>;

impl Facts for &Known {
    type Error = Missing;

    fn agent(&mut self, id: AgentId) -> Answer<Option<Agent>> {
        Ok(self.known_agent(id, Lookup::Agent)?.map(|stored| stored.agent.clone()))
    }

    fn agent_exists(&mut self, id: AgentId) -> Answer<bool> {
        Ok(self.known_agent(id, Lookup::AgentExists)?.is_some())
    }

    fn conflicting_agent(&mut self, new: &Agent) -> Answer<Option<AgentId>> {
        Ok(self.list(Lookup::conflicting_agent(new))?.first().copied())
    }

    fn agent_of_run(&mut self, run: RunId) -> Answer<Option<AgentId>> {
        match self.runs.get(&run) {
            Some(found) => Ok(found.as_ref().map(|stored| stored.agent)),
            None => Err(Missing(Lookup::AgentOfRun(run))),
        }
    }

    fn record_state(&mut self, kind: EntityKind, id: &str) -> Answer<Option<RecordState>> {
        let key = (kind, id.to_owned());
        let Some(found) = self.records.get(&key) else {
            return Err(Missing(Lookup::RecordState(kind, key.1)));
        };
        let state = |stored: &StoredRecord| RecordState {
            status: stored.status.clone(),
            version: stored.version,
            owner: stored.owner.clone(),
        };
        Ok(found.as_ref().map(state))
    }

    fn holder_of_name(&mut self, kind: EntityKind, owner: &Owner, name: &str) -> Answer<Option<String>> {
        let lookup = Lookup::HolderOfName(kind, owner.clone(), name.to_owned());
        self.texts.get(&lookup).cloned().ok_or(Missing(lookup))
    }

    fn is_living(&mut self, id: AgentId) -> Answer<bool> {
        let lives = |stored: &StoredAgent| !stored.agent.status.is_terminal() || stored.has_posts;
        Ok(self.known_agent(id, Lookup::IsLiving)?.is_some_and(lives))
    }

    fn count_living_in_tree(&mut self, root: AgentId) -> Answer<u32> {
        self.count(Lookup::LivingInTree(root))
    }

    fn count_living_children(&mut self, parent: AgentId) -> Answer<u32> {
        self.count(Lookup::LivingChildren(parent))
    }

    fn count_created(&mut self, root: AgentId, since: Time) -> Answer<u32> {
        self.count(Lookup::CreatedSince(root, since))
    }

    fn has_undeleted_child(&mut self, parent: AgentId) -> Answer<bool> {
        Ok(!self.list(Lookup::UndeletedChild(parent))?.is_empty())
    }

    fn has_posts_or_wakeups(&mut self, agent: AgentId) -> Answer<bool> {
        let found = self.known_agent(agent, Lookup::PostsOrWakeups)?;
        Ok(found.is_some_and(|stored| stored.has_posts || stored.has_wakeups))
    }

    fn inbox_size(&mut self, agent: AgentId, most: u32) -> Answer<InboxSize> {
        let lookup = Lookup::InboxSize(agent, most);
        self.sizes.get(&lookup).copied().ok_or(Missing(lookup))
    }

    fn last_created(&mut self, root: AgentId) -> Answer<Option<AgentId>> {
        Ok(self.list(Lookup::LastCreated(root))?.first().copied())
    }

    fn is_active_since(&mut self, root: AgentId, since: Time) -> Answer<bool> {
        Ok(!self.list(Lookup::ActiveSince(root, since))?.is_empty())
    }

    fn budget(&mut self, id: &BudgetId) -> Answer<Option<Budget>> {
        if !self.named.contains(id) {
            return Err(Missing(Lookup::Budget(id.clone())));
        }
        Ok(self.budgets.get(id).cloned())
    }

    fn reservation(&mut self, id: &BudgetId, agent: AgentId) -> Answer<Option<Amount>> {
        if !self.holders.contains(&agent) {
            return Err(Missing(Lookup::Reservation(id.clone(), agent)));
        }
        Ok(self.budgets.reservation(id, agent))
    }

    fn dependents(&mut self, agent: AgentId) -> Answer<Vec<AgentId>> {
        Ok(self.list(Lookup::Dependents(agent))?.to_vec())
    }
}
