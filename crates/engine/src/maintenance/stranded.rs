//! Agents that have something to do and that nothing will wake.

use std::collections::HashSet;

use async_trait::async_trait;
use entourage_store::AgentQuery;
use entourage_types::{Action, Agent, AgentId, Post, PostBody, ShownStatus, Status, WaitingOn};

use super::{Inconsistency, Job, agent, each, each_open_run, is_unwoken, open_run};
use crate::{Engine, Result};

pub(super) struct Stranded;

#[async_trait]
impl Job for Stranded {
    fn name(&self) -> &'static str {
        "stranded"
    }

    fn purpose(&self) -> &'static str {
        "agents with something to do and nothing to wake them"
    }

    async fn find(&self, engine: &Engine) -> Result<Vec<Inconsistency>> {
        let unwoken = AgentQuery { unwoken: true, ..AgentQuery::default() };
        let (at_work, unread) = (
            AgentQuery { status: Some(ShownStatus::Running), ..unwoken.clone() },
            AgentQuery { unread: true, ..unwoken },
        );
        let mut idle = Vec::new();
        each(engine, at_work, |agent| idle.push((agent, "is at work"))).await?;
        let mut written_to = Vec::new();
        each(engine, unread, |agent| written_to.push(agent)).await?;
        for agent in written_to {
            let is_urgent = match agent.status {
                Status::Running => false,
                // A waiting agent leaves posts that do not concern its wait until it goes on.
                Status::Waiting => {
                    let posts = engine.store().inbox(agent.id).await?;
                    posts.iter().any(|post| is_for_now(&agent, post, &posts))
                }
                _ => true,
            };
            if is_urgent {
                idle.push((agent, "has posts to read"));
            }
        }
        for agent in at_rest_with_a_run(engine).await? {
            idle.push((agent, "is idle but has an open run"));
        }
        let poke = |(agent, what): (Agent, &str)| {
            let text = format!("agent {} {what}, and nothing will wake it: it is woken", agent.id);
            Inconsistency::poke(engine, agent.id, &agent.owner, text)
        };
        Ok(idle.into_iter().map(poke).collect())
    }
}

/// Whether a waiting agent would handle a post now. It closes its session only once it rests, and a paused
/// agent begins no new work.
fn is_for_now(agent: &Agent, post: &Post, posts: &[Post]) -> bool {
    match post.body {
        // An intervention about a message waits for that message.
        PostBody::Intervention { of: Some(message), .. } => !posts.iter().any(|post| post.id == message),
        PostBody::Intervention { action: Action::CloseSession, .. } => false,
        PostBody::Intervention { action: Action::Modify | Action::Retry, .. } => {
            agent.waiting_on != Some(WaitingOn::Resume)
        }
        PostBody::Intervention { .. } => true,
        _ => false,
    }
}

async fn at_rest_with_a_run(engine: &Engine) -> Result<Vec<Agent>> {
    let mut busy: HashSet<AgentId> = HashSet::new();
    for status in [ShownStatus::Running, ShownStatus::Waiting] {
        let query = AgentQuery { status: Some(status), ..AgentQuery::default() };
        each(engine, query, |agent| busy.extend([agent.id])).await?;
    }
    let mut suspects = Vec::new();
    each_open_run(engine, |run| {
        if !busy.contains(&run.agent) {
            suspects.push(run);
        }
    })
    .await?;
    let mut found = Vec::new();
    for run in suspects {
        // An agent comes to rest in the commit that ends its run.
        if let Some(agent) = agent(engine, run.agent).await?
            && !matches!(agent.status, Status::Running | Status::Waiting)
            && open_run(engine, agent.id).await?.is_some()
            && is_unwoken(engine, &agent).await?
        {
            found.push(agent);
        }
    }
    Ok(found)
}
