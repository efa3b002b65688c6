//! Creating a goal, with the agent that works towards it.

use entourage_store::{Error as StoreError, RecordFilter, Write};
use entourage_types::{AgentId, EntityKind, Goal, GoalStatus, RecordWrite};
use serde::Serialize;

use super::super::{Client, most::Most};
use crate::{Error, NewAgent, Result};

/// The kind that works towards goals.
const GOAL: &str = "goal";
/// How many goals an owner may have, archived ones among them.
const MOST: Most = Most { number: 10_000, what: "goals", remedy: "delete some of them, archived or not," };

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
    /// [`Error::Part`] for what cannot be kept; [`Error::LimitReached`]; as for
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
        loop {
            let mut commit = prepared.clone().write(Write::NewAgent(agent.clone()));
            commit.record(RecordWrite::of(&goal)?.at_version(0));
            self.make_room(&MOST, RecordFilter::<Goal>::default(), &mut commit).await?;
            match self.commit_once(key, &request, goal.agent, commit).await {
                Err(Error::Store(StoreError::OtherVersion { kind: EntityKind::COUNTER, .. })) => {}
                Err(error) => return Err(error),
                Ok(Some(first)) => return self.goal(first).await,
                Ok(None) => return Ok(goal),
            }
        }
    }
}
