//! Agents by their place in a tree, and how large a tree may grow.

use std::sync::Arc;

use entourage_types::{
    Agent, AgentId, Event, EventBody, Owner, ScheduleId, Scope, ShownStatus, Status, StopReason, WaitingOn,
    Wakeup,
};

use super::{
    Backing,
    sample::{at, claim, join, key, new_child, new_root, owner, post, wakeup},
};
use crate::{AgentQuery, Commit, Error, Expect, Page, Result, Store, Write};

async fn ids(store: &impl Store, query: AgentQuery) -> Result<Vec<AgentId>> {
    Ok(store.agents(&Scope::Owner(owner()), query).await?.iter().map(|agent| agent.id).collect())
}

/// Agents are found by tree, parent, kind, key and status, alone and combined; every field reads back.
pub async fn agents_are_found_by_tree_parent_kind_key_and_status(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (one, two) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    let (child, key) = (new_child(&store, &one).await?, key("a"));
    let keyed = child.child("peer", "answers", Some(key.clone()), at(2));
    store.commit(Commit::new(at(2)).write(Write::NewAgent(keyed.clone()))).await?;
    assert_eq!(store.agent(&Scope::All, keyed.id).await?, Some(keyed.clone()));
    let mut agent = claim(&store, child.id).await?.agent;
    agent.status = Status::Running;
    agent.title = "digs on".to_owned();
    agent.updated = at(3);
    store.commit(Commit::fenced(&agent, at(3)).write(Write::Agent(agent.clone()))).await?;
    assert_eq!(store.agent(&Scope::All, child.id).await?, Some(agent));

    // A sibling of the first root, without a parent, in the same tree.
    let beside = Agent { root: one.id, ..Agent::root(owner(), "neighbour", "looks on", at(4)) };
    store.commit(Commit::new(at(4)).write(Write::NewAgent(beside.clone()))).await?;
    assert_eq!(store.agent(&Scope::All, beside.id).await?, Some(beside.clone()));

    let all = AgentQuery::default();
    for (query, expected) in [
        (all.clone(), vec![&one, &two, &child, &keyed, &beside]),
        (AgentQuery { root: Some(one.id), ..all.clone() }, vec![&one, &child, &keyed, &beside]),
        (AgentQuery { parent: Some(one.id), ..all.clone() }, vec![&child]),
        (AgentQuery { roots: true, ..all.clone() }, vec![&one, &two, &beside]),
        (AgentQuery { roots: true, root: Some(one.id), ..all.clone() }, vec![&one, &beside]),
        (AgentQuery { roots: true, root: Some(two.id), ..all.clone() }, vec![&two]),
        (AgentQuery { kind: Some("helper".to_owned()), ..all.clone() }, vec![&one, &two]),
        (AgentQuery { kind: Some("help".to_owned()), ..all.clone() }, vec![]),
        (AgentQuery { root: Some(one.id), key: Some(key.clone()), ..all.clone() }, vec![&keyed]),
        (AgentQuery { root: Some(two.id), key: Some(key.clone()), ..all.clone() }, vec![]),
        (AgentQuery { status: Some(ShownStatus::Running), ..all.clone() }, vec![&child]),
        (
            AgentQuery { status: Some(ShownStatus::Idle), root: Some(one.id), ..all },
            vec![&one, &keyed, &beside],
        ),
    ] {
        let expected: Vec<AgentId> = expected.into_iter().map(|agent| agent.id).collect();
        assert_eq!(ids(&store, query.clone()).await?, expected, "{query:?}");
    }
    Ok(())
}

/// An agent keeps the reason why it failed, and a query finds stopped agents apart from failed ones.
pub async fn stopped_agents_are_found_apart_from_failed_ones(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let mut ended = Vec::new();
    for why in [None, Some(StopReason::MaxSteps), Some(StopReason::Cancelled)] {
        let known = new_root(&store, owner()).await?;
        let agent = claim(&store, known.id).await?.agent;
        let row = Agent { status: Status::Failed, stop_reason: why, ..agent.clone() };
        store.commit(Commit::fenced(&agent, at(2)).write(Write::Agent(row.clone()))).await?;
        assert_eq!(store.agent(&Scope::All, known.id).await?, Some(row));
        let told = store.events(&Scope::All, known.root, 1, 10).await?;
        assert!(
            matches!(&told[..], [Event { body: EventBody::AgentStatus { stop_reason, .. }, .. }] if *stop_reason == why)
        );
        ended.push(known.id);
    }
    // An agent that ends again for another reason has another event.
    let agent = claim(&store, ended[1]).await?.agent;
    for (why, told) in
        [(Some(StopReason::Cancelled), 3), (Some(StopReason::Cancelled), 3), (Some(StopReason::MaxSteps), 4)]
    {
        let row = Agent { stop_reason: why, ..agent.clone() };
        store.commit(Commit::fenced(&agent, at(3)).write(Write::Agent(row))).await?;
        assert_eq!(store.last_event(&Scope::All, agent.root).await?, told);
    }
    for (status, expected) in [(ShownStatus::Failed, &ended[..2]), (ShownStatus::Stopped, &ended[2..])] {
        let query = AgentQuery { status: Some(status), ..AgentQuery::default() };
        assert_eq!(ids(&store, query).await?, expected);
    }
    Ok(())
}

/// Agents are found by whether their inbox has posts and by whether they have wake-ups.
pub async fn agents_are_found_by_their_posts_and_wakeups(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let mut agents = Vec::new();
    for _ in 0..4 {
        agents.push(new_root(&store, owner()).await?);
    }
    let [quiet, written_to, woken, both] = &agents[..] else { return Ok(()) };
    let later = wakeup(woken, at(9_000_000));
    let unwoken = Commit::new(at(2)).write(Write::Post(post(written_to.id, "hello")));
    // A schedule wakes an agent for its own sake.
    let scheduled = Wakeup { schedule: Some(ScheduleId::new()), ..wakeup(quiet, at(9_500_000)) };
    let unwoken = unwoken.write(Write::ScheduleWakeup(scheduled.clone()));
    store.commit(unwoken.write(Write::ScheduleWakeup(later.clone()))).await?;
    assert_eq!(store.due(at(10_000_000), None, 10).await?, [later.clone(), scheduled.clone()]);
    assert_eq!(claim(&store, quiet.id).await?.wakeups, [scheduled]);
    let mut commit = Commit::new(at(3));
    commit.post(post(both.id, "hello"), &owner());
    store.commit(commit).await?;

    let all = AgentQuery::default();
    for (query, expected) in [
        (AgentQuery { unread: true, ..all.clone() }, vec![written_to.id, both.id]),
        (AgentQuery { unwoken: true, ..all.clone() }, vec![quiet.id, written_to.id]),
        (AgentQuery { unread: true, unwoken: true, ..all.clone() }, vec![written_to.id]),
        (AgentQuery { unwoken: true, root: Some(quiet.id), ..all.clone() }, vec![quiet.id]),
    ] {
        assert_eq!(ids(&store, query.clone()).await?, expected, "{query:?}");
    }
    let agent = claim(&store, woken.id).await?.agent;
    store.commit(Commit::fenced(&agent, at(4)).write(Write::ConsumeWakeup(later.id))).await?;
    let found = ids(&store, AgentQuery { unwoken: true, ..all }).await?;
    assert_eq!(found, [quiet.id, written_to.id, woken.id]);
    Ok(())
}

/// Active are those that are queued, at work or waiting, and those that have something to read and were not deleted;
/// of one owner or of all.
pub async fn active_agents_are_found_in_one_query(place: impl Backing) -> Result<()> {
    use Status::{Cancelled, Failed, Idle, Queued, Running, Succeeded, Waiting};
    let store = place.open().await?;
    let mut active = Vec::new();
    for (status, unread) in [Idle, Queued, Running, Waiting, Succeeded, Failed, Cancelled]
        .into_iter()
        .flat_map(|status| [(status, false), (status, true)])
    {
        let known = new_root(&store, owner()).await?;
        let agent = claim(&store, known.id).await?.agent;
        let waiting_on = (status == Waiting).then_some(WaitingOn::User);
        let row = Agent { status, waiting_on, ..agent.clone() };
        store.commit(Commit::fenced(&agent, at(2)).write(Write::Agent(row))).await?;
        if unread {
            store.commit(Commit::new(at(3)).write(Write::Post(post(agent.id, "hello")))).await?;
        }
        if matches!(status, Queued | Running | Waiting) || (unread && status != Cancelled) {
            active.push(agent.id);
        }
    }
    let other = new_root(&store, Owner::new("other")).await?;
    store.commit(Commit::new(at(3)).write(Write::Post(post(other.id, "hello")))).await?;
    let query = AgentQuery { active: true, ..AgentQuery::default() };
    let of = async |scope: Scope, query: AgentQuery| -> Result<Vec<AgentId>> {
        Ok(store.agents(&scope, query).await?.iter().map(|agent| agent.id).collect())
    };
    assert_eq!(of(Scope::from(&owner()), query.clone()).await?, active);
    assert_eq!(of(Scope::All, query.clone()).await?, [&active[..], &[other.id]].concat());
    let page = Page { after: Some(active[0].to_string()), limit: 2, ..Page::default() };
    assert_eq!(of(Scope::from(&owner()), AgentQuery { page, ..query.clone() }).await?, active[1..3]);
    let of_one = AgentQuery { root: Some(active[2]), ..query };
    assert_eq!(of(Scope::from(&owner()), of_one).await?, active[2..3]);
    Ok(())
}

/// Lists go from the oldest or from the newest, in pages that join without gaps.
pub async fn pages_of_agents_go_both_ways(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let mut made = Vec::new();
    for _ in 0..7 {
        made.push(new_root(&store, owner()).await?.id);
    }
    for newest_first in [false, true] {
        for limit in [1, 3, 7] {
            let (mut seen, mut after): (Vec<AgentId>, _) = (Vec::new(), None);
            loop {
                let page = Page { after, limit, newest_first, ..Page::default() };
                let found = ids(&store, AgentQuery { roots: true, page, ..AgentQuery::default() }).await?;
                after = found.last().map(ToString::to_string);
                seen.extend(found);
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(seen, made, "newest first {newest_first}, pages of {limit}");
        }
        made.reverse();
    }
    Ok(())
}

/// Returns how many of these concurrent commits succeed; the others must be refused as expected.
async fn taken_of(
    store: &Arc<impl Store + 'static>,
    commits: impl Iterator<Item = Commit>,
    is_expected: impl Fn(&Error) -> bool,
) -> Result<usize> {
    let made: Vec<_> = commits
        .map(|commit| {
            let store = Arc::clone(store);
            tokio::spawn(async move { store.commit(commit).await })
        })
        .collect();
    let mut taken = 0;
    for commit in made {
        match join(commit).await {
            Ok(_) => taken += 1,
            Err(error) if is_expected(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(taken)
}

/// A tree accepts agents up to its limit, however many are created at once.
pub async fn a_full_tree_refuses_new_agents(place: impl Backing) -> Result<()> {
    let store = Arc::new(place.open().await?);
    let (root, other) = (new_root(&*store, owner()).await?, new_root(&*store, owner()).await?);
    let spawn = |above: &Agent| {
        let child = above.child("digger", "digs", None, at(1));
        Commit::new(at(1)).expect(Expect::TreeBelow(above.root, 5)).write(Write::NewAgent(child))
    };
    let made = taken_of(
        &store,
        (0..12).map(|_| spawn(&root)),
        |error| matches!(error, Error::TreeFull { root: full, found: 5, limit: 5 } if *full == root.id),
    )
    .await?;
    assert_eq!(made, 4);
    store.commit(spawn(&other)).await?;
    Ok(())
}

/// An agent accepts children up to its limit, however many are created at once and whatever other agents its
/// tree has.
pub async fn too_many_children_are_refused(place: impl Backing) -> Result<()> {
    let store = Arc::new(place.open().await?);
    let root = new_root(&*store, owner()).await?;
    let child = root.child("digger", "digs", None, at(1));
    store.commit(Commit::new(at(1)).write(Write::NewAgent(child.clone()))).await?;
    let spawn = |above: &Agent| {
        let new = above.child("digger", "digs", None, at(2));
        Commit::new(at(2)).expect(Expect::ChildrenBelow(above.id, 3)).write(Write::NewAgent(new))
    };
    let made = taken_of(
        &store,
        (0..8).map(|_| spawn(&root)),
        |error| matches!(error, Error::TooManyChildren { parent, found: 3, limit: 3 } if *parent == root.id),
    )
    .await?;
    assert_eq!(made, 2, "besides the one there was");
    store.commit(spawn(&child)).await?;
    Ok(())
}
