//! One writer for each agent: claims raise the epoch, and only commits under the last claim succeed.

use std::sync::Arc;

use entourage_types::{Agent, Epoch, Run, Scope, Status};

use super::{
    Backing,
    handles::Handles,
    sample::{at, claim, done, join, new_root, owner, post, run, say, step, wakeup},
};
use crate::{Commit, Error, ItemQuery, Result, Store, Write};

/// Once a claim has returned, no commit under an earlier epoch succeeds, and commits under the new one do.
pub async fn an_old_epoch_is_refused(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let agent = new_root(&store, owner()).await?;
    let unclaimed = agent.epoch;
    let (first, second) = (claim(&store, agent.id).await?.agent, claim(&store, agent.id).await?.agent);
    assert!(unclaimed.number < first.epoch.number && first.epoch.number < second.epoch.number);
    let (run, post) = (run(&second), post(agent.id, "hello"));
    let wakeup = wakeup(&agent, at(9));
    let known = Commit::fenced(&second, at(1)).write(Write::Run(run.clone()));
    store.commit(known.write(Write::Post(post.clone())).write(Write::ScheduleWakeup(wakeup.clone()))).await?;
    // Whatever the commit writes, even nothing.
    let writes = [
        None,
        Some(Write::Agent(first.clone())),
        Some(Write::Item(say(&mut first.clone(), run.id, "too late"))),
        Some(Write::Run(Run { status: Status::Failed, ..run.clone() })),
        Some(Write::Step(step(run.id, "model/0", done()))),
        Some(Write::ConsumePost(post.id)),
        Some(Write::ConsumeWakeup(wakeup.id)),
    ];
    for old in [&agent, &first] {
        for write in &writes {
            let commit = Commit { writes: write.iter().cloned().collect(), ..Commit::fenced(old, at(1)) };
            let refused = store.commit(commit).await;
            assert!(matches!(refused, Err(Error::Fenced { .. })), "{write:?}: {refused:?}");
        }
    }
    assert_eq!(store.steps(&Scope::All, run.id).await?, []);
    assert_eq!(store.inbox(agent.id).await?, [post]);
    store.commit(Commit::fenced(&second, at(1)).write(Write::Agent(second.clone()))).await?;
    let Epoch { number, token } = second.epoch;
    for epoch in [Epoch { number: 99, token }, Epoch { number, token: token ^ 1 }] {
        let refused = store.commit(Commit::fenced(&Agent { epoch, ..second.clone() }, at(1))).await;
        assert!(matches!(refused, Err(Error::Fenced { .. })), "an epoch that no claim returned: {refused:?}");
    }
    Ok(())
}

/// Concurrent claims get different epochs, and all but the highest are fenced.
pub async fn concurrent_claims_get_different_epochs(place: impl Backing) -> Result<()> {
    let store = Arc::new(place.open().await?);
    let agent = new_root(&*store, owner()).await?;
    let claims = (0..16).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { claim(&*store, agent.id).await.map(|claim| claim.agent) })
    });
    let mut claimed = Vec::new();
    for claim in claims.collect::<Vec<_>>() {
        claimed.push(join(claim).await?);
    }
    claimed.sort_by_key(|agent| agent.epoch);
    let mut numbers: Vec<u64> = claimed.iter().map(|agent| agent.epoch.number).collect();
    numbers.dedup();
    assert_eq!(numbers.len(), 16, "no number is given twice");
    let last = claimed.last().map(|agent| agent.epoch);
    for agent in claimed {
        let committed = store.commit(Commit::fenced(&agent, at(1))).await;
        assert_eq!(committed.is_ok(), Some(agent.epoch) == last, "{:?}: {committed:?}", agent.epoch);
    }
    Ok(())
}

/// A claim returns the run that has not ended, its steps, the items, the inbox and the wake-ups, due or not.
pub async fn a_claim_reads_the_run_steps_items_inbox_and_wakeups(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let agent = new_root(&store, owner()).await?;
    let mut agent = claim(&store, agent.id).await?.agent;
    let ended = Run { status: Status::Succeeded, ended: Some(at(1)), ..run(&agent) };
    let open = Run { status: Status::Waiting, ..run(&agent) };
    let posts = [post(agent.id, "one"), post(agent.id, "two")];
    let wakeups = [wakeup(&agent, at(5)), wakeup(&agent, at(1_000_000_000))];
    let mut commit = Commit::fenced(&agent, at(2))
        .write(Write::Run(ended.clone()))
        .write(Write::Step(step(ended.id, "model/0", done())))
        .write(Write::Run(open.clone()));
    let steps = ["receive/0", "model/0"].map(|key| step(open.id, key, done()));
    let items = ["one", "two", "three"].map(|text| say(&mut agent, open.id, text));
    commit.writes.extend(steps.iter().cloned().map(Write::Step));
    commit.writes.extend(items.iter().cloned().map(Write::Item));
    commit.writes.extend(posts.iter().cloned().map(Write::Post));
    commit.writes.extend(wakeups.iter().cloned().map(Write::ScheduleWakeup));
    store.commit(commit.write(Write::Agent(agent.clone()))).await?;

    let claim = claim(&store, agent.id).await?;
    assert_eq!(claim.agent, Agent { epoch: claim.agent.epoch, ..agent });
    assert_eq!(claim.run, Some(open));
    assert_eq!(claim.steps, steps);
    assert_eq!(claim.items, items);
    assert_eq!(claim.inbox, posts);
    assert_eq!(claim.wakeups, wakeups);
    Ok(())
}

/// A claim returns no items of earlier sessions, which stay readable, and no run that has ended.
pub async fn a_claim_reads_the_current_session_only(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let agent = new_root(&store, owner()).await?;
    let mut agent = claim(&store, agent.id).await?.agent;
    let run = Run { status: Status::Succeeded, ended: Some(at(1)), ..run(&agent) };
    let mut commit = Commit::fenced(&agent, at(2)).write(Write::Run(run.clone()));
    for _ in 0..3 {
        commit.push(Write::Item(say(&mut agent, run.id, "earlier")));
    }
    agent.session = 2;
    store.commit(commit.write(Write::Agent(agent.clone()))).await?;
    let empty = claim(&store, agent.id).await?;
    assert_eq!((empty.items, empty.run, empty.steps), (vec![], None, vec![]));

    agent.epoch = empty.agent.epoch;
    let item = say(&mut agent, run.id, "now");
    let commit = Commit::fenced(&agent, at(3)).write(Write::Item(item.clone()));
    store.commit(commit.write(Write::Agent(agent.clone()))).await?;
    assert_eq!(claim(&store, agent.id).await?.items, [item]);
    let all = ItemQuery::of(agent.id, 0, 10);
    assert_eq!(store.items(&Scope::All, all).await?.len(), 4);
    Ok(())
}

/// A claim leaves out items below the requested number, and those of an earlier session in any case.
pub async fn a_claim_leaves_out_items_below_the_requested_number(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let agent = new_root(&store, owner()).await?;
    let mut agent = claim(&store, agent.id).await?.agent;
    let run = run(&agent);
    let mut commit = Commit::fenced(&agent, at(2)).write(Write::Run(run.clone()));
    let items = ["one", "two", "three"].map(|text| say(&mut agent, run.id, text));
    commit.writes.extend(items.iter().cloned().map(Write::Item));
    store.commit(commit.write(Write::Agent(agent.clone()))).await?;
    for from in 0..=3 {
        let claimed = store.claim(agent.id, from).await?.ok_or(Error::NoAgent { agent: agent.id })?;
        assert_eq!((claimed.agent.items, claimed.items.as_slice()), (3, &items[from as usize..]));
    }
    let none = store.claim(agent.id, u64::MAX).await?.map(|claim| claim.items);
    assert_eq!(none, Some(vec![]), "whatever is asked for");

    agent.session += 1;
    agent.epoch = claim(&store, agent.id).await?.agent.epoch;
    let commit = Commit::fenced(&agent, at(3));
    store.commit(commit.write(Write::Agent(agent.clone()))).await?;
    assert_eq!(store.claim(agent.id, 1).await?.map(|claim| claim.items), Some(vec![]));
    Ok(())
}

/// A claim of an agent that does not exist returns none; a commit with its fence is refused.
pub async fn a_claim_of_a_missing_agent_returns_none(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let nobody = Agent::root(owner(), "helper", "never made", at(0));
    assert!(store.claim(nobody.id, 0).await?.is_none());
    let refused = store.commit(Commit::fenced(&nobody, at(1))).await;
    assert!(matches!(refused, Err(Error::Fenced { agent }) if agent == nobody.id), "{refused:?}");
    Ok(())
}

/// A claim tells how often the agent was claimed before, through whichever handle, since its last commit. Refused
/// commits do not count as one, nor do those of outsiders and of other agents.
pub async fn a_claim_counts_the_claims_since_the_last_commit(place: impl Handles) -> Result<()> {
    let [one, other] = place.open_two().await?;
    let (agent, neighbour) = (new_root(&one, owner()).await?, new_root(&one, owner()).await?);
    let mut last = agent.clone();
    for (commits, expected) in [(0, [0, 1, 2, 3]), (1, [0, 1, 2, 3]), (1, [0, 1, 2, 3])] {
        for _ in 0..commits {
            one.commit(Commit::fenced(&last, at(1))).await?;
        }
        let mut counts = Vec::new();
        for handle in [&one, &other, &one, &other] {
            let old = last;
            let claimed = claim(handle, agent.id).await?;
            counts.push(claimed.unsettled);
            last = claimed.agent;
            assert!(one.commit(Commit::fenced(&old, at(1))).await.is_err(), "an old epoch");
            other.commit(Commit::new(at(1)).write(Write::Post(post(agent.id, "hello")))).await?;
            let neighbour = claim(&other, neighbour.id).await?.agent;
            one.commit(Commit::fenced(&neighbour, at(1))).await?;
        }
        assert_eq!(counts, expected);
    }
    Ok(())
}

/// A claim names the node that it takes the agent from: whoever claimed before through another handle, and nobody at
/// the first claim and at those of one handle in a row. A store that knows no nodes never names one.
pub async fn a_claim_names_the_node_that_it_takes_the_agent_from(place: impl Handles) -> Result<()> {
    let [one, other] = place.open_two().await?;
    let agent = new_root(&one, owner()).await?;
    let mut taken = Vec::new();
    for handle in [&one, &one, &other, &one, &other] {
        taken.push(claim(handle, agent.id).await?.taken_from);
    }
    assert_eq!(taken[..2], [None, None], "the first claim, and the next one of the same handle");
    assert_eq!(taken[2], taken[4], "they name the same node");
    assert_eq!(taken[2].is_some(), taken[3].is_some());
    assert!(taken[2].is_none() || taken[2] != taken[3], "two handles are two nodes: {taken:?}");
    Ok(())
}

/// A claim tells the time of the clock that all handles share, which does not go back; or no claim tells one.
pub async fn claims_tell_the_time_of_one_clock_or_none(place: impl Handles) -> Result<()> {
    let [one, other] = place.open_two().await?;
    let agent = new_root(&one, owner()).await?;
    let mut times = Vec::new();
    for handle in [&one, &other, &one, &other] {
        times.push(claim(handle, agent.id).await?.now);
    }
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(times[0].is_some(), times[3].is_some(), "{times:?}");
    Ok(())
}
