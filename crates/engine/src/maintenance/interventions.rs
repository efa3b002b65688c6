//! Pending interventions whose post is missing: they never reach their agent.

use async_trait::async_trait;
use entourage_store::{Commit, Expect, Write};
use entourage_types::{Action, Intervention, InterventionStatus, Post, PostBody, Status};

use super::{Inconsistency, Job, agent, each_record, record};
use crate::{Engine, Result, interventions::post_of};

pub(super) struct Interventions;

#[async_trait]
impl Job for Interventions {
    fn name(&self) -> &'static str {
        "interventions"
    }

    fn purpose(&self) -> &'static str {
        "interventions that are pending and never reach their agent"
    }

    async fn find(&self, engine: &Engine) -> Result<Vec<Inconsistency>> {
        let mut found = Vec::new();
        let mut asked = Vec::new();
        each_record(engine, InterventionStatus::Pending, |wanted: Intervention| asked.push(wanted)).await?;
        for wanted in asked {
            let posts = engine.store().inbox(wanted.agent).await?;
            let is_there =
                |post: &Post| matches!(post.body, PostBody::Intervention { id, .. } if id == wanted.id);
            if posts.iter().any(is_there) {
                continue;
            }
            // An intervention that its agent has just read is applied by now.
            let id = wanted.id.to_string();
            if record::<Intervention>(engine, &id).await?.is_some_and(|now| now.status == wanted.status) {
                let pending = Expect::status::<Intervention>(id, InterventionStatus::Pending);
                found.push(repaired(engine, wanted, Commit::new(engine.now()).expect(pending)).await?);
            }
        }
        Ok(found)
    }
}

/// The repair posts the intervention again. If the agent is gone, nothing is left to do: the repair marks the
/// intervention as applied.
async fn repaired(engine: &Engine, wanted: Intervention, mut repair: Commit) -> Result<Inconsistency> {
    let (to, action, at) = (wanted.agent, wanted.action, engine.now());
    let is_there = agent(engine, to).await?.is_some_and(|agent| agent.status != Status::Cancelled);
    let body = post_of(&wanted).filter(|_| is_there && action != Action::Comment);
    let text = match body {
        Some(body) => {
            repair.post(Post::new(to, at, body), &wanted.owner);
            format!("`{action}` of agent {to} is pending and was lost on its way: it is posted again")
        }
        None => {
            let (status, updated) = (InterventionStatus::Applied, at);
            let text =
                format!("`{action}` of agent {to} is pending, and the agent is gone: nothing is left to do");
            repair.push(Write::record(&Intervention { status, updated, ..wanted })?);
            text
        }
    };
    Ok(Inconsistency { agent: to, text, repair })
}
