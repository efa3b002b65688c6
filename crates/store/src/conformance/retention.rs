//! Removal: numbers are never given twice, an agent at work loses nothing, and the remaining rows are
//! unchanged.

use entourage_types::{
    Agent, EntityKind, EventBody, Goal, GoalStatus, Note, Parent, RunId, Scope, Status, Task, Tombstone,
};

use super::{
    Backing,
    sample::{
        at, claim, new_child, new_root, note, open, owner, post, question, request, run, say, step, task,
        wakeup,
    },
};
use crate::{AgentQuery, Commit, EntityQuery, Error, Expect, ItemQuery, Result, RunQuery, Store, Write};

async fn numbers(store: &impl Store, root: entourage_types::AgentId) -> Result<Vec<u64>> {
    Ok(store.events(&Scope::All, root, 0, 100).await?.iter().map(|event| event.seq).collect())
}

/// Events below a number are removed, except the last one of a tree; the next event gets the next number,
/// also after the store was opened again.
pub async fn pruned_events_keep_their_numbers(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (tree, other) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    let mut agent = claim(&store, tree.id).await?.agent;
    for text in ["one", "two", "three", "four"] {
        let item = say(&mut agent, RunId::new(), text);
        store.commit(Commit::fenced(&agent, at(2)).write(Write::Item(item))).await?;
    }
    for (below, left) in [
        (0, vec![1, 2, 3, 4, 5]),
        (3, vec![3, 4, 5]),
        (2, vec![3, 4, 5]),
        (100, vec![5]),
        (u64::MAX, vec![5]),
    ] {
        store.commit(Commit::new(at(3)).write(Write::PruneEvents(tree.id, below))).await?;
        assert_eq!(numbers(&store, tree.id).await?, left, "below {below}");
    }
    assert_eq!(numbers(&store, other.id).await?, [1]);
    assert_eq!(store.items(&Scope::All, ItemQuery::of(tree.id, 0, 100)).await?.len(), 4);
    drop(store);
    let store = place.open().await?;
    store.commit(Commit::new(at(4)).write(Write::record(&question(&tree))?)).await?;
    assert_eq!(numbers(&store, tree.id).await?, [5, 6]);
    Ok(())
}

/// An agent is removed with everything that belongs to it, children before their parents, a root with its
/// tree; other trees are untouched, and a post to a removed agent is refused.
pub async fn a_pruned_agent_leaves_no_rows(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (tree, other) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    let child = new_child(&store, &tree).await?;
    let mut runs = Vec::new();
    for known in [&tree, &child, &other] {
        let mut agent = claim(&store, known.id).await?.agent;
        let (run, item) = (run(&agent), say(&mut agent, RunId::new(), "hello"));
        let commit = Commit::fenced(&agent, at(2))
            .write(Write::Run(run.clone()))
            .write(Write::Step(step(run.id, "tool/1", open())))
            .write(Write::Item(item))
            .write(Write::record(&question(&agent))?)
            .write(Write::Post(post(agent.id, "dig")))
            .write(Write::ScheduleWakeup(wakeup(&agent, at(3))))
            .write(Write::record(&note(&agent, "depth", "two metres"))?);
        store.commit(commit).await?;
        runs.push(run.id);
    }
    store.commit(Commit::new(at(2)).write(Write::entity(request(&owner(), "kept", "done")))).await?;

    let orphaned = store.commit(Commit::new(at(3)).write(Write::PruneAgent(tree.id))).await;
    assert!(matches!(orphaned, Err(Error::HasChildren { .. })), "{orphaned:?}");
    // A sibling of the root, without a parent, depends on the root, too, and is removed before it.
    let beside = Agent { root: tree.root, ..Agent::root(owner(), "helper", "digs beside it", at(3)) };
    store.commit(Commit::new(at(3)).write(Write::NewAgent(beside.clone()))).await?;
    let alone = Commit::new(at(3)).write(Write::PruneAgent(child.id)).write(Write::PruneAgent(tree.id));
    let orphaned = store.commit(alone).await;
    assert!(matches!(orphaned, Err(Error::HasChildren { .. })), "{orphaned:?}");
    // Nor is an agent removed by the commit that puts another below it.
    let late = Write::NewAgent(child.child("digger", "digs below it", None, at(3)));
    let orphaned = store.commit(Commit::new(at(3)).write(late).write(Write::PruneAgent(child.id))).await;
    assert!(matches!(orphaned, Err(Error::HasChildren { .. })), "{orphaned:?}");
    store.commit(Commit::new(at(3)).write(Write::PruneAgent(beside.id))).await?;
    assert!(!numbers(&store, tree.id).await?.is_empty(), "the tree's events stay");
    let own = claim(&store, tree.id).await?.agent;
    let fenced = store.commit(Commit::fenced(&own, at(3)).write(Write::PruneAgent(child.id))).await;
    assert!(matches!(fenced, Err(Error::RuleViolation(_))), "{fenced:?}");

    let both = Commit::new(at(3)).write(Write::PruneAgent(child.id)).write(Write::PruneAgent(tree.id));
    store.commit(both).await?;
    for gone in [&tree, &child] {
        assert_eq!(store.agent(&Scope::All, gone.id).await?, None);
        assert!(store.items(&Scope::All, ItemQuery::of(gone.id, 0, 100)).await?.is_empty());
        assert!(store.inbox(gone.id).await?.is_empty());
        assert!(store.claim(gone.id, 0).await?.is_none());
        let posted = store.commit(Commit::new(at(4)).write(Write::Post(post(gone.id, "?")))).await;
        assert!(matches!(posted, Err(Error::NoAgent { .. })), "{posted:?}");
    }
    assert!(numbers(&store, tree.id).await?.is_empty());
    assert_eq!(store.due(at(9), None, 100).await?.len(), 1);
    let kept: Vec<RunId> =
        store.runs(&Scope::All, RunQuery::default()).await?.iter().map(|run| run.id).collect();
    assert_eq!(kept, runs[2..]);
    assert!(store.steps(&Scope::All, runs[0]).await?.is_empty());
    assert_eq!(store.steps(&Scope::All, runs[2]).await?.len(), 1);
    for (kind, left) in [(EntityKind::QUESTION, 1), (EntityKind::NOTE, 1), (EntityKind::REQUEST, 1)] {
        assert_eq!(store.entities(&Scope::All, EntityQuery::of(kind)).await?.len(), left, "{kind}");
    }
    let words = EntityQuery { text: Some("metres".to_owned()), ..EntityQuery::records::<Note>() };
    assert_eq!(store.entities(&Scope::All, words).await?.len(), 1);
    assert_eq!(store.agents(&Scope::All, AgentQuery::default()).await?.len(), 1);
    assert_eq!(numbers(&store, other.id).await?.len(), 5);

    store.commit(Commit::new(at(5)).write(Write::PruneAgent(other.id))).await?;
    let next = new_root(&store, owner()).await?;
    assert_eq!(numbers(&store, next.id).await?, [1], "nothing is left to the next tree");
    Ok(())
}

/// A child is removed from a living tree with the records that belong to it, and a tombstone is left: the events of
/// the tree keep their numbers and are read without its items and texts, and the tree goes on.
pub async fn a_child_forgotten_in_a_living_tree_leaves_its_events(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let tree = new_root(&store, owner()).await?;
    let child = new_child(&store, &tree).await?;
    let mut agent = claim(&store, child.id).await?.agent;
    let item = say(&mut agent, RunId::new(), "hello");
    let (own, assigned) = (note(&child, "depth", "two metres"), task(&tree, child.id));
    agent.status = Status::Succeeded;
    let commit = Commit::fenced(&agent, at(2))
        .write(Write::Item(item))
        .write(Write::record(&own)?)
        .write(Write::record(&assigned)?)
        .write(Write::Agent(agent.clone()));
    store.commit(commit).await?;
    let before = store.events(&Scope::All, tree.id, 0, 100).await?;

    let (of, owner, root) = (Parent::from(child.id), child.owner.clone(), tree.id);
    let left = Tombstone { of, owner, root, agent: child.id, at: at(3) };
    let forget = || Commit::new(at(3)).expect(Expect::Ended(child.id)).write(Write::PruneAgent(child.id));
    store.commit(forget().write(Write::record(&left)?)).await?;
    let after = store.events(&Scope::All, tree.id, 0, 100).await?;
    assert!(after.iter().map(|event| event.seq).eq(1..=before.len() as u64 + 1), "{after:?}");
    for (before, after) in before.iter().zip(&after) {
        let left = before.body.clone();
        let left = if before.agent == child.id { left.without_texts() } else { left };
        assert_eq!((&left, before.agent), (&after.body, after.agent));
    }
    assert!(
        matches!(after.last().map(|event| &event.body), Some(EventBody::Record { kind, .. }) if kind == "tombstone")
    );
    assert_eq!(store.agent(&Scope::All, child.id).await?, None);
    assert_eq!(store.entities(&Scope::All, EntityQuery::records::<Note>()).await?, []);
    assert_eq!(store.entities(&Scope::All, EntityQuery::records::<Task>()).await?.len(), 1, "its parent's");
    assert_eq!((&store as &dyn Store).record::<Tombstone>(&Scope::All, &left.of).await?, Some(left.clone()));

    let again = store.commit(forget()).await;
    assert!(matches!(again, Err(Error::NoAgent { agent }) if agent == child.id), "{again:?}");
    drop(store);
    let store = place.open().await?;
    let next = new_child(&store, &tree).await?;
    assert_eq!(
        store.items(&Scope::All, ItemQuery::of(next.id, 0, 100)).await?,
        [],
        "nothing is left to the next one"
    );
    assert_eq!(numbers(&store, tree.id).await?.last(), Some(&(before.len() as u64 + 2)));
    Ok(())
}

/// If the last event of a tree is about an item of a removed agent, as after a tree was removed in part, the
/// tree's events can still be read, without that item.
pub async fn an_event_outlives_the_item_that_it_names(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let tree = new_root(&store, owner()).await?;
    let child = new_child(&store, &tree).await?;
    let mut agent = claim(&store, child.id).await?.agent;
    let item = say(&mut agent, RunId::new(), "hello");
    store.commit(Commit::fenced(&agent, at(2)).write(Write::Item(item))).await?;
    let last = store.last_event(&Scope::All, tree.id).await?;
    store.commit(Commit::new(at(3)).write(Write::PruneEvents(tree.id, last))).await?;
    store.commit(Commit::new(at(3)).write(Write::PruneAgent(child.id))).await?;
    let events = store.events(&Scope::All, tree.id, 0, 100).await?;
    let bodies: Vec<_> = events.iter().map(|event| (event.seq, &event.body)).collect();
    assert_eq!(bodies, [(last, &EventBody::Item { item_seq: 0, item: None })]);
    Ok(())
}

/// An entity is removed, in a tree or not, even twice, and can be created again; no activation removes one.
pub async fn a_pruned_entity_is_removed(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let tree = new_root(&store, owner()).await?;
    let (kept, gone) = (note(&tree, "depth", "two metres"), note(&tree, "width", "one metre"));
    let new = Commit::new(at(2))
        .write(Write::entity(request(&owner(), "old", "done")))
        .write(Write::entity(request(&owner(), "young", "done")))
        .write(Write::record(&kept)?)
        .write(Write::record(&gone)?);
    store.commit(new).await?;
    let [old, young] = ["old", "young"].map(|key| request(&owner(), key, "done").id);
    let own = claim(&store, tree.id).await?.agent;
    let fenced = store.commit(Commit::fenced(&own, at(3)).write(forget(EntityKind::REQUEST, &old))).await;
    assert!(matches!(fenced, Err(Error::RuleViolation(_))), "{fenced:?}");
    for _ in 0..2 {
        let commit = Commit::new(at(3)).write(forget(EntityKind::REQUEST, &old));
        store.commit(commit.write(forget(EntityKind::NOTE, &gone.id.to_string()))).await?;
    }
    let left = store.entities(&Scope::All, EntityQuery::of(EntityKind::REQUEST)).await?;
    assert_eq!(left.iter().map(|left| left.id.as_str()).collect::<Vec<_>>(), [young]);
    let notes = store.entities(&Scope::All, EntityQuery::records::<Note>()).await?;
    assert_eq!(notes.iter().map(|left| left.id.clone()).collect::<Vec<_>>(), [kept.id.to_string()]);
    let again = Commit::new(at(4)).expect(Expect::Absent(EntityKind::REQUEST, old));
    store.commit(again).await?;
    Ok(())
}

/// Who deletes the agent of a goal removes the goal in the same commit; no activation removes anything else.
pub async fn an_activation_removes_the_goal_of_its_agent_and_nothing_else(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (one, other) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    for agent in [&one, &other] {
        let (title, text) = ("See Rome".to_owned(), String::new());
        let goal = Goal {
            agent: agent.id,
            owner: owner(),
            title,
            description: text.clone(),
            instructions: text,
            status: GoalStatus::Open,
            created: at(1),
            updated: at(1),
        };
        store.commit(Commit::new(at(1)).write(Write::record(&goal)?)).await?;
    }
    let writer = claim(&store, one.id).await?.agent;
    let removal = |kind, of: &Agent| {
        let deleted = Agent { status: Status::Cancelled, ..writer.clone() };
        Commit::fenced(&writer, at(2)).write(Write::Agent(deleted)).write(forget(kind, &of.id.to_string()))
    };
    for refused in [removal(EntityKind::GOAL, &other), removal(EntityKind::NOTE, &one)] {
        let refused = store.commit(refused).await;
        assert!(matches!(refused, Err(Error::RuleViolation(_))), "{refused:?}");
    }
    store.commit(removal(EntityKind::GOAL, &one)).await?;
    let left = store.entities(&Scope::All, EntityQuery::records::<Goal>()).await?;
    assert_eq!(left.iter().map(|left| left.id.clone()).collect::<Vec<_>>(), [other.id.to_string()]);
    let deleted = store.agent(&Scope::All, one.id).await?.map(|agent| agent.status);
    assert_eq!(deleted, Some(Status::Cancelled));
    Ok(())
}

fn forget(kind: EntityKind, id: &str) -> Write {
    Write::PruneEntity(kind, id.to_owned())
}

/// A tree is at rest if none of its agents is queued, running or waiting, has posts or wake-ups, or has
/// changed recently.
pub async fn a_tree_with_open_work_is_not_at_rest(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let tree = new_root(&store, owner()).await?;
    let child = new_child(&store, &tree).await?;
    let rests = async |since| {
        let commit = Commit::new(at(9)).expect(Expect::AtRest(tree.id, at(since)));
        match store.commit(commit).await {
            Ok(_) => Ok(true),
            Err(Error::NotAtRest { root }) if root == tree.id => Ok(false),
            Err(error) => Err(error),
        }
    };
    assert!(rests(5).await?);
    let mut agent = claim(&store, child.id).await?.agent;
    for (status, at_rest) in [
        (Status::Queued, false),
        (Status::Running, false),
        (Status::Waiting, false),
        (Status::Failed, true),
        (Status::Succeeded, true),
        (Status::Cancelled, true),
    ] {
        (agent.status, agent.updated) = (status, at(4));
        store.commit(Commit::fenced(&agent, at(4)).write(Write::Agent(agent.clone()))).await?;
        assert_eq!((rests(4).await?, rests(3).await?), (at_rest, false), "{status}");
    }
    let (letter, alarm) = (post(child.id, "dig"), wakeup(&child, at(100)));
    store.commit(Commit::new(at(4)).write(Write::Post(letter.clone()))).await?;
    assert!(!rests(5).await?);
    store.commit(Commit::fenced(&agent, at(4)).write(Write::ConsumePost(letter.id))).await?;
    assert!(rests(5).await?);
    store.commit(Commit::new(at(4)).write(Write::ScheduleWakeup(alarm))).await?;
    assert!(!rests(5).await?);
    Ok(())
}
