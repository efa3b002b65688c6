//! The rules that need no stored row but the writer's own: which writer may write what.

use entourage_types::{Agent, AgentId, BudgetId, Entity, EntityKind, LONGEST_NAME, is_storable_name};

use crate::{BudgetChange, Commit, Error, Result, Write};

impl Commit {
    /// Refuses a commit that breaks the rules of [`Write`]. `writer` is the fenced agent as stored; none for
    /// an outsider.
    pub(super) fn validate(&self, writer: Option<&Agent>) -> Result<()> {
        self.writes.iter().try_for_each(check_stored_names)?;
        let created = created_agents(&self.writes)?;
        match writer {
            Some(agent) => check_activation(agent, &self.writes, &created),
            None => check_outsider(&self.writes, &created),
        }
    }
}

/// Refuses a long name or a NUL where a row is identified or found by it, and a NUL in titles and errors: not
/// every database can store or index these.
fn check_stored_names(write: &Write) -> Result<()> {
    let check = |names: &[&str]| match names.iter().find(|name| !is_storable_name(name)) {
        Some(name) => {
            let name: String = name.chars().take(60).collect();
            refuse(format!(
                "{name:?} is not a valid name: it contains a NUL or more than {LONGEST_NAME} bytes"
            ))
        }
        None => Ok(()),
    };
    match write {
        Write::NewAgent(agent) | Write::Agent(agent) => {
            let key = agent.key.as_ref().map(ToString::to_string).unwrap_or_default();
            check(&[agent.owner.as_str(), &agent.kind, &key])?;
            if agent.title.contains('\0') { refuse("a title contains a NUL".to_owned()) } else { Ok(()) }
        }
        Write::Run(run) if run.error.as_ref().is_some_and(|error| error.contains('\0')) => {
            refuse("a run's error contains a NUL".to_owned())
        }
        Write::Run(run) => check(&[run.owner.as_str(), &run.kind_version]),
        Write::ScheduleWakeup(wakeup) => check(&[wakeup.owner.as_str()]),
        Write::Step(step) => step.key.name().map_or(Ok(()), |name| check(&[name])),
        Write::Record(Entity { kind, id, root, .. }, Some(event)) if *root != Some(event.root) => {
            refuse(format!("{kind} {id} has an event in another tree, that of agent {}", event.root))
        }
        Write::Record(entity, _) => {
            let parent = entity.parent.as_ref().map(ToString::to_string).unwrap_or_default();
            let name = entity.name.as_deref().unwrap_or_default();
            check(&[entity.owner.as_str(), &entity.id, &entity.status, &parent, name])
        }
        _ => Ok(()),
    }
}

/// Returns the agents that a commit creates. Refuses one whose row does not count exactly the items that the
/// commit writes for it, or whose items are not in order.
fn created_agents(writes: &[Write]) -> Result<Vec<AgentId>> {
    let mut created = Vec::new();
    for write in writes {
        let Write::NewAgent(agent) = write else { continue };
        let of_agent = |write: &Write| match write {
            Write::Item(item) if item.agent == agent.id => Some(item.seq),
            _ => None,
        };
        if !writes.iter().filter_map(of_agent).eq(0..agent.items) {
            refuse(format!(
                "new agent {} counts {} items, and the commit does not write these in order",
                agent.id, agent.items
            ))?;
        }
        created.push(agent.id);
    }
    Ok(created)
}

/// An activation writes only the row of its own agent, without changing an immutable column, and appends to its
/// transcript. It also writes the agents that it creates.
fn check_activation(agent: &Agent, writes: &[Write], created: &[AgentId]) -> Result<()> {
    let mut items = agent.items;
    let mut counted = None;
    for write in writes {
        match write {
            Write::Agent(row) if !are_immutable_columns_equal(agent, row) => {
                return refuse(format!(
                    "a commit of agent {} changes an immutable column of agent {}",
                    agent.id, row.id
                ));
            }
            Write::Agent(row) => counted = Some(row.items),
            Write::Item(item) if created.contains(&item.agent) => {}
            Write::Item(item) if item.agent != agent.id || item.seq != items => {
                return refuse(format!(
                    "item {} of agent {} is not the next item of agent {}, whose number is {items}",
                    item.seq, item.agent, agent.id
                ));
            }
            Write::Item(_) => items += 1,
            Write::PruneEvents(root, _) | Write::PruneAgent(root) => {
                return refuse(format!(
                    "a fenced commit, of agent {}, must not prune agent {root}",
                    agent.id
                ));
            }
            // Who deletes the agent of a goal deletes the goal.
            Write::PruneEntity(EntityKind::GOAL, id) if *id == agent.id.to_string() => {}
            // Who runs code drops its state.
            Write::PruneEntity(EntityKind::CODE_SNAPSHOT, _) => {}
            Write::PruneEntity(kind, id) => {
                return refuse(format!("a fenced commit, of agent {}, must not prune {kind} {id}", agent.id));
            }
            Write::Budget(change) => check_own_budget(agent, change)?,
            Write::Run(run) if (run.agent, &run.owner) != (agent.id, &agent.owner) => {
                return refuse(format!("a commit of agent {} writes a run of agent {}", agent.id, run.agent));
            }
            _ => {}
        }
    }
    match counted {
        Some(counted) if counted != items => {
            refuse(format!("the row of agent {} counts {counted} items, and it has {items}", agent.id))
        }
        _ => Ok(()),
    }
}

/// Whether the immutable columns of two rows of an agent are equal.
fn are_immutable_columns_equal(before: &Agent, after: &Agent) -> bool {
    (before.id, before.root, before.parent, before.depth) == (after.id, after.root, after.parent, after.depth)
        && before.works_for == after.works_for
        && (&before.owner, &before.kind, &before.key) == (&after.owner, &after.kind, &after.key)
        && before.created == after.created
}

/// An outsider creates, posts, records and prunes. It writes no run, no step and no row or item of an
/// existing agent, and it consumes no post and no wake-up.
fn check_outsider(writes: &[Write], created: &[AgentId]) -> Result<()> {
    let forbidden = writes.iter().find(|write| match write {
        Write::Item(item) => !created.contains(&item.agent),
        Write::Agent(_)
        | Write::Run(_)
        | Write::Step(_)
        | Write::ConsumePost(_)
        | Write::ConsumeWakeup(_) => true,
        Write::Budget(change) => !matches!(change, BudgetChange::Granted { .. }),
        _ => false,
    });
    match forbidden {
        Some(write) => refuse(format!(
            "a commit without a fence has a write that only an activation may make: {write:?}"
        )),
        None => check_counters_stay(writes),
    }
}

/// An activation reserves and settles in the budgets of its own tree and owner, and grants nothing.
fn check_own_budget(agent: &Agent, change: &BudgetChange) -> Result<()> {
    let is_own = match change {
        BudgetChange::Reserve { budget: BudgetId::Tree(root), .. } => *root == agent.root,
        BudgetChange::Reserve { budget: BudgetId::Day(_, owner), .. } => *owner == agent.owner,
        BudgetChange::Settle { .. } => true,
        BudgetChange::Granted { .. } => false,
    };
    if is_own { Ok(()) } else { refuse(format!("agent {} must not make this change: {change:?}", agent.id)) }
}

/// Refuses to remove a counter: its numbers would be given twice.
fn check_counters_stay(writes: &[Write]) -> Result<()> {
    let removed = writes.iter().find_map(|write| match write {
        Write::PruneEntity(EntityKind::COUNTER, id) => Some(id),
        _ => None,
    });
    removed.map_or(Ok(()), |id| refuse(format!("counter {id} is removed, and would give its numbers twice")))
}

fn refuse(why: String) -> Result<()> {
    Err(Error::RuleViolation(why))
}
