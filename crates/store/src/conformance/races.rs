//! Races of two writers with a handle each: one of them succeeds, or both in some order, and neither in part.
//! Two hundred rounds of each race.

use std::{future::Future, sync::Arc};

use entourage_types::{AgentId, EntityKind, Event, RunId, Scope};

use super::{
    handles::Handles,
    sample::{at, claim, join, new_root, owner, post, request, say, wakeup},
};
use crate::{
    AgentQuery, Commit, Committed, Error, Expect, ItemQuery, Result, Store, Write, counter::next_number,
};

pub(super) const ROUNDS: u64 = 200;

/// Runs both at once; which of them starts first alternates from round to round. In two rounds of ten, one of them waits
/// for the other, so that both orders come whatever else the machine does.
pub(super) async fn at_once<A: Send + 'static, B: Send + 'static>(
    round: u64,
    one: impl Future<Output = A> + Send + 'static,
    other: impl Future<Output = B> + Send + 'static,
) -> Result<(A, B)> {
    let (one, other) = (async { Ok(one.await) }, async { Ok(other.await) });
    match round % 10 {
        8 => {
            let one = one.await?;
            Ok((one, other.await?))
        }
        9 => {
            let other = other.await?;
            Ok((one.await?, other))
        }
        even if even.is_multiple_of(2) => {
            let (one, other) = (tokio::spawn(one), tokio::spawn(other));
            Ok((join(one).await?, join(other).await?))
        }
        _ => {
            let other = tokio::spawn(other);
            let one = tokio::spawn(one);
            Ok((join(one).await?, join(other).await?))
        }
    }
}

/// Counts how often each of two orders occurred. Both must occur: otherwise the rule for one of them is not
/// tested.
#[derive(Default)]
pub(super) struct Orders(u64, u64);

impl Orders {
    pub(super) fn saw(&mut self, first: bool) {
        if first { self.0 += 1 } else { self.1 += 1 }
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.0 > 0 && self.1 > 0, "one order never came: {} to {}", self.0, self.1);
        }
    }
}

/// Opens the two handles, to be shared with spawned tasks.
pub(super) async fn two<P: Handles>(place: &P) -> Result<[Arc<P::Store>; 2]> {
    Ok(place.open_two().await?.map(Arc::new))
}

/// Runs two commits at once, each through its own handle.
pub(super) async fn both<S: Store>(
    handles: &[Arc<S>; 2],
    round: u64,
    one: Commit,
    other: Commit,
) -> Result<(Result<Committed>, Result<Committed>)> {
    let [first, second] = handles.clone();
    at_once(round, async move { first.commit(one).await }, async move { second.commit(other).await }).await
}

/// Asserts that one of two commits succeeded and that the other was refused as expected.
pub(super) fn one_of(outcomes: &(Result<Committed>, Result<Committed>), is_refusal: fn(&Error) -> bool) {
    match outcomes {
        (Ok(_), Err(refusal)) | (Err(refusal), Ok(_)) if is_refusal(refusal) => {}
        other => panic!("not one of two: {other:?}"),
    }
}

/// Asserts that the numbers of a tree's events have no gaps, and begin at `first`.
fn without_gaps(events: &[Event], first: u64) {
    assert!(events.iter().map(|event| event.seq).eq(first..first + events.len() as u64), "{events:?}");
}

/// Two writers create the last agent that a tree has room for: one succeeds.
pub async fn two_writers_cannot_both_take_the_last_place_of_a_tree(place: impl Handles) -> Result<()> {
    let handles = two(&place).await?;
    for round in 0..ROUNDS {
        let root = new_root(&*handles[0], owner()).await?;
        let make = || {
            let child = root.child("digger", "digs", None, at(1));
            Commit::new(at(1)).expect(Expect::TreeBelow(root.id, 2)).write(Write::NewAgent(child))
        };
        let outcomes = both(&handles, round, make(), make()).await?;
        one_of(&outcomes, |refusal| matches!(refusal, Error::TreeFull { .. }));
        let query = AgentQuery { root: Some(root.id), ..AgentQuery::default() };
        assert_eq!(handles[1].agents(&Scope::All, query).await?.len(), 2);
    }
    Ok(())
}

/// Two writers create the same record, two change a record that must be in a status, and two change the
/// version that they read: one of each succeeds.
pub async fn two_writers_cannot_both_create_or_change_a_record(place: impl Handles) -> Result<()> {
    let handles = two(&place).await?;
    for round in 0..ROUNDS {
        let id = round.to_string();
        let record = |status| Write::entity(request(&owner(), &id, status));
        let make = |status| {
            Commit::new(at(1)).expect(Expect::Absent(EntityKind::REQUEST, id.clone())).write(record(status))
        };
        let outcomes = both(&handles, round, make("open"), make("open")).await?;
        one_of(&outcomes, |refusal| matches!(refusal, Error::Exists { .. }));
        let change = |status| {
            let expected = Expect::Status(EntityKind::REQUEST, id.clone(), "open");
            Commit::new(at(2)).expect(expected).write(record(status))
        };
        let outcomes = both(&handles, round, change("one"), change("other")).await?;
        one_of(&outcomes, |refusal| matches!(refusal, Error::NotInStatus { .. }));
        let found = handles[1].entity(&Scope::All, EntityKind::REQUEST, &id).await?;
        let expected = if outcomes.0.is_ok() { "one" } else { "other" };
        assert_eq!(found.as_ref().map(|found| (found.status.as_str(), found.version)), Some((expected, 2)));
        let change = |status| {
            let expected = Expect::Version(EntityKind::REQUEST, id.clone(), 2);
            Commit::new(at(3)).expect(expected).write(record(status))
        };
        let outcomes = both(&handles, round, change("one"), change("other")).await?;
        one_of(&outcomes, |refusal| matches!(refusal, Error::OtherVersion { expected: 2, found: 3, .. }));
    }
    Ok(())
}

/// Two writers take numbers of one counter: each gets another one, and none is skipped.
pub async fn a_counter_gives_each_number_once(place: impl Handles) -> Result<()> {
    let handles = two(&place).await?;
    let number = async |handle: usize| {
        let mut commit = Commit::new(at(1));
        let number = next_number(&*handles[handle], &owner(), "projects", &mut commit).await?;
        Ok::<_, Error>((number, commit))
    };
    for round in 0..ROUNDS {
        let ((one, first), (other, second)) = (number(0).await?, number(1).await?);
        assert_eq!((one, other), (round + 1, round + 1));
        let outcomes = both(&handles, round, first, second).await?;
        one_of(&outcomes, |refusal| matches!(refusal, Error::OtherVersion { kind: EntityKind::COUNTER, .. }));
    }
    Ok(())
}

/// A tree at rest is removed while another writer posts to it or wakes it: one of them succeeds.
pub async fn a_tree_is_either_pruned_or_written_to(place: impl Handles) -> Result<()> {
    let (handles, mut orders) = (two(&place).await?, Orders::default());
    for round in 0..ROUNDS {
        let root = new_root(&*handles[0], owner()).await?;
        let forget =
            Commit::new(at(9)).expect(Expect::AtRest(root.id, at(5))).write(Write::PruneAgent(root.id));
        let mut news = Commit::new(at(2));
        match round / 2 % 2 {
            0 => news.post(post(root.id, "hello"), &root.owner),
            _ => news.push(Write::ScheduleWakeup(wakeup(&root, at(2)))),
        }
        let outcomes = both(&handles, round, forget, news).await?;
        one_of(&outcomes, |refusal| matches!(refusal, Error::NotAtRest { .. } | Error::NoAgent { .. }));
        let is_left = handles[1].agent(&Scope::All, root.id).await?.is_some();
        assert_eq!(is_left, outcomes.1.is_ok());
        orders.saw(is_left);
        let woken = handles[0].due(at(99), None, u32::MAX).await?;
        assert_eq!(woken.iter().any(|wakeup| wakeup.agent == root.id), is_left);
    }
    Ok(())
}

/// A tree is removed while an activation claims its root: the activation then writes nothing.
pub async fn a_claim_of_a_pruned_tree_writes_nothing(place: impl Handles) -> Result<()> {
    let (handles, mut orders) = (two(&place).await?, Orders::default());
    for round in 0..ROUNDS {
        let root = new_root(&*handles[0], owner()).await?;
        let forget =
            Commit::new(at(9)).expect(Expect::AtRest(root.id, at(5))).write(Write::PruneAgent(root.id));
        let [first, second] = handles.clone();
        let id = root.id;
        let (forgotten, claimed) =
            at_once(
                round,
                async move { first.commit(forget).await },
                async move { second.claim(id, 0).await },
            )
            .await?;
        forgotten?;
        let claimed = claimed?;
        orders.saw(claimed.is_some());
        if let Some(claimed) = claimed {
            let mut agent = claimed.agent;
            let item = say(&mut agent, RunId::new(), "nobody reads this");
            let refused = handles[1].commit(Commit::fenced(&agent, at(10)).write(Write::Item(item))).await;
            assert!(matches!(refused, Err(Error::Fenced { .. })), "{refused:?}");
        }
        assert!(handles[1].claim(root.id, 0).await?.is_none());
    }
    Ok(())
}

/// An activation commits while another claims its agent: the claim reads the commit, or the commit is
/// refused.
pub async fn a_claim_reads_what_was_committed_before_it(place: impl Handles) -> Result<()> {
    let (handles, mut orders) = (two(&place).await?, Orders::default());
    for round in 0..ROUNDS {
        let root = new_root(&*handles[0], owner()).await?;
        let mut agent = claim(&*handles[0], root.id).await?.agent;
        let item = say(&mut agent, RunId::new(), "hello");
        let commit = Commit::fenced(&agent, at(2)).write(Write::Item(item));
        let [first, second] = handles.clone();
        let id = root.id;
        let (committed, claimed) =
            at_once(
                round,
                async move { first.commit(commit).await },
                async move { claim(&*second, id).await },
            )
            .await?;
        let claimed = claimed?;
        orders.saw(committed.is_ok());
        match committed {
            Ok(_) => assert_eq!((claimed.items.len(), claimed.agent.items), (1, 1)),
            Err(Error::Fenced { .. }) => assert_eq!((claimed.items.len(), claimed.agent.items), (0, 0)),
            other => panic!("{other:?}"),
        }
        assert!(claimed.agent.epoch > agent.epoch);
    }
    Ok(())
}

/// Events of a tree are removed while it gets a new one: the new one stays, and the numbers have no gaps.
pub async fn pruning_events_loses_no_event_added_meanwhile(place: impl Handles) -> Result<()> {
    let (handles, mut orders) = (two(&place).await?, Orders::default());
    for round in 0..ROUNDS {
        let root = new_root(&*handles[0], owner()).await?;
        let child = |at| Write::NewAgent(root.child("digger", "digs", None, at));
        handles[0].commit(Commit::new(at(1)).write(child(at(1))).write(child(at(1)))).await?;
        let forget = Commit::new(at(2)).write(Write::PruneEvents(root.id, u64::MAX));
        let (forgotten, added) =
            both(&handles, round, forget, Commit::new(at(2)).write(child(at(2)))).await?;
        forgotten?;
        added?;
        let left = handles[1].events(&Scope::All, root.id, 0, 100).await?;
        let last = handles[0].last_event(&Scope::All, root.id).await?;
        assert_eq!((left.last().map(|event| event.seq), last), (Some(4), 4));
        without_gaps(&left, left.first().map_or(0, |event| event.seq));
        orders.saw(left.len() == 1);
    }
    Ok(())
}

/// A post arrives while the agent's activation commits: this commit or the next one reports it.
pub async fn a_commit_or_the_next_one_reports_a_concurrent_post(place: impl Handles) -> Result<()> {
    let (handles, mut orders) = (two(&place).await?, Orders::default());
    for round in 0..ROUNDS {
        let root = new_root(&*handles[0], owner()).await?;
        let mut agent = claim(&*handles[0], root.id).await?.agent;
        let mut commit = |text| {
            let item = say(&mut agent, RunId::new(), text);
            Commit::fenced(&agent, at(2)).write(Write::Item(item))
        };
        let (first, next) = (commit("first"), commit("next"));
        let mut news = Commit::new(at(2));
        news.post(post(root.id, "hello"), &root.owner);
        let (committed, posted) = both(&handles, round, first, news).await?;
        posted?;
        orders.saw(committed?.inbox);
        // Whether the post arrived before or after, the next commit reports it.
        assert!(handles[0].commit(next).await?.inbox);
        assert_eq!(handles[0].inbox(root.id).await?.len(), 1);
    }
    Ok(())
}

/// Two writers write to the same two trees in opposite order: both succeed.
pub async fn two_writers_may_write_two_trees_in_opposite_order(place: impl Handles) -> Result<()> {
    let handles = two(&place).await?;
    let one = new_root(&*handles[0], owner()).await?;
    let other = new_root(&*handles[1], owner()).await?;
    for round in 0..ROUNDS {
        let child =
            |root: &entourage_types::Agent| Write::NewAgent(root.child("digger", "digs", None, at(1)));
        let (forth, back) = (
            Commit::new(at(1)).write(child(&one)).write(child(&other)),
            Commit::new(at(1)).write(child(&other)).write(child(&one)),
        );
        let (first, second) = both(&handles, round, forth, back).await?;
        first?;
        second?;
    }
    for root in [one.id, other.id] {
        let mut events: Vec<Event> = Vec::new();
        loop {
            let after = events.last().map_or(0, |event| event.seq);
            let page = handles[0].events(&Scope::All, root, after, 1000).await?;
            if page.is_empty() {
                break;
            }
            events.extend(page);
        }
        without_gaps(&events, 1);
        assert_eq!(events.len() as u64, 1 + 2 * ROUNDS);
        let agents: std::collections::HashSet<AgentId> = events.iter().map(|event| event.agent).collect();
        assert_eq!(agents.len(), events.len(), "each was told once");
    }
    Ok(())
}

/// A handle sends hints of the commits made through it, and of no others.
pub async fn a_handle_sends_hints_of_its_own_commits_only(place: impl Handles) -> Result<()> {
    let handles = two(&place).await?;
    let mut heard = [handles[0].changed(), handles[1].changed()];
    let root = new_root(&*handles[0], owner()).await?;
    assert_eq!(
        heard[0].recv().await.map_err(|error| Error::Database(error.to_string()))?.events[0].agent,
        root.id
    );
    assert!(heard[1].try_recv().is_err());
    let query = ItemQuery::of(root.id, 0, 1);
    assert_eq!(handles[1].items(&Scope::All, query).await?, []);
    Ok(())
}
