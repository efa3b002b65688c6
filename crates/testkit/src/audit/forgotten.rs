//! Forgotten agents: each agent that a tree's events tell of is there or has a tombstone, and nothing of a forgotten
//! one is left. And the living: a store counts those that its rows show.

use entourage_store::{Commit, Error, Expect, Result, Store};
use entourage_types::{Agent, AgentId, EventBody, Parent, Time};

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
        let told = whole.events.get(&tombstone.root).is_some_and(|events| {
            let of = tombstone.of.to_string();
            let is_told = |body: &EventBody| matches!(body, EventBody::Record { id, .. } if *id == of);
            events.iter().any(|event| is_told(&event.body))
        });
        found.must(told, Deletion, tombstone.agent, || {
            format!("no event reports that {} was forgotten", tombstone.of)
        });
        let Parent::Agent(gone) = tombstone.of else { continue };
        let rows = [
            whole.runs.iter().any(|run| run.agent == gone),
            whole.questions.iter().any(|question| question.agent == gone),
            whole.tasks.iter().any(|task| task.from == gone),
            whole.is_woken(gone),
            whole.agents.iter().any(|agent| agent.parent == Some(gone)),
        ];
        found.must(rows == [false; 5], Deletion, gone, || {
            format!("it was forgotten, but has runs, questions, tasks, wake-ups or children: {rows:?}")
        });
    }
}

/// Compares the counts of living agents, by which a store judges limits, with the rows.
pub(super) async fn counts(store: &dyn Store, whole: &Snapshot, found: &mut Found) -> Result<()> {
    let lives = |agent: &&Agent| !agent.status.is_terminal() || !whole.inbox(agent.id).is_empty();
    let count = |fits: &dyn Fn(&Agent) -> bool| {
        u32::try_from(whole.agents.iter().filter(lives).filter(|agent| fits(agent)).count())
            .unwrap_or(u32::MAX)
    };
    for agent in &whole.agents {
        let id = agent.id;
        let children = count(&|child| child.parent == Some(id));
        must_equal(children, counted(store, Expect::ChildrenBelow(id, 0)).await?, id, "children", found);
        if agent.root == id {
            let all = count(&|agent| agent.root == id);
            must_equal(all, counted(store, Expect::TreeBelow(id, 0)).await?, id, "agents in its tree", found);
        }
    }
    Ok(())
}

fn must_equal(of_rows: u32, counted: u32, agent: AgentId, what: &str, found: &mut Found) {
    found.must(of_rows == counted, Ended, agent, || {
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
