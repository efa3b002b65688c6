//! What an agent of an exploration came to, and what its children did.

use std::collections::HashMap;

use entourage_store::{AgentQuery, Page, RecordFilter, RunQuery};
use entourage_types::{Agent, AgentId, AgentState, Status, Task, TaskResult, Unread};

use crate::{Client, Result, client::last_words};

/// What a child came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentResult {
    /// The child.
    pub agent: AgentId,
    /// Its final text; none if it has none.
    pub result: Option<String>,
    /// Its state.
    pub status: AgentState,
}

impl Client {
    /// What the children of an agent came to so far, oldest first.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn subagent_results(&self, agent: AgentId) -> Result<Vec<SubagentResult>> {
        self.agent(agent).await?;
        let of_agent =
            RecordFilter::<Task> { parent: Some(agent.into()), page: Page::all(), ..RecordFilter::default() };
        let tasks = self.records(of_agent).await?;
        // The last task that the agent gave a child counts.
        let texts: HashMap<AgentId, Option<String>> =
            tasks.into_iter().map(|task| (task.to, text_of(task))).collect();
        let query = AgentQuery { parent: Some(agent), page: Page::all(), ..AgentQuery::default() };
        let mut results = Vec::new();
        for child in self.engine.store().agents(&self.scope, query).await? {
            let result = match texts.get(&child.id) {
                Some(text) => text.clone(),
                None => self.final_text(&child).await?,
            };
            let status = AgentState::of(child.status, child.waiting_on, Unread::Nothing);
            results.push(SubagentResult { agent: child.id, result, status });
        }
        Ok(results)
    }

    /// The final text of an agent's last run; none if that has not succeeded.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn final_text(&self, agent: &Agent) -> Result<Option<String>> {
        let page = Page { newest_first: true, limit: 1, ..Page::default() };
        let query = RunQuery { agent: Some(agent.id), page, ..RunQuery::default() };
        let last = self.engine.store().runs(&self.scope, query).await?.pop();
        let Some(run) = last.filter(|run| run.status == Status::Succeeded) else { return Ok(None) };
        let items = self.items_of(&run).await?;
        Ok(Some(last_words(&items, self.reply_of(&agent.kind))))
    }
}

fn text_of(task: Task) -> Option<String> {
    match task.result {
        Some(TaskResult::Text(text)) => Some(text),
        Some(TaskResult::Error(_)) | None => None,
    }
}
