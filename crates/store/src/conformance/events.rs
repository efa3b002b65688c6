//! Events: one for each change, numbered without gaps in its tree, readable from any cursor.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use entourage_types::{Agent, Event, EventBody, NewEvent, RunId, Scope, Status, Time, WaitingOn};

use super::{
    Backing,
    sample::{
        at, claim, done, join, new_child, new_root, note, open, owner, post, question, run, say, step,
        stranger, task, wakeup,
    },
};
use crate::{Commit, Result, Store, Write, derive};

/// A commit with writes of many types has the events that the derivation returns, at the commit's time, with
/// items filled in.
pub async fn each_change_has_its_event(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let known = new_root(&store, owner()).await?;
    let mut agent = claim(&store, known.id).await?.agent;
    let before = agent.clone();
    let (run, child) = (run(&agent), agent.child("digger", "digs", None, at(2)));
    let item = say(&mut agent, run.id, "hello");
    agent.status = Status::Waiting;
    agent.waiting_on = Some(WaitingOn::User);
    let commit = Commit::fenced(&agent, at(7))
        .write(Write::Run(run.clone()))
        .write(Write::Item(item.clone()))
        .write(Write::Step(step(run.id, "model/0", done())))
        .write(Write::Step(step(run.id, "tool/1", open())))
        .write(Write::NewAgent(child.clone()))
        .write(Write::record(&task(&agent, child.id))?)
        .write(Write::record(&question(&agent))?)
        .write(Write::record(&note(&agent, "a", "b"))?)
        .write(Write::Post(post(child.id, "dig")))
        .write(Write::ScheduleWakeup(wakeup(&child, at(8))))
        .write(Write::Agent(agent.clone()));
    let told = derive::events(&commit, Some(&before));
    assert!(told.len() >= 7, "the derivation tells of each");
    store.commit(commit).await?;
    let expected: Vec<Event> = told
        .into_iter()
        .zip(2..)
        .map(|(NewEvent { root, agent, body }, seq)| Event { root, seq, agent, at: at(7), body })
        .collect();
    assert_eq!(store.events(&Scope::All, known.root, 1, 100).await?, expected);

    // The status has not changed since, so there is no event.
    store.commit(Commit::fenced(&agent, at(8)).write(Write::Agent(agent.clone()))).await?;
    assert_eq!(store.events(&Scope::All, known.root, 1, 100).await?.len(), expected.len());
    Ok(())
}

/// A read from any cursor with any limit returns the events that follow, and no others.
pub async fn events_resume_from_any_cursor(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let known = new_root(&store, owner()).await?;
    let mut agent = claim(&store, known.id).await?.agent;
    for text in ["one", "two", "three", "four"] {
        let item = say(&mut agent, RunId::new(), text);
        store.commit(Commit::fenced(&agent, at(2)).write(Write::Item(item))).await?;
    }
    assert_eq!(store.last_event(&Scope::All, known.root).await?, 5);
    assert_eq!(store.last_event(&Scope::from(&stranger()), known.root).await?, 0);
    for after in 0..=6 {
        for limit in [1, 2, 100] {
            let seqs: Vec<u64> = store
                .events(&Scope::All, known.root, after, limit)
                .await?
                .iter()
                .map(|event| event.seq)
                .collect();
            let expected: Vec<u64> = (after + 1..=5).take(limit as usize).collect();
            assert_eq!(seqs, expected, "after {after}, at most {limit}");
        }
    }
    Ok(())
}

/// The numbers of each tree begin at 1; the agents of one tree share its numbers; a tree is found by its
/// root.
pub async fn each_tree_numbers_its_own_events(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (one, two) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    let child = new_child(&store, &one).await?;
    let commit = Commit::new(at(1))
        .write(Write::record(&question(&two))?)
        .write(Write::record(&question(&child))?)
        .write(Write::record(&question(&two))?);
    store.commit(commit).await?;
    let told = async |root: &Agent| -> Result<Vec<(u64, bool)>> {
        let events = store.events(&Scope::All, root.id, 0, 100).await?;
        assert!(events.iter().all(|event| event.root == root.id));
        Ok(events.iter().map(|event| (event.seq, event.agent == root.id)).collect())
    };
    assert_eq!(told(&one).await?, [(1, true), (2, false), (3, false)]);
    assert_eq!(told(&two).await?, [(1, true), (2, true), (3, true)]);
    assert_eq!(told(&child).await?, []);
    for after in [u32::MAX - 1, u32::MAX].map(u64::from).into_iter().chain([1 << 32, 1 << 62, u64::MAX]) {
        assert_eq!(store.events(&Scope::All, one.id, after, 100).await?, [], "after {after}");
    }
    Ok(())
}

/// Eight agents of one tree commit at once: the numbers have no gaps, the events of each agent's items are in
/// order, and the hints have the same events.
pub async fn event_numbers_have_no_gaps_under_concurrent_commits(place: impl Backing) -> Result<()> {
    const COMMITTERS: usize = 8;
    const COMMITS: usize = 25;
    let store = Arc::new(place.open().await?);
    let root = new_root(&*store, owner()).await?;
    let mut hints = store.changed();
    let mut committers = Vec::new();
    for _ in 0..COMMITTERS {
        let store = Arc::clone(&store);
        let agent = new_child(&*store, &root).await?;
        committers.push(tokio::spawn(async move {
            let mut agent = claim(&*store, agent.id).await?.agent;
            for _ in 0..COMMITS {
                let item = say(&mut agent, RunId::new(), "busy");
                store.commit(Commit::fenced(&agent, at(2)).write(Write::Item(item))).await?;
            }
            Ok(())
        }));
    }
    for committer in committers {
        join(committer).await?;
    }

    let total = 1 + COMMITTERS + COMMITTERS * COMMITS;
    let events = store.events(&Scope::All, root.id, 0, 10_000).await?;
    let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=total as u64).collect::<Vec<_>>());
    let mut next = BTreeMap::new();
    for event in &events {
        if let EventBody::Item { item_seq, item: Some(item) } = &event.body {
            assert_eq!((*item_seq, item.agent), (item.seq, event.agent));
            let next = next.entry(event.agent).or_insert(0);
            assert_eq!(item.seq, *next, "an item of {} out of order", event.agent);
            *next += 1;
        }
    }
    assert_eq!(next.values().sum::<u64>() as usize, COMMITTERS * COMMITS);

    let mut hinted = Vec::new();
    while let Ok(hint) = hints.try_recv() {
        hinted.extend(hint.events.iter().cloned());
    }
    assert_eq!(hinted, events[1..], "hints in the order of the numbers");
    Ok(())
}

/// The times of a tree's events never go back, even if the clocks of two machines differ.
pub async fn event_times_never_decrease_within_a_tree_unless_a_clock_was_far_ahead(
    place: impl Backing,
) -> Result<()> {
    let store = place.open().await?;
    let (root, other) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    let child = |of: &Agent| Write::NewAgent(of.child("digger", "digs", None, at(0)));
    for moment in [at(5), at(3), at(7)] {
        store.commit(Commit::new(moment).write(child(&root)).write(child(&root))).await?;
    }
    let told: Vec<Time> =
        store.events(&Scope::All, root.id, 1, 10).await?.iter().map(|event| event.at).collect();
    assert_eq!(told, [at(5), at(5), at(5), at(5), at(7), at(7)]);
    store.commit(Commit::new(at(1)).write(child(&other))).await?;
    let apart = store.events(&Scope::All, other.id, 1, 10).await?;
    assert_eq!(apart[0].at, at(1), "each tree for itself");
    // Events do not wait for a clock that was a day ahead.
    let ahead = at(7) + Duration::from_secs(86_400);
    for moment in [ahead, at(8)] {
        store.commit(Commit::new(moment).write(child(&root))).await?;
    }
    let told: Vec<Time> =
        store.events(&Scope::All, root.id, 7, 10).await?.iter().map(|event| event.at).collect();
    assert_eq!(told, [ahead, at(8)]);
    Ok(())
}
