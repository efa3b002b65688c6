//! Creating a goal, with the agent that works towards it.

use entourage_store::{RecordFilter, Write};
use entourage_types::{AgentId, Goal, GoalStatus, RecordWrite};
use serde::Serialize;

use super::super::{
    Client,
    owner_limit::{Once, OwnerLimit},
};
use crate::{NewAgent, Result};

/// The kind that works towards goals.
const GOAL: &str = "goal";
/// How many goals an owner may have, archived ones among them.
const MOST: OwnerLimit = OwnerLimit {
    number: 10_000,
    what: "goals",
    counter: "goals",
    remedy: "delete some of them, archived or not,",
};

/// A goal that is to be created.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewGoal {
    /// It in a few words.
    pub title: String,
    /// What is to be reached; may be empty.
    pub description: String,
    /// How the agent is to work; may be empty.
    pub instructions: String,
}

impl Client {
    /// Creates a goal and its agent, which waits for a message. The same `key` with the same request returns the goal of
    /// the first request.
    ///
    /// # Errors
    /// [`Part`](crate::Error::Part) for what cannot be kept; [`LimitReached`](crate::Error::LimitReached); as for
    /// [`create`](Self::create).
    pub async fn create_goal(&self, new: NewGoal, key: Option<&str>) -> Result<Goal> {
        let request = serde_json::to_string(&new)?;
        if let Some(first) = self.first_answer::<AgentId>(key, &request).await? {
            return self.goal(first).await;
        }
        let NewGoal { title, description, instructions } = new;
        let title = Goal::checked(&title, &description, &instructions)?;
        let agent =
            NewAgent { kind: Some(GOAL.to_owned()), title: Some(title.clone()), ..NewAgent::default() };
        let (agent, prepared) = self.prepare(&agent).await?;
        let goal = Goal {
            agent: agent.id,
            owner: self.owner.clone(),
            title,
            description,
            instructions,
            status: GoalStatus::Open,
            created: prepared.at,
            updated: prepared.at,
        };
        let mut commit = prepared.write(Write::NewAgent(agent));
        commit.record(RecordWrite::of(&goal)?.at_version(0));
        let once = Once { key, request: &request, answer: goal.agent };
        match self.commit_one_more(&MOST, &[RecordFilter::<Goal>::default()], once, commit).await? {
            Some(first) => self.goal(first).await,
            None => Ok(goal),
        }
    }
}
