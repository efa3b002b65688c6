//! Concurrency: writers wait for each other and never fail because of it; readers see whole commits.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use entourage_types::{EntityKind, RunId, Scope};

use super::{
    Backing,
    sample::{at, claim, join, new_root, owner, post, request, say},
};
use crate::{Commit, EntityQuery, ItemQuery, Result, Store, Write};

/// Thirty-two agents write at once, each to its own transcript and to its neighbour's inbox: one round, or
/// rounds for as many seconds as the environment variable `WRITERS_SECONDS` says.
pub async fn many_writers_see_no_busy_error(place: impl Backing) -> Result<()> {
    let seconds = std::env::var("WRITERS_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(0);
    let (store, began) = (Arc::new(place.open().await?), Instant::now());
    loop {
        many_writers(&store).await?;
        if began.elapsed() >= Duration::from_secs(seconds) {
            return Ok(());
        }
    }
}

async fn many_writers<S: Store>(store: &Arc<S>) -> Result<()> {
    const WRITERS: usize = 32;
    const COMMITS: u64 = 20;
    let mut agents = Vec::new();
    for _ in 0..WRITERS {
        agents.push(new_root(&**store, owner()).await?);
    }
    let writers: Vec<_> = (0..WRITERS)
        .map(|index| {
            let store = Arc::clone(store);
            let (agent, neighbour) = (agents[index].id, agents[(index + 1) % WRITERS].clone());
            tokio::spawn(async move {
                let mut agent = claim(&*store, agent).await?.agent;
                for _ in 0..COMMITS {
                    let mut commit = Commit::fenced(&agent, at(2));
                    commit.push(Write::Item(say(&mut agent, RunId::new(), "busy")));
                    commit.post(post(neighbour.id, "busy?"), &neighbour.owner);
                    store.commit(commit).await?;
                }
                Ok(agent.id)
            })
        })
        .collect();
    for writer in writers {
        let agent = join(writer).await?;
        let query = ItemQuery::of(agent, 0, 1000);
        assert_eq!(store.items(&Scope::All, query).await?.len() as u64, COMMITS);
    }
    for agent in agents {
        assert_eq!(store.inbox(agent.id).await?.len() as u64, COMMITS);
    }
    Ok(())
}

/// No read sees a part of a commit, and every read that starts after a commit has returned sees it.
pub async fn readers_see_whole_commits(place: impl Backing) -> Result<()> {
    const COMMITS: usize = 50;
    let store = Arc::new(place.open().await?);
    let writing = Arc::clone(&store);
    let writer = tokio::spawn(async move {
        for round in 0..COMMITS {
            let mut commit = Commit::new(at(1));
            for name in ["left", "right"] {
                commit.push(Write::entity(request(&owner(), name, &round.to_string())));
            }
            writing.commit(commit).await?;
            let all = EntityQuery::of(EntityKind::REQUEST);
            let seen = writing.entities(&Scope::All, all).await?;
            assert!(seen.iter().all(|entity| entity.status == round.to_string()), "{seen:?}");
        }
        Ok(())
    });
    let mut reads = 0;
    while !writer.is_finished() || reads == 0 {
        let all = EntityQuery::of(EntityKind::REQUEST);
        let seen = store.entities(&Scope::All, all).await?;
        assert!(seen.windows(2).all(|pair| pair[0].status == pair[1].status), "{seen:?}");
        reads += 1;
    }
    join(writer).await
}
