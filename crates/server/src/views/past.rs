//! A tree as it was.

use entourage_api::{PastAgent, PastTree, TimelineBucket};

/// A tree as it was after one of its events.
pub(crate) fn past_tree(past: entourage_engine::PastTree) -> PastTree {
    let entourage_engine::PastTree { root, at, time, last, agents } = past;
    PastTree { root, at, time, last, agents: agents.into_iter().map(past_agent).collect() }
}

fn past_agent(agent: entourage_engine::PastAgent) -> PastAgent {
    let entourage_engine::PastAgent {
        id,
        parent,
        depth,
        kind,
        title,
        status,
        waiting_on,
        stop_reason,
        created,
        since,
        usage,
        cost,
    } = agent;
    let usage = usage.into();
    PastAgent { id, parent, depth, kind, title, status, waiting_on, stop_reason, created, since, usage, cost }
}

pub(crate) fn timeline_bucket(bucket: entourage_engine::TimelineBucket) -> TimelineBucket {
    let entourage_engine::TimelineBucket { first, last, began, ended } = bucket;
    TimelineBucket { first, last, began, ended }
}
