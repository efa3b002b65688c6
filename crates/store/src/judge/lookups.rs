//! What the judgement of a commit asks of the rows, said before it begins: for a store that reads all of it in one round
//! trip to a server, instead of one by one.

use entourage_types::{Agent, AgentId, AgentKey, BudgetId, EntityKind, Owner, Parent, RunId, Time};

use crate::{BudgetChange, Commit, Expect, Write};

/// One question to the rows: a method of [`Facts`](super::Facts) with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Lookup {
    /// [`agent`](super::Facts::agent).
    Agent(AgentId),
    /// [`agent_exists`](super::Facts::agent_exists).
    AgentExists(AgentId),
    /// [`conflicting_agent`](super::Facts::conflicting_agent).
    ConflictingAgent {
        /// The id of the new agent.
        id: AgentId,
        /// Its tree.
        root: AgentId,
        /// Its key.
        key: Option<AgentKey>,
    },
    /// [`agent_of_run`](super::Facts::agent_of_run).
    AgentOfRun(RunId),
    /// [`record_state`](super::Facts::record_state).
    RecordState(EntityKind, String),
    /// [`holder_of_name`](super::Facts::holder_of_name).
    HolderOfName(EntityKind, Owner, String),
    /// [`is_living`](super::Facts::is_living).
    IsLiving(AgentId),
    /// [`count_living_in_tree`](super::Facts::count_living_in_tree).
    LivingInTree(AgentId),
    /// [`count_living_children`](super::Facts::count_living_children).
    LivingChildren(AgentId),
    /// [`count_created`](super::Facts::count_created).
    CreatedSince(AgentId, Time),
    /// [`has_undeleted_child`](super::Facts::has_undeleted_child).
    UndeletedChild(AgentId),
    /// [`has_posts_or_wakeups`](super::Facts::has_posts_or_wakeups).
    PostsOrWakeups(AgentId),
    /// [`inbox_size`](super::Facts::inbox_size).
    InboxSize(AgentId, u32),
    /// [`last_created`](super::Facts::last_created).
    LastCreated(AgentId),
    /// [`is_active_since`](super::Facts::is_active_since).
    ActiveSince(AgentId, Time),
    /// [`budget`](super::Facts::budget).
    Budget(BudgetId),
    /// [`reservation`](super::Facts::reservation).
    Reservation(BudgetId, AgentId),
    /// [`dependents`](super::Facts::dependents).
    Dependents(AgentId),
}

impl Lookup {
    /// Whether a new agent conflicts with an existing one.
    #[must_use]
    pub fn conflicting_agent(new: &Agent) -> Self {
        Self::ConflictingAgent { id: new.id, root: new.root, key: new.key.clone() }
    }
}

impl Commit {
    /// What the judgement of this commit will ask, as far as the commit itself says it. Some of it may not be asked, as
    /// when an earlier expectation fails; and a store must be able to answer what is not in this list.
    #[must_use]
    pub fn lookups(&self) -> Vec<Lookup> {
        let mut found: Vec<Lookup> = self.fence.iter().map(|fence| Lookup::Agent(fence.agent)).collect();
        for expected in &self.expect {
            self.expected(expected, &mut found);
        }
        for write in &self.writes {
            self.written(write, &mut found);
        }
        found
    }

    fn expected(&self, expected: &Expect, found: &mut Vec<Lookup>) {
        match expected {
            Expect::Agent(agent) => found.push(Lookup::AgentExists(*agent)),
            Expect::Absent(kind, id) | Expect::Status(kind, id, _) | Expect::Version(kind, id, _) => {
                found.push(Lookup::RecordState(*kind, id.clone()));
            }
            Expect::TreeBelow(root, _) => {
                found.push(Lookup::LivingInTree(*root));
                self.receivers(found);
            }
            Expect::ChildrenBelow(parent, _) => {
                found.push(Lookup::LivingChildren(*parent));
                self.receivers(found);
            }
            Expect::CreatedBelow(root, _, since) => found.push(Lookup::CreatedSince(*root, *since)),
            Expect::NotDeleted(agent) => found.push(Lookup::Agent(*agent)),
            Expect::ChildrenDeleted(parent) => found.push(Lookup::UndeletedChild(*parent)),
            Expect::Ended(agent) => {
                found.extend([Lookup::Agent(*agent), Lookup::PostsOrWakeups(*agent)]);
            }
            Expect::Living(agent) => found.extend([Lookup::Agent(*agent), Lookup::IsLiving(*agent)]),
            Expect::InboxBelow(agent, limit) => found.push(Lookup::InboxSize(*agent, limit.posts)),
            Expect::LastCreated { root, .. } => found.push(Lookup::LastCreated(*root)),
            Expect::AtRest(root, since) => found.push(Lookup::ActiveSince(*root, *since)),
            Expect::Affords(id, ..) | Expect::Lacks(id, ..) => {
                found.push(Lookup::Budget(id.clone()));
                found.extend(self.fence.map(|fence| Lookup::Reservation(id.clone(), fence.agent)));
            }
        }
    }

    /// Whether those live that the commit posts to.
    fn receivers(&self, found: &mut Vec<Lookup>) {
        found.extend(self.writes.iter().filter_map(|write| match write {
            Write::Post(post) => Some(Lookup::IsLiving(post.agent)),
            _ => None,
        }));
    }

    fn written(&self, write: &Write, found: &mut Vec<Lookup>) {
        let is_new =
            |agent: AgentId| self.fence.is_some_and(|fence| fence.agent == agent) || self.creates(agent);
        let exists = |agent: AgentId| Some(Lookup::AgentExists(agent)).filter(|_| !is_new(agent));
        match write {
            Write::NewAgent(agent) => {
                found.push(Lookup::conflicting_agent(agent));
                found.extend(exists(agent.root));
            }
            Write::Run(run) => found.push(Lookup::AgentOfRun(run.id)),
            Write::Step(step) => found.push(Lookup::AgentOfRun(step.run)),
            Write::DropOrphanWakeup(wakeup) => found.push(Lookup::AgentExists(wakeup.agent)),
            Write::Post(post) => found.extend(exists(post.agent)),
            Write::ScheduleWakeup(wakeup) => found.extend(exists(wakeup.agent)),
            Write::PruneAgent(agent) => {
                found.extend([Lookup::AgentExists(*agent), Lookup::Dependents(*agent)]);
            }
            Write::Record(record, event) => {
                found.push(Lookup::RecordState(record.kind, record.id.clone()));
                if let Some(Parent::Record(kind, id)) = &record.parent {
                    found.push(Lookup::RecordState(*kind, id.clone()));
                }
                if let Some(name) = &record.name {
                    found.push(Lookup::HolderOfName(record.kind, record.owner.clone(), name.clone()));
                }
                found.extend(event.as_ref().and_then(|event| exists(event.root)));
            }
            Write::Budget(BudgetChange::Granted { tree, .. }) => {
                found.extend([
                    Lookup::Agent(*tree),
                    Lookup::Budget(BudgetId::Tree(*tree)),
                    Lookup::AgentExists(*tree),
                ]);
            }
            Write::Agent(_)
            | Write::Item(_)
            | Write::ConsumePost(_)
            | Write::ConsumeWakeup(_)
            | Write::PruneEvents(..)
            | Write::PruneEntity(..)
            | Write::Budget(_) => {}
        }
    }
}
