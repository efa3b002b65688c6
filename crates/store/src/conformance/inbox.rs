//! Inboxes and wake-ups: stored until they are consumed, then gone.

use entourage_types::{AgentId, PostId, Wakeup};

use super::{
    Backing,
    sample::{at, claim, new_root, owner, post, stranger, wakeup},
};
use crate::{Commit, Error, Expect, InboxSize, Result, Store, Write};

/// Posts are read in the order of their commits, whatever their ids and times, each as it was written.
pub async fn posts_are_read_in_order_of_arrival(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (agent, other) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    let posts = ["one", "two", "three"].map(|text| post(agent.id, text));
    let order = [2, 0, 1].map(|index| posts[index].clone());
    for (post, moment) in order.iter().zip([at(3), at(2), at(1)]) {
        store.commit(Commit::new(moment).write(Write::Post(post.clone()))).await?;
    }
    assert_eq!(store.inbox(agent.id).await?, order);
    assert_eq!(store.inbox(other.id).await?, []);
    Ok(())
}

/// A commit returns whether the fenced agent's inbox has posts that it did not consume.
pub async fn a_commit_reports_whether_unread_posts_are_left(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let known = new_root(&store, owner()).await?;
    let agent = claim(&store, known.id).await?.agent;
    let fenced = || Commit::fenced(&agent, at(2));
    let (first, second, third) = (post(agent.id, "one"), post(agent.id, "two"), post(agent.id, "to myself"));
    assert!(!store.commit(fenced()).await?.inbox, "nothing posted");
    assert_eq!(store.inbox(agent.id).await?, []);
    for post in [&first, &second] {
        let outside = store.commit(Commit::new(at(1)).write(Write::Post(post.clone()))).await?;
        assert!(!outside.inbox, "an outsider has no inbox");
    }
    assert!(store.commit(fenced()).await?.inbox, "two unread");
    assert!(store.commit(fenced().write(Write::ConsumePost(first.id))).await?.inbox, "one unread");
    assert_eq!(store.inbox(agent.id).await?, std::slice::from_ref(&second));
    assert!(store.commit(fenced().write(Write::ConsumePost(first.id))).await?.inbox, "it was read before");
    assert!(!store.commit(fenced().write(Write::ConsumePost(second.id))).await?.inbox, "both read");
    assert_eq!(store.inbox(agent.id).await?, []);
    assert!(store.commit(fenced().write(Write::Post(third.clone()))).await?.inbox);
    assert!(store.commit(fenced().write(Write::Post(third.clone()))).await?.inbox, "it is the same post");
    assert_eq!(store.inbox(agent.id).await?, std::slice::from_ref(&third));
    assert!(!store.commit(fenced().write(Write::ConsumePost(third.id))).await?.inbox, "read");
    Ok(())
}

/// A commit that consumes posts or wake-ups of another agent succeeds and leaves them.
pub async fn a_commit_consumes_only_posts_of_its_own_agent(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (known, other) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    let (theirs, wake) = (post(other.id, "theirs"), wakeup(&other, at(1)));
    let commit =
        Commit::new(at(1)).write(Write::Post(theirs.clone())).write(Write::ScheduleWakeup(wake.clone()));
    store.commit(commit).await?;
    let agent = claim(&store, known.id).await?.agent;
    let commit = Commit::fenced(&agent, at(2))
        .write(Write::ConsumePost(theirs.id))
        .write(Write::ConsumeWakeup(wake.id))
        .write(Write::ConsumePost(PostId::new()));
    store.commit(commit).await?;
    assert_eq!(store.inbox(other.id).await?, [theirs]);
    assert_eq!(store.due(at(1), None, 10).await?, [wake]);
    Ok(())
}

/// The ids of posts are read without them, at most as many as asked for; posts are read by their ids, in the order of
/// their commits, as far as the agent has not read them.
pub async fn posts_are_read_by_their_ids(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (known, other) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    let posts = ["one", "two", "three"].map(|text| post(known.id, text));
    let order = [2, 0, 1].map(|index| posts[index].clone());
    assert_eq!(store.post_ids(known.id, 9).await?, []);
    for post in &order {
        store.commit(Commit::new(at(1)).write(Write::Post(post.clone()))).await?;
    }
    let mut ids = store.post_ids(known.id, 9).await?;
    assert_eq!(ids.len(), 3);
    assert_eq!(store.posts(known.id, ids.clone()).await?, order);
    ids.sort();
    assert_eq!(ids, posts.each_ref().map(|post| post.id));
    assert_eq!(store.post_ids(known.id, 2).await?.len(), 2);
    assert_eq!(store.post_ids(other.id, 9).await?, []);
    assert_eq!(store.posts(other.id, ids.clone()).await?, []);
    let agent = claim(&store, known.id).await?.agent;
    store.commit(Commit::fenced(&agent, at(2)).write(Write::ConsumePost(order[1].id))).await?;
    let left = [order[0].clone(), order[2].clone()];
    assert_eq!(store.posts(known.id, ids).await?, left);
    assert_eq!(store.posts(known.id, vec![left[1].id, PostId::new()]).await?, left[1..]);
    Ok(())
}

/// A commit may expect an inbox below a number of posts, and of bytes: it counts what the agent has not read.
pub async fn an_inbox_takes_no_more_than_a_limit(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let (known, other) = (new_root(&store, owner()).await?, new_root(&store, owner()).await?);
    let letter = post(known.id, "\"één\"\n");
    let each = serde_json::to_string(&letter.body)?.len() as u64;
    let below = async |agent: AgentId, posts, bytes| {
        let expect = Expect::InboxBelow(agent, InboxSize { posts, bytes });
        match store.commit(Commit::new(at(1)).expect(expect)).await {
            Err(Error::InboxFull { agent: full }) => {
                assert_eq!(full, agent);
                Ok(false)
            }
            done => done.map(|_| true),
        }
    };
    assert!(below(known.id, 1, 1).await? && !below(known.id, 0, 1).await?, "it is empty");
    assert!(below(known.child("digger", "digs", None, at(0)).id, 1, 1).await?, "there is no such agent yet");
    for agent in [&known, &known, &other] {
        store.commit(Commit::new(at(1)).write(Write::Post(post(agent.id, "\"één\"\n")))).await?;
    }
    for (posts, bytes, holds) in
        [(3, 2 * each + 1, true), (2, 2 * each + 1, false), (3, 2 * each, false), (1, u64::MAX, false)]
    {
        assert_eq!(below(known.id, posts, bytes).await?, holds, "{posts} posts, {bytes} bytes");
    }
    // What a commit posts does not count in it.
    let last =
        Commit::new(at(1)).expect(Expect::InboxBelow(known.id, InboxSize { posts: 3, bytes: u64::MAX }));
    store.commit(last.write(Write::Post(letter.clone()))).await?;
    assert!(!below(known.id, 3, u64::MAX).await?);
    let agent = claim(&store, known.id).await?.agent;
    store.commit(Commit::fenced(&agent, at(2)).write(Write::ConsumePost(letter.id))).await?;
    assert!(below(known.id, 3, 2 * each + 1).await?, "it has read one");
    Ok(())
}

/// Wake-ups are read by due time, then id; pages of any size join without gaps; those due later are left out.
pub async fn due_wakeups_are_in_order_and_paged(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let agents = [new_root(&store, owner()).await?, new_root(&store, stranger()).await?];
    let mut wakeups: Vec<Wakeup> =
        [5, 3, 3, 9, 1, 3, 7].iter().zip(agents.iter().cycle()).map(|(due, a)| wakeup(a, at(*due))).collect();
    for wakeup in wakeups.iter().rev() {
        store.commit(Commit::new(at(0)).write(Write::ScheduleWakeup(wakeup.clone()))).await?;
    }
    wakeups.sort_by_key(|wakeup| (wakeup.due, wakeup.id));
    assert_eq!(store.due(at(7), None, 100).await?, wakeups[..6]);
    assert_eq!(store.due(at(0), None, 100).await?, []);
    for limit in 1..=4 {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = store.due(at(9), after, limit).await?;
            assert!(page.len() <= limit as usize);
            let Some(last) = page.last() else { break };
            after = Some((last.due, last.id));
            seen.extend(page);
        }
        assert_eq!(seen, wakeups, "pages of {limit}");
    }
    Ok(())
}

/// A consumed wake-up is gone; one that is written again is due at its new time only.
pub async fn a_consumed_wakeup_is_removed(place: impl Backing) -> Result<()> {
    let store = place.open().await?;
    let known = new_root(&store, owner()).await?;
    let (first, mut second) = (wakeup(&known, at(1)), wakeup(&known, at(2)));
    let commit = Commit::new(at(0))
        .write(Write::ScheduleWakeup(first.clone()))
        .write(Write::ScheduleWakeup(second.clone()));
    store.commit(commit).await?;
    let agent = claim(&store, known.id).await?.agent;
    second.due = at(8);
    let commit = Commit::fenced(&agent, at(3))
        .write(Write::ConsumeWakeup(first.id))
        .write(Write::ScheduleWakeup(second.clone()));
    store.commit(commit).await?;
    assert_eq!(store.due(at(7), None, 10).await?, []);
    assert!(!store.is_due(known.id, at(7)).await?);
    assert_eq!(store.due(at(8), None, 10).await?, [second.clone()]);
    assert!(store.is_due(known.id, at(8)).await?);
    let other = new_root(&store, owner()).await?;
    assert!(!store.is_due(other.id, at(8)).await?, "it is another agent's");
    assert_eq!(claim(&store, known.id).await?.wakeups, [second]);
    Ok(())
}
