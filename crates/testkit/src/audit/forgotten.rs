//! Forgotten agents: each agent that a tree's events tell of is there or has a tombstone, and nothing of a forgotten
//! one is left, nor what the events about it said. And the living: a store counts those that its rows show.

use entourage_store::{AgentQuery, Commit, Error, Expect, Page, Result, Store};
use entourage_types::{Agent, AgentId, Event, EventBody, Parent, Scope, Time};

use super::{
    Found,
    Invariant::{Deletion, Ended},
    Snapshot,
};

pub(super) fn check(whole: &Snapshot, found: &mut Found) {
    for (root, events) in &whole.events {
        for event in events {
            let EventBody::AgentCreated { .. } = event.body else { continue };
            let (is_there, is_forgotten) =
                (whole.agent(event.agent).is_some(), whole.is_forgotten(event.agent));
            found.must(is_there != is_forgotten, Deletion, event.agent, || {
                let how =
                    if is_there { "is there and has a tombstone" } else { "is gone without a tombstone" };
                format!("it was created in tree {root}, and {how}")
            });
        }
    }
    for tombstone in &whole.tombstones {
        let events = whole.events.get(&tombstone.root).map_or(&[][..], Vec::as_slice);
        let of = tombstone.of.to_string();
        let is_told = |body: &EventBody| matches!(body, EventBody::Record { id, .. } if *id == of);
        let told = events.iter().find(|event| is_told(&event.body));
        found.must(told.is_some(), Deletion, tombstone.agent, || {
            format!("no event reports that {} was forgotten", tombstone.of)
        });
        let last = told.map_or(u64::MAX, |told| told.seq);
        for event in events.iter().filter(|event| is_about(event, &tombstone.of, last)) {
            found.must(event.body == event.body.clone().without_texts(), Deletion, tombstone.agent, || {
                format!("{} was forgotten, and event {} still says {:?}", tombstone.of, event.seq, event.body)
            });
        }
        let Parent::Agent(gone) = tombstone.of else { continue };
        let left: Vec<&str> =
            whole.left.iter().filter(|(of, _)| *of == gone).map(|(_, what)| what.as_str()).collect();
        found.must(left.is_empty(), Deletion, gone, || {
            format!("it was forgotten, but still there is: {}", left.join(", "))
        });
        let rows = [
            whole.runs.iter().any(|run| run.agent == gone),
            whole.questions.iter().any(|question| question.agent == gone),
            whole.tasks.iter().any(|task| task.from == gone),
            whole.has_wakeups(gone),
            whole.agents.iter().any(|agent| agent.parent == Some(gone)),
        ];
        found.must(rows == [false; 5], Deletion, gone, || {
            format!("it was forgotten, but has runs, questions, tasks, wake-ups or children: {rows:?}")
        });
    }
}

/// Whether an event is about what was forgotten, which the event with the number `last` reports.
fn is_about(event: &Event, of: &Parent, last: u64) -> bool {
    match of {
        Parent::Agent(gone) => {
            let is_of_task = matches!(&event.body, EventBody::Task { task } if task.from == *gone);
            event.agent == *gone || is_of_task
        }
        // Another record may have its id since.
        Parent::Record(kind, id) => {
            let of = event.body.record();
            event.seq < last && of.is_some_and(|(noun, of)| (noun, &of) == (kind.as_str(), id))
        }
    }
}

/// How many living children each agent has, and how many living agents each tree, as the store counts them.
pub(super) struct Counts {
    children: Vec<(AgentId, u32)>,
    trees: Vec<(AgentId, u32)>,
}

impl Counts {
    /// Asks the store. Not while its commits are held back.
    pub(super) async fn read(store: &dyn Store) -> Result<Self> {
        let query = AgentQuery { page: Page::all(), ..AgentQuery::default() };
        let (mut children, mut trees) = (Vec::new(), Vec::new());
        for Agent { id, root, .. } in store.agents(&Scope::All, query).await? {
            children.push((id, counted(store, Expect::ChildrenBelow(id, 0)).await?));
            if root == id {
                trees.push((id, counted(store, Expect::TreeBelow(id, 0)).await?));
            }
        }
        Ok(Self { children, trees })
    }

    /// Compares the counts, by which the store judges limits, with the rows.
    pub(super) fn check(&self, whole: &Snapshot, found: &mut Found) {
        let lives = |agent: &&Agent| !agent.status.is_terminal() || !whole.inbox(agent.id).is_empty();
        let count = |fits: &dyn Fn(&Agent) -> bool| {
            whole.agents.iter().filter(lives).filter(|agent| fits(agent)).count()
        };
        for (id, counted) in &self.children {
            must_equal(count(&|child| child.parent == Some(*id)), *counted, *id, "children", found);
        }
        for (id, counted) in &self.trees {
            must_equal(count(&|agent| agent.root == *id), *counted, *id, "agents in its tree", found);
        }
    }
}

fn must_equal(of_rows: usize, counted: u32, agent: AgentId, what: &str, found: &mut Found) {
    found.must(of_rows == counted as usize, Ended, agent, || {
        format!("it has {of_rows} living {what}; the store counts {counted}")
    });
}

/// Returns how many the store counts: it refuses a commit without writes, since there is no room below 0.
async fn counted(store: &dyn Store, expect: Expect) -> Result<u32> {
    match store.commit(Commit::new(Time::from_micros(0)).expect(expect)).await {
        Ok(_) => Ok(u32::MAX),
        Err(Error::TooManyChildren { found, .. } | Error::TreeFull { found, .. }) => Ok(found),
        Err(error) => Err(error),
    }
}
