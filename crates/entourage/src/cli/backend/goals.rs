//! Goals, their tasks and the user agent, through the HTTP API.

use entourage_api::{Agent, ChangeGoal, CreateGoal, Goal, ListGoals, PageQuery, Task};
use entourage_types::{AgentId, GoalStatus, fold_name, sought_words};
use reqwest::Method;

use super::{Backend, Result};

impl Backend {
    /// All goals, or those in this status, newest first.
    pub(crate) async fn goals(&self, status: Option<GoalStatus>) -> Result<Vec<Goal>> {
        self.whole("goals", &ListGoals { status, ..ListGoals::default() }, None).await
    }

    /// The goals with this title, however it is spelled.
    pub(crate) async fn goals_titled(&self, title: &str) -> Result<Vec<Goal>> {
        // A title without words is found by looking at all of them.
        let text = sought_words(title).next().map(|_| title.to_owned());
        let which = ListGoals { text, ..ListGoals::default() };
        let mut goals: Vec<Goal> = self.whole("goals", &which, None).await?;
        let folded = fold_name(title);
        goals.retain(|goal| fold_name(&goal.title) == folded);
        Ok(goals)
    }

    /// The goal with this id; none if there is none.
    pub(crate) async fn goal(&self, id: AgentId) -> Result<Option<Goal>> {
        match self.get(&format!("goals/{id}")).await {
            Err(failure) if failure.is_not_found() => Ok(None),
            found => found.map(Some),
        }
    }

    /// Creates a goal, with its agent.
    pub(crate) async fn create_goal(&self, new: &CreateGoal) -> Result<Goal> {
        self.post_once("goals", new, None, "entourage goals").await
    }

    /// Changes a goal.
    pub(crate) async fn change_goal(&self, id: AgentId, change: &ChangeGoal) -> Result<Goal> {
        self.answer_to(self.request(Method::PUT, &format!("goals/{id}")).json(change)).await
    }

    /// Deletes a goal with its agents.
    pub(crate) async fn delete_goal(&self, id: AgentId) -> Result<()> {
        self.place.waits_for(self.ask(Method::DELETE, &format!("goals/{id}"))).await.map(drop)
    }

    /// The tasks that the agent of a goal has created, newest first; at most so many.
    pub(crate) async fn goal_tasks(&self, id: AgentId, most: u32) -> Result<Vec<Task>> {
        self.whole(&format!("goals/{id}/tasks"), &PageQuery::default(), Some(most)).await
    }

    /// The user's own agent, which is created if there is none.
    pub(crate) async fn user_agent(&self) -> Result<Agent> {
        self.get("user_agent").await
    }
}
