//! The writes of a commit as rows: of several writes of one row the last one stays, and all rows of a table are written by
//! one statement.

use std::collections::BTreeSet;

use entourage_store::Write;
use entourage_types::{Agent, AgentId, Entity, EntityKind, Item, Post, PostId, Run, Step, Wakeup, WakeupId};

use crate::{
    agents,
    entities::{self, Written, asks},
    facts::Known,
    fault::Result,
    inbox, items, runs,
    statement::Statement,
    subtrees::Changes,
    usage::Additions,
};

/// Rows that are still to be written.
#[derive(Debug, Default)]
pub(crate) struct Batch<'c> {
    agents: Vec<&'c Agent>,
    items: Vec<&'c Item>,
    runs: Vec<&'c Run>,
    steps: Vec<&'c Step>,
    posts: Vec<&'c Post>,
    taken: BTreeSet<PostId>,
    wakeups: Vec<&'c Wakeup>,
    /// With the agent that consumes it; none for one whose agent does not exist.
    woken: BTreeSet<(WakeupId, Option<AgentId>)>,
    records: Vec<Written<'c>>,
    /// Records to which nothing belongs.
    dropped: Vec<&'c str>,
}

/// Replaces a row, or adds it.
fn put<'c, T>(rows: &mut Vec<&'c T>, row: &'c T, is_same: impl Fn(&T, &T) -> bool) {
    match rows.iter_mut().find(|other| is_same(other, row)) {
        Some(found) => *found = row,
        None => rows.push(row),
    }
}

impl<'c> Batch<'c> {
    /// Takes a write that concerns rows alone. Of the fenced agent's own row and of budgets others keep account.
    pub(crate) fn add(&mut self, write: &'c Write, writer: Option<&Agent>) {
        match write {
            Write::NewAgent(agent) => self.agents.push(agent),
            Write::Item(item) => self.items.push(item),
            Write::Run(run) => put(&mut self.runs, run, |one, other| one.id == other.id),
            Write::Step(step) => {
                put(&mut self.steps, step, |one, other| (one.run, &one.key) == (other.run, &other.key));
            }
            Write::Post(post) => {
                self.posts.retain(|other| other.id != post.id);
                self.posts.push(post);
            }
            Write::ConsumePost(post) => {
                if let Some(writer) = writer {
                    self.posts.retain(|other| (other.id, other.agent) != (*post, writer.id));
                    self.taken.insert(*post);
                }
            }
            Write::ScheduleWakeup(wakeup) => put(&mut self.wakeups, wakeup, |one, other| one.id == other.id),
            Write::ConsumeWakeup(wakeup) => {
                if let Some(writer) = writer {
                    self.wakeups.retain(|other| (other.id, other.agent) != (*wakeup, writer.id));
                    self.woken.insert((*wakeup, Some(writer.id)));
                }
            }
            Write::DropOrphanWakeup(wakeup) => drop(self.woken.insert((wakeup.id, None))),
            Write::Record(record, _) => {
                let same =
                    |(other, _): &&mut Written<'c>| (other.kind, &other.id) == (record.kind, &record.id);
                match self.records.iter_mut().find(same) {
                    Some((row, times)) => (*row, *times) = (record, *times + 1),
                    None => self.records.push((record, 1)),
                }
            }
            Write::PruneEntity(EntityKind::CODE_SNAPSHOT, id) => {
                self.records.retain(|(other, _)| (other.kind, &other.id) != (EntityKind::CODE_SNAPSHOT, id));
                self.dropped.push(id);
            }
            Write::Agent(_)
            | Write::PruneEvents(..)
            | Write::PruneAgent(_)
            | Write::PruneEntity(..)
            | Write::Budget(_) => {}
        }
    }

    /// The statements that write these rows and change the sums over them, in an order in which each finds what it needs.
    /// `above` are changes of sums that are known already.
    pub(crate) fn statements(
        self,
        writer: Option<&Agent>,
        known: &Known,
        mut above: Changes,
    ) -> Result<Vec<Statement>> {
        let mut statements = Vec::new();
        if !self.agents.is_empty() {
            self.agents.iter().for_each(|agent| above.agent(None, agent));
            statements.extend(agents::insert(&self.agents));
        }
        if !self.items.is_empty() {
            statements.extend(items::insert(&self.items)?);
        }
        let mut ended = Additions::default();
        if let Some(writer) = writer {
            for run in &self.runs {
                let before = known.run(run.id);
                let spent = before.map_or(&[][..], |before| &before.spent);
                above.run(writer, spent, &run.spent);
                let of = (&run.owner, writer.root, writer.kind.as_str());
                if before.is_some_and(|before| before.has_ended) {
                    ended.add(of, spent, -1);
                }
                if run.status.is_terminal() {
                    ended.add(of, &run.spent, 1);
                }
            }
        }
        for run in &self.runs {
            statements.push(runs::write(run, known.run(run.id).is_none())?);
        }
        if !self.steps.is_empty() {
            statements.extend(runs::upsert_steps(&self.steps)?);
        }
        if !self.dropped.is_empty() {
            let drop = "DELETE FROM entities WHERE kind = $1 AND id = ANY ($2)";
            let ids: Vec<String> = self.dropped.iter().map(|id| (*id).to_owned()).collect();
            statements.push(Statement::whole(drop).text(EntityKind::CODE_SNAPSHOT).bind(ids));
        }
        statements.extend(records(&self.records, known, &mut above));
        self.consumed(writer, &mut statements);
        if !self.posts.is_empty() {
            statements.extend(inbox::put(&self.posts)?);
            statements.extend(revived(&self.posts, writer, known));
        }
        if !self.wakeups.is_empty() {
            statements.extend(inbox::wake(&self.wakeups));
        }
        statements.extend(above.write());
        statements.extend(ended.write("usage_of_owners"));
        Ok(statements)
    }

    /// What is consumed is removed before what is posted and scheduled is written.
    fn consumed(&self, writer: Option<&Agent>, statements: &mut Vec<Statement>) {
        if let Some(writer) = writer.filter(|_| !self.taken.is_empty()) {
            statements.push(inbox::take(writer.id, self.taken.iter().map(|post| post.uuid()).collect()));
        }
        for agent in [writer.map(|writer| writer.id), None] {
            let of = self.woken.iter().filter(|(_, by)| *by == agent);
            let ids: Vec<_> = of.map(|(wakeup, _)| wakeup.uuid()).collect();
            if !ids.is_empty() {
                statements.push(inbox::woken(agent, ids));
            }
            if agent.is_none() {
                break;
            }
        }
    }
}

/// The statements that write records.
fn records(records: &[Written<'_>], known: &Known, above: &mut Changes) -> Vec<Statement> {
    let mut gives: Vec<&Entity> = Vec::new();
    for (record, _) in records {
        let before = known.record(record.kind, &record.id);
        let agent = record.parent.as_ref().and_then(entourage_types::Parent::agent);
        let asked = before.and_then(|before| asks(record.kind, &before.status, before.agent));
        let asking = asks(record.kind, &record.status, agent);
        if asked != asking {
            asked.into_iter().for_each(|agent| above.question(agent, -1));
            asking.into_iter().for_each(|agent| above.question(agent, 1));
        }
        if before.is_some_and(|before| before.name.is_some() && before.name != record.name) {
            gives.push(record);
        }
    }
    let mut statements = Vec::new();
    // A single record gives its name to no other one.
    if !gives.is_empty() && records.len() > 1 {
        statements.push(entities::unname(&gives));
    }
    if !records.is_empty() {
        statements.extend(entities::upsert(records));
    }
    statements
}

/// The statement for those receivers of posts that have ended: they live again. Of the writer, its own row says it.
fn revived(posts: &[&Post], writer: Option<&Agent>, known: &Known) -> Option<Statement> {
    let may_have_ended = |agent: &AgentId| {
        writer.is_none_or(|writer| writer.id != *agent)
            && known
                .stored_agent(*agent)
                .is_none_or(|stored| stored.status.is_terminal() && stored.id != stored.root)
    };
    let agents: BTreeSet<AgentId> = posts.iter().map(|post| post.agent).filter(may_have_ended).collect();
    let agents: Vec<_> = agents.iter().map(|agent| agent.uuid()).collect();
    (!agents.is_empty()).then(|| agents::revive(agents))
}
