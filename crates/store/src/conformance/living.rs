//! Which agents live, and count against the limits of their tree, and which may be removed.

use entourage_types::{Agent, AgentId, EntityKind, Scope, Status, WorksFor};

use super::{
    Backing,
    sample::{at, claim, new_child, new_root, owner, post, question, wakeup},
};
use crate::{Commit, Error, Expect, Result, Store, Write};

/// Sets the status of an agent, as its activation does.
async fn set(store: &impl Store, id: AgentId, status: Status) -> Result<Agent> {
    let agent = claim(store, id).await?.agent;
    let row = Agent { status, ..agent.clone() };
    store.commit(Commit::fenced(&agent, at(2)).write(Write::Agent(row.clone()))).await?;
    Ok(row)
}

/// Returns how many living agents an expectation finds.
async fn found(store: &impl Store, expect: Expect, writes: Vec<Write>) -> Result<u32> {
    let commit = Commit { writes, ..Commit::new(at(3)).expect(expect) };
    match store.commit(commit).await {
        Err(Error::TooManyChildren { found, .. } | Error::TreeFull { found, .. }) => Ok(found),
        other => panic!("nothing is below 0: {other:?}"),
    }
}

/// An agent lives until it has ended and has nothing to read: idle, running and waiting ones count, and an ended one
/// counts again from the commit of a post on until it has read that and ended again.
pub async fn an_agent_lives_until_it_has_ended_and_has_nothing_to_read(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let other = new_child(&store, &root).await?;
    let child = new_child(&store, &root).await?;
    let counts = async || {
        let children = found(&store, Expect::ChildrenBelow(root.id, 0), Vec::new()).await?;
        Ok::<_, Error>((children, found(&store, Expect::TreeBelow(root.id, 0), Vec::new()).await?))
    };
    assert_eq!(counts().await?, (2, 3), "idle");
    for (status, living) in [
        (Status::Running, 2),
        (Status::Waiting, 2),
        (Status::Queued, 2),
        (Status::Failed, 1),
        (Status::Idle, 2),
        (Status::Cancelled, 1),
        (Status::Succeeded, 1),
    ] {
        set(&store, child.id, status).await?;
        assert_eq!(counts().await?, (living, living + 1), "{status}");
    }
    let letters = [post(child.id, "dig"), post(child.id, "dig on")];
    for letter in &letters {
        store.commit(Commit::new(at(4)).write(Write::Post(letter.clone()))).await?;
        assert_eq!(counts().await?, (2, 3), "it has something to read");
    }
    let agent = set(&store, child.id, Status::Failed).await?;
    assert_eq!(counts().await?, (2, 3), "it has ended and has still something to read");
    let agent = Agent { epoch: claim(&store, child.id).await?.agent.epoch, ..agent };
    for (letter, living) in letters.iter().zip([2, 1]) {
        store.commit(Commit::fenced(&agent, at(5)).write(Write::ConsumePost(letter.id))).await?;
        assert_eq!(counts().await?.0, living, "without its row");
    }
    drop(set(&store, other.id, Status::Succeeded).await?);
    assert_eq!(counts().await?, (0, 1));
    store.commit(Commit::new(at(6)).write(Write::ScheduleWakeup(wakeup(&child, at(9))))).await?;
    assert_eq!(counts().await?, (0, 1), "a wake-up alone is nothing to read");
    Ok(())
}

/// A commit that posts to an agent needs room for it, unless that agent lives already.
pub async fn an_agent_that_is_woken_again_needs_room(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let (ended, at_work) = (new_child(&store, &root).await?, new_child(&store, &root).await?);
    let third = new_child(&store, &root).await?;
    for child in [&ended, &third] {
        set(&store, child.id, Status::Succeeded).await?;
    }
    let wake = async |agent: &Agent, limit| {
        let commit = Commit::new(at(3)).expect(Expect::ChildrenBelow(root.id, limit));
        store
            .commit(
                commit
                    .expect(Expect::TreeBelow(root.id, limit + 1))
                    .write(Write::Post(post(agent.id, "dig"))),
            )
            .await
    };
    wake(&at_work, 1).await?;
    let refused = wake(&ended, 1).await;
    assert!(matches!(refused, Err(Error::TooManyChildren { found: 1, limit: 1, .. })), "{refused:?}");
    wake(&ended, 2).await?;
    wake(&ended, 2).await?;
    // What else the commit does needs room, also if it posts to a living agent, too.
    for write in [Write::NewAgent(root.child("digger", "", None, at(3))), Write::Post(post(third.id, "dig"))]
    {
        let writes = vec![Write::Post(post(at_work.id, "dig")), write];
        assert_eq!(found(&store, Expect::ChildrenBelow(root.id, 0), writes).await?, 2);
    }
    Ok(())
}

/// A tree gets no more new agents since a time than a limit, whether they live, have ended or were deleted; those of
/// other trees or from before do not count.
pub async fn a_tree_gets_no_more_new_agents_than_a_limit(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (root, _other) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    let new = |at| root.child("digger", "digs", None, at);
    let (old, first, second) = (new(at(1)), new(at(5)), new(at(6)));
    for agent in [&old, &first, &second] {
        store.commit(Commit::new(agent.created).write(Write::NewAgent(agent.clone()))).await?;
    }
    let found = async |since| {
        let commit = Commit::new(at(9)).expect(Expect::CreatedBelow(root.id, 0, at(since)));
        match store.commit(commit).await {
            Err(Error::TooManyCreated { found, limit: 0, .. }) => found,
            other => panic!("nothing is below 0: {other:?}"),
        }
    };
    assert_eq!(
        (found(0).await, found(1).await, found(5).await, found(6).await, found(7).await),
        (4, 3, 2, 1, 0)
    );
    set(&store, second.id, Status::Succeeded).await?;
    assert_eq!(found(5).await, 2, "ended");
    set(&store, second.id, Status::Cancelled).await?;
    assert_eq!(found(5).await, 2, "deleted");
    store.commit(Commit::new(at(9)).expect(Expect::CreatedBelow(root.id, 3, at(5)))).await?;
    Ok(())
}

/// The sums above a chain of agents stay exact when one commit removes it, the deepest agent first.
pub async fn sums_stay_exact_when_a_chain_is_removed(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let beside = new_child(&store, &root).await?;
    let mut chain = vec![new_child(&store, &root).await?];
    for _ in 0..3 {
        chain.push(new_child(&store, &chain[chain.len() - 1]).await?);
    }
    for agent in &chain {
        set(&store, agent.id, Status::Succeeded).await?;
    }
    let sums = async || {
        let found = store.subtrees(&Scope::All, &[root.id, chain[0].id]).await?;
        Ok::<_, Error>(found.into_iter().map(|(_, sums)| sums.agents.iter().sum()).collect::<Vec<u64>>())
    };
    assert_eq!(sums().await?, [6, 4]);
    let removed = chain[1..].iter().rev().map(|agent| Write::PruneAgent(agent.id)).collect();
    store.commit(Commit { writes: removed, ..Commit::new(at(3)) }).await?;
    assert_eq!(sums().await?, [3, 1]);
    let rest = Commit::new(at(4)).write(Write::PruneAgent(chain[0].id)).write(Write::PruneAgent(beside.id));
    store.commit(rest).await?;
    let alone = store.subtrees(&Scope::All, &[root.id]).await?;
    assert_eq!(alone[0].1.agents.iter().sum::<u64>(), 1, "{alone:?}");
    Ok(())
}

/// An open question that is removed counts no more, in the tree as at its agent.
pub async fn a_removed_question_is_open_no_more(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let child = new_child(&store, &root).await?;
    let (kept, removed) = (question(&child), question(&child));
    let mut commit = Commit::new(at(2));
    for asked in [&kept, &removed] {
        commit.push(Write::record(asked)?);
    }
    store.commit(commit).await?;
    let open = async || {
        let found = store.subtrees(&Scope::All, &[root.id, child.id]).await?;
        Ok::<_, Error>(found.into_iter().map(|(_, sums)| sums.open_questions).collect::<Vec<u64>>())
    };
    assert_eq!(open().await?, [2, 2]);
    let removal = Write::PruneEntity(EntityKind::QUESTION, removed.id.to_string());
    store.commit(Commit::new(at(3)).write(removal.clone())).await?;
    assert_eq!(open().await?, [1, 1]);
    store.commit(Commit::new(at(4)).write(removal)).await?;
    assert_eq!(open().await?, [1, 1], "it is removed once");
    Ok(())
}

/// The expectations about an agent's end: that it was not deleted, that its children were, that it has ended with
/// nothing left to do, and that no agent came to its tree.
pub async fn expectations_about_the_end_of_agents_hold_or_refuse(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let ask = async |expect: Expect| store.commit(Commit::new(at(3)).expect(expect)).await;
    let missing = root.child("digger", "digs", None, at(0)).id;
    ask(Expect::NotDeleted(root.id)).await?;
    let refused = ask(Expect::NotDeleted(missing)).await;
    assert!(matches!(refused, Err(Error::NoAgent { .. })), "{refused:?}");
    ask(Expect::ChildrenDeleted(root.id)).await?;
    ask(Expect::LastCreated { root: root.id, last: root.id }).await?;
    let child = new_child(&store, &root).await?;
    let refused = ask(Expect::LastCreated { root: root.id, last: root.id }).await;
    assert!(matches!(refused, Err(Error::HasGrown { .. })), "{refused:?}");
    ask(Expect::LastCreated { root: root.id, last: child.id }).await?;
    for (status, has_ended, deleted) in [
        (Status::Idle, false, false),
        (Status::Waiting, false, false),
        (Status::Succeeded, true, false),
        (Status::Cancelled, true, true),
    ] {
        set(&store, child.id, status).await?;
        let asked = ask(Expect::Ended(child.id)).await;
        assert!(asked.is_ok() == has_ended, "{status}: {asked:?}");
        let asked = ask(Expect::Living(child.id)).await;
        assert!(asked.is_ok() != has_ended, "{status}: {asked:?}");
        assert!(!has_ended || matches!(asked, Err(Error::HasEnded { .. })), "{asked:?}");
        let asked = ask(Expect::ChildrenDeleted(root.id)).await;
        assert!(
            asked.is_ok() == deleted && (deleted || matches!(asked, Err(Error::HasChildren { .. }))),
            "{asked:?}"
        );
        let asked = ask(Expect::NotDeleted(child.id)).await;
        assert!(
            asked.is_ok() != deleted && (!deleted || matches!(asked, Err(Error::Deleted { .. }))),
            "{asked:?}"
        );
    }
    let (letter, alarm) = (post(child.id, "dig"), wakeup(&child, at(9)));
    store.commit(Commit::new(at(4)).write(Write::Post(letter.clone()))).await?;
    let refused = ask(Expect::Ended(child.id)).await;
    assert!(matches!(refused, Err(Error::NotEnded { .. })), "{refused:?}");
    let agent = claim(&store, child.id).await?.agent;
    store.commit(Commit::fenced(&agent, at(4)).write(Write::ConsumePost(letter.id))).await?;
    ask(Expect::Ended(child.id)).await?;
    store.commit(Commit::new(at(4)).write(Write::ScheduleWakeup(alarm))).await?;
    let refused = ask(Expect::Ended(child.id)).await;
    assert!(matches!(refused, Err(Error::NotEnded { .. })), "{refused:?}");
    Ok(())
}

/// Who an agent works for reads back, and never changes.
pub async fn who_an_agent_works_for_never_changes(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let root = new_root(&store, owner()).await?;
    let helper = new_child(&store, &root).await?;
    let own = Agent { works_for: WorksFor::Person, ..root.child("digger", "digs", None, at(1)) };
    store.commit(Commit::new(at(1)).write(Write::NewAgent(own.clone()))).await?;
    for agent in [&root, &helper, &own] {
        assert_eq!(store.agent(&Scope::All, agent.id).await?.as_ref(), Some(agent));
        let claimed = claim(&store, agent.id).await?.agent;
        let works_for = if agent.works_for.is_person() { WorksFor::Parent } else { WorksFor::Person };
        let changed = Agent { works_for, ..claimed.clone() };
        let refused = store.commit(Commit::fenced(&claimed, at(2)).write(Write::Agent(changed))).await;
        assert!(matches!(refused, Err(Error::RuleViolation(_))), "{refused:?}");
    }
    Ok(())
}
