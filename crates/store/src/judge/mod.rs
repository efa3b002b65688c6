//! Decides whether a commit is accepted, by its fence, its expectations and the rules of its writes, the same
//! for every store. [`Commit::judge`] reads the [`Facts`] that it needs, inside the transaction that writes; the
//! store applies an accepted commit.

mod facts;
mod lookups;
mod records;
mod rules;

use entourage_types::{Agent, AgentId, Amount, Budget, BudgetAction, BudgetId, NewEvent, Owner, Status};

pub use facts::{Facts, RecordState, Rejection};
pub use lookups::Lookup;

use crate::{BudgetChange, Commit, Error, Expect, Fence, Write, derive};

/// An accepted commit.
#[derive(Debug)]
pub struct AcceptedCommit {
    /// The fenced agent as stored before the commit; none for an outsider.
    pub writer: Option<Agent>,
    /// The events of the commit. The store assigns the numbers.
    pub events: Vec<NewEvent>,
}

type Result<T, F> = std::result::Result<T, Rejection<<F as Facts>::Error>>;

impl Commit {
    /// Decides whether the commit is accepted. The store has written nothing yet, so a refusal undoes
    /// nothing.
    ///
    /// # Errors
    /// If a fact cannot be read, or if the commit is refused: [`Error::Fenced`], the error of an expectation
    /// that does not hold, or that of a broken rule.
    pub fn judge<F: Facts>(&self, facts: &mut F) -> Result<AcceptedCommit, F> {
        let writer = self.fence.map(|fence| fenced_agent(fence, facts)).transpose()?;
        let mut judge = Judge { commit: self, writer: writer.as_ref(), facts };
        for expected in &self.expect {
            judge.check_expectation(expected)?;
        }
        self.validate(writer.as_ref())?;
        judge.check_writes()?;
        let events = derive::events(self, writer.as_ref());
        for event in &events {
            judge.check_root_remains(event.root)?;
        }
        Ok(AcceptedCommit { writer, events })
    }

    /// Whether the commit creates this agent.
    fn creates(&self, agent: AgentId) -> bool {
        self.writes.iter().any(|write| matches!(write, Write::NewAgent(new) if new.id == agent))
    }
}

/// Returns the fenced agent. The activation of an agent that was removed is fenced, too: another one has ended it.
fn fenced_agent<F: Facts>(fence: Fence, facts: &mut F) -> Result<Agent, F> {
    match read(facts.agent(fence.agent))? {
        Some(agent) if agent.epoch == fence.epoch => Ok(agent),
        _ => Err(Error::Fenced { agent: fence.agent }.into()),
    }
}

fn read<T, E>(found: std::result::Result<T, E>) -> std::result::Result<T, Rejection<E>> {
    found.map_err(Rejection::Failed)
}

/// A budget as the writer sees it: what it has reserved itself is for a call that it has lost, and is gone.
fn budget<F: Facts>(facts: &mut F, id: &BudgetId, writer: Option<&Agent>) -> Result<Budget, F> {
    // A budget without a row is unused; its owner does not matter here.
    let mut budget = read(facts.budget(id))?.unwrap_or_else(|| Budget::unused(id.clone(), Owner::local()));
    if let Some(held) = writer.map(|writer| read(facts.reservation(id, writer.id))).transpose()?.flatten() {
        budget.reserved -= held;
        budget.presumed += held;
    }
    Ok(budget)
}

/// What these writes grant a tree, and take back.
fn granted(root: AgentId, writes: &[Write]) -> impl Iterator<Item = &BudgetChange> {
    writes.iter().filter_map(move |write| match write {
        Write::Budget(change @ BudgetChange::Granted { tree, .. }) if *tree == root => Some(change),
        _ => None,
    })
}

/// A commit, and the rows by which it is judged.
struct Judge<'a, F> {
    commit: &'a Commit,
    /// The fenced agent.
    writer: Option<&'a Agent>,
    facts: &'a mut F,
}

impl<F: Facts> Judge<'_, F> {
    fn check_expectation(&mut self, expected: &Expect) -> Result<(), F> {
        let holds = |holds: bool, otherwise: Error| if holds { Ok(()) } else { Err(otherwise) };
        let facts = &mut *self.facts;
        let checked = match expected {
            Expect::Agent(agent) => {
                holds(read(facts.agent_exists(*agent))?, Error::NoAgent { agent: *agent })
            }
            Expect::Absent(kind, id) => {
                let found = read(facts.record_state(*kind, id))?;
                holds(found.is_none(), Error::Exists { kind: *kind, id: id.clone() })
            }
            Expect::Status(kind, id, status) => {
                let found = read(facts.record_state(*kind, id))?;
                let found = found.map_or_else(|| "missing".to_owned(), |record| record.status);
                let (expected, id) = ((*status).to_owned(), id.clone());
                holds(found == *status, Error::NotInStatus { kind: *kind, id, expected, found })
            }
            Expect::Version(kind, id, version) => {
                let found = read(facts.record_state(*kind, id))?.map_or(0, |record| record.version);
                let (expected, id) = (*version, id.clone());
                holds(found == expected, Error::OtherVersion { kind: *kind, id, expected, found })
            }
            Expect::TreeBelow(root, limit) => {
                let found = read(facts.count_living_in_tree(*root))?;
                let has_room = found < *limit || self.posts_to_the_living_alone()?;
                holds(has_room, Error::TreeFull { root: *root, found, limit: *limit })
            }
            Expect::ChildrenBelow(parent, limit) => {
                let found = read(facts.count_living_children(*parent))?;
                let has_room = found < *limit || self.posts_to_the_living_alone()?;
                holds(has_room, Error::TooManyChildren { parent: *parent, found, limit: *limit })
            }
            Expect::CreatedBelow(root, limit, since) => {
                let found = read(facts.count_created(*root, *since))?;
                holds(found < *limit, Error::TooManyCreated { root: *root, found, limit: *limit })
            }
            Expect::NotDeleted(agent) => match read(facts.agent(*agent))? {
                None => Err(Error::NoAgent { agent: *agent }),
                Some(found) => holds(found.status != Status::Cancelled, Error::Deleted { agent: *agent }),
            },
            Expect::ChildrenDeleted(parent) => {
                let is_left = read(facts.has_undeleted_child(*parent))?;
                holds(!is_left, Error::HasChildren { parent: *parent })
            }
            Expect::Ended(agent) => {
                let found = read(facts.agent(*agent))?.ok_or(Error::NoAgent { agent: *agent })?;
                let is_idle = found.status.is_terminal() && !read(facts.has_posts_or_wakeups(*agent))?;
                holds(is_idle, Error::NotEnded { agent: *agent })
            }
            Expect::Living(agent) => {
                let found = read(facts.agent(*agent))?.ok_or(Error::NoAgent { agent: *agent })?;
                let lives = found.status != Status::Cancelled && read(facts.is_living(*agent))?;
                holds(lives, Error::HasEnded { agent: *agent })
            }
            Expect::InboxBelow(agent, limit) => {
                let found = read(facts.inbox_size(*agent, limit.posts))?;
                let has_room = found.posts < limit.posts && found.bytes < limit.bytes;
                holds(has_room, Error::InboxFull { agent: *agent })
            }
            Expect::LastCreated { root, last } => {
                let found = read(facts.last_created(*root))?;
                holds(found == Some(*last), Error::HasGrown { root: *root })
            }
            Expect::Affords(id, allowance, amount) => {
                let found = budget(facts, id, self.writer)?;
                let left = found.left(*allowance);
                let may_have_room = found.left_at_best(*allowance).holds(*amount);
                holds(left.holds(*amount), Error::OverBudget { budget: id.clone(), left, may_have_room })
            }
            Expect::Lacks(id, allowance, amount) => {
                let has_room = budget(facts, id, self.writer)?.left_at_best(*allowance).holds(*amount);
                holds(!has_room, Error::HasRoom { budget: id.clone() })
            }
            Expect::AtRest(root, since) => {
                let is_active = read(facts.is_active_since(*root, *since))?;
                holds(!is_active, Error::NotAtRest { root: *root })
            }
        };
        Ok(checked?)
    }

    /// Whether the commit posts, creates no agent, and posts only to agents that live: these are counted already.
    fn posts_to_the_living_alone(&mut self) -> Result<bool, F> {
        let mut posts = false;
        for write in &self.commit.writes {
            match write {
                Write::NewAgent(_) => return Ok(false),
                Write::Post(post) if !read(self.facts.is_living(post.agent))? => return Ok(false),
                Write::Post(_) => posts = true,
                _ => {}
            }
        }
        Ok(posts)
    }

    /// Refuses writes that the existing rows forbid: a second agent of one id or key, a post to an agent that
    /// does not exist, a run or record that would change its agent or owner, the removal of a parent before its
    /// children, a grant beyond what is counted.
    fn check_writes(&mut self) -> Result<(), F> {
        let writes = &self.commit.writes;
        for (at, write) in writes.iter().enumerate() {
            let before = &writes[..at];
            match write {
                Write::NewAgent(new) => {
                    if let Some(agent) = self.conflicting_agent(new, before)? {
                        return Err(Error::AgentExists { agent }.into());
                    }
                }
                Write::Run(run)
                    if read(self.facts.agent_of_run(run.id))?.is_some_and(|agent| agent != run.agent) =>
                {
                    return Err(Error::foreign_run(run.agent, run.id).into());
                }
                Write::Step(step) => {
                    let writes_run = |write: &Write| matches!(write, Write::Run(run) if run.id == step.run);
                    let of_run = read(self.facts.agent_of_run(step.run))?;
                    let is_own = self.writer.is_some_and(|own| of_run == Some(own.id));
                    if !is_own && !writes.iter().any(writes_run) {
                        return Err(Error::foreign_step(step).into());
                    }
                }
                Write::DropOrphanWakeup(wakeup) if read(self.facts.agent_exists(wakeup.agent))? => {
                    return Err(Error::not_an_orphan(wakeup).into());
                }
                Write::Post(post) => self.check_agent_exists(post.agent)?,
                Write::ScheduleWakeup(wakeup) => self.check_agent_exists(wakeup.agent)?,
                Write::PruneAgent(agent) => self.check_no_dependents(*agent, before)?,
                Write::Record(record, _) => self.check_record(record, before)?,
                Write::Budget(BudgetChange::Granted { tree, owner, action, amount, by: _ }) => {
                    self.check_granted(*tree, owner, (*action, *amount), before)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses a grant to a tree of another owner, or beyond what is counted, and to take back more than was granted.
    fn check_granted(
        &mut self,
        tree: AgentId,
        owner: &Owner,
        (action, amount): (BudgetAction, Amount),
        before: &[Write],
    ) -> Result<(), F> {
        if read(self.facts.agent(tree))?.is_none_or(|agent| agent.owner != *owner) {
            return Err(Error::NoAgent { agent: tree }.into());
        }
        let id = BudgetId::Tree(tree);
        let mut found = budget(self.facts, &id, None)?;
        // The row does not have the changes before this one yet.
        for earlier in granted(tree, before) {
            earlier.apply(&mut found, None);
        }
        let (most, refusal) = match action {
            BudgetAction::Grant => {
                let most = found.grantable();
                (most, Error::TooMuchGranted { budget: id, most })
            }
            BudgetAction::TakeBack => {
                (found.granted, Error::TooMuchTakenBack { budget: id, most: found.granted })
            }
        };
        if amount.is_within(most) { Ok(()) } else { Err(refusal.into()) }
    }

    /// Whether an agent exists after the commit, unless the commit removes it.
    fn exists_after(&mut self, agent: AgentId) -> Result<bool, F> {
        let is_of_writer = self.writer.is_some_and(|writer| writer.id == agent || writer.root == agent);
        Ok(is_of_writer || self.commit.creates(agent) || read(self.facts.agent_exists(agent))?)
    }

    /// Refuses a post or a wake-up whose agent does not exist: no activation could ever read it.
    fn check_agent_exists(&mut self, agent: AgentId) -> Result<(), F> {
        if self.exists_after(agent)? { Ok(()) } else { Err(Error::NoAgent { agent }.into()) }
    }

    /// Refuses events of a tree whose root does not exist after the commit: no reader could find them.
    fn check_root_remains(&mut self, root: AgentId) -> Result<(), F> {
        let removes_root = |write: &Write| matches!(write, Write::PruneAgent(agent) if *agent == root);
        if self.commit.writes.iter().any(removes_root) {
            return Err(Error::NoAgent { agent: root }.into());
        }
        self.check_agent_exists(root)
    }

    /// Returns the agent that a new one conflicts with, of the existing ones and of those created by `before`.
    fn conflicting_agent(&mut self, new: &Agent, before: &[Write]) -> Result<Option<AgentId>, F> {
        let created = before.iter().find_map(|write| match write {
            Write::NewAgent(agent) if conflicts(agent, new) => Some(agent.id),
            _ => None,
        });
        match created {
            Some(created) => Ok(Some(created)),
            None => read(self.facts.conflicting_agent(new)),
        }
    }

    /// Refuses to remove an agent before the agents that depend on it.
    fn check_no_dependents(&mut self, agent: AgentId, before: &[Write]) -> Result<(), F> {
        if !read(self.facts.agent_exists(agent))? {
            return Err(Error::NoAgent { agent }.into());
        }
        let is_removed = |dependent: AgentId| {
            before.iter().any(|write| matches!(write, Write::PruneAgent(removed) if *removed == dependent))
        };
        let depends = |new: &Agent| new.id != agent && (new.parent == Some(agent) || new.root == agent);
        let made = before.iter().filter_map(|write| match write {
            Write::NewAgent(new) if depends(new) => Some(new.id),
            _ => None,
        });
        match read(self.facts.dependents(agent))?.into_iter().chain(made).all(is_removed) {
            true => Ok(()),
            false => Err(Error::HasChildren { parent: agent }.into()),
        }
    }
}

/// Whether a new agent conflicts with this one: of the same id, or of the same key in the tree.
pub(crate) fn conflicts(agent: &Agent, new: &Agent) -> bool {
    agent.id == new.id || (new.key.is_some() && (agent.root, &agent.key) == (new.root, &new.key))
}
