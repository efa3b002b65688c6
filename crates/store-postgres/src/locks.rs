//! What a commit locks before anything of it is read: the trees that it touches, and the names of what is in no tree, such
//! as a record that must not exist. All commits lock in one order, so that none waits for one that waits for it.

use std::collections::{BTreeMap, BTreeSet};

use entourage_store::{BudgetChange, Commit, Committed, Expect, Write};
use entourage_types::{AgentId, BudgetId, CommitId, EntityKind, Parent, Time};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    events::Last,
    fault::Result,
    rows::{get, unreadable},
    statement::{Statement, storable},
};

/// What the locks say.
#[derive(Debug)]
pub(crate) enum Locked {
    /// The commit has happened already, and returned this.
    Happened(Committed),
    /// The trees, with their last events.
    Trees(BTreeMap<AgentId, Last>),
}

impl Locked {
    /// Reads what the locks have returned.
    pub(crate) fn read(rows: &[Row]) -> Result<Self> {
        let Some(row) = rows.first() else { return Ok(Self::Trees(BTreeMap::new())) };
        if let Some(inbox) = get(row, 0)? {
            return Ok(Self::Happened(Committed { inbox }));
        }
        let roots = get::<Option<Vec<Uuid>>>(row, 1)?.unwrap_or_default();
        let (numbers, times): (Option<Vec<i64>>, Option<Vec<i64>>) = (get(row, 2)?, get(row, 3)?);
        let last = numbers.into_iter().flatten().zip(times.into_iter().flatten());
        let trees = roots.into_iter().zip(last).map(|(root, (seq, at))| {
            let seq =
                u64::try_from(seq).map_err(|_| unreadable(2, format!("{seq} is no number of an event")))?;
            Ok((AgentId::from_uuid(root), Last { seq, at: Time::from_micros(at) }))
        });
        Ok(Self::Trees(trees.collect::<Result<_>>()?))
    }
}

/// What a commit is about.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    /// Agents whose trees are to be looked up.
    agents: BTreeSet<Uuid>,
    /// Trees.
    roots: BTreeSet<Uuid>,
    /// Names of records, of their unique names, and of budgets of days.
    names: BTreeSet<String>,
    /// The agent of the fence: a claim waits for the commit, or the commit for the claim.
    fenced: Option<Uuid>,
}

impl Locks {
    /// What a commit names.
    pub(crate) fn of(commit: &Commit) -> Self {
        let mut locks = Self::default();
        if let Some(fence) = commit.fence {
            locks.agent(fence.agent);
            locks.fenced = Some(fence.agent.uuid());
        }
        commit.expect.iter().for_each(|expected| locks.expected(expected));
        commit.writes.iter().for_each(|write| locks.written(write));
        locks
    }

    /// The statement that takes the locks, for [`read`](Locked::read).
    pub(crate) fn statement(&self, commit: CommitId, durable: bool) -> Statement {
        Statement::whole("SELECT * FROM lock_for_commit($1, $2, $3, $4, $5, $6)")
            .bind(commit.uuid())
            .bind(self.agents.iter().copied().collect::<Vec<_>>())
            .bind(self.roots.iter().copied().collect::<Vec<_>>())
            .bind(self.names.iter().cloned().map(storable).collect::<Vec<_>>())
            .bind(self.fenced)
            .bind(durable)
    }

    fn agent(&mut self, agent: AgentId) {
        self.agents.insert(agent.uuid());
    }

    fn root(&mut self, root: AgentId) {
        self.roots.insert(root.uuid());
    }

    fn record(&mut self, kind: EntityKind, id: &str) {
        self.names.insert(format!("record/{kind}/{id}"));
    }

    fn budget(&mut self, budget: &BudgetId) {
        match budget {
            BudgetId::Tree(root) => self.root(*root),
            BudgetId::Day(..) => drop(self.names.insert(format!("budget/{budget}"))),
        }
    }

    fn expected(&mut self, expected: &Expect) {
        match expected {
            Expect::Absent(kind, id) | Expect::Status(kind, id, _) | Expect::Version(kind, id, _) => {
                self.record(*kind, id);
            }
            Expect::Agent(agent)
            | Expect::ChildrenBelow(agent, _)
            | Expect::NotDeleted(agent)
            | Expect::ChildrenDeleted(agent)
            | Expect::Ended(agent)
            | Expect::Living(agent)
            | Expect::InboxBelow(agent, _) => self.agent(*agent),
            Expect::TreeBelow(root, _)
            | Expect::CreatedBelow(root, ..)
            | Expect::LastCreated { root, .. }
            | Expect::AtRest(root, _) => self.root(*root),
            Expect::Affords(budget, ..) | Expect::Lacks(budget, ..) => self.budget(budget),
        }
    }

    fn written(&mut self, write: &Write) {
        match write {
            Write::NewAgent(agent) => {
                self.root(agent.root);
                agent.parent.into_iter().for_each(|parent| self.agent(parent));
            }
            Write::Post(post) => self.agent(post.agent),
            Write::ScheduleWakeup(wakeup) | Write::DropOrphanWakeup(wakeup) => self.agent(wakeup.agent),
            Write::PruneAgent(agent) => self.agent(*agent),
            Write::PruneEvents(root, _) => self.root(*root),
            Write::PruneEntity(kind, id) => self.record(*kind, id),
            Write::Record(record, event) => {
                self.record(record.kind, &record.id);
                match &record.parent {
                    Some(Parent::Agent(agent)) => self.agent(*agent),
                    Some(Parent::Record(kind, id)) => self.record(*kind, id),
                    None => {}
                }
                if let Some(name) = &record.name {
                    self.names.insert(format!("name/{}/{}/{name}", record.kind, record.owner));
                }
                record.root.into_iter().for_each(|root| self.root(root));
                event.iter().for_each(|event| self.root(event.root));
            }
            Write::Budget(BudgetChange::Reserve { budget, .. }) => self.budget(budget),
            Write::Budget(BudgetChange::Granted { tree, .. }) => self.root(*tree),
            // Of the fenced agent.
            Write::Agent(_)
            | Write::Item(_)
            | Write::Run(_)
            | Write::Step(_)
            | Write::ConsumePost(_)
            | Write::ConsumeWakeup(_)
            | Write::Budget(BudgetChange::Settle { .. }) => {}
        }
    }
}
