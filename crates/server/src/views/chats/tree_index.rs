//! The agents of a chat's tree, their tasks, and which of them wait for the user. Every status in a document
//! is derived from this index alone, so that no two documents disagree.

use std::collections::{HashMap, HashSet};

use entourage_engine::{Client, Entry, Error, Page};
use entourage_types::{Agent, AgentId, Question, QuestionId, QuestionStatus, Status, Task, Time};

use crate::page::BYTES;

/// The agents of a chat, their tasks and their open questions.
#[derive(Debug, Default)]
pub(crate) struct TreeIndex {
    agents: HashMap<AgentId, Agent>,
    /// The latest task of each agent.
    tasks: HashMap<AgentId, Task>,
    asking: HashMap<QuestionId, AgentId>,
}

impl TreeIndex {
    /// Reads the tree of a chat, with all its tasks.
    pub(crate) async fn read(client: &Client, chat: AgentId) -> Result<Self, Error> {
        let tasks = client.tasks(Some(chat), None, Page::all()).await?;
        Self::with(client, chat, tasks).await
    }

    /// The same with these of its tasks, which must be read before: an agent that ends in between is then
    /// still shown at work, whatever its row says, because its task is open.
    pub(crate) async fn with(client: &Client, chat: AgentId, tasks: Vec<Task>) -> Result<Self, Error> {
        let mut tree = Self::default();
        for task in tasks {
            tree.task(task);
        }
        for question in client.questions(Some(chat), Some(QuestionStatus::Open), Page::all()).await? {
            tree.question(&question);
        }
        for agent in client.tree(chat).await? {
            tree.agent(agent);
        }
        Ok(tree)
    }

    /// Reads as much of a chat's tree as these messages refer to: the agents, and the latest task of each
    /// agent that a message is about. No status is derived from it, so tasks may be read after their agents.
    pub(crate) async fn of_entries(client: &Client, chat: AgentId, entries: &[Entry]) -> Result<Self, Error> {
        let mut tree = Self::default();
        for agent in client.tree(chat).await? {
            tree.agent(agent);
        }
        let own = |entry: &Entry| tree.own(entry.agent?).map(|own| own.id);
        let own: HashSet<AgentId> = entries.iter().filter_map(own).collect();
        for task in Self::latest_tasks(client, chat, own).await? {
            tree.task(task);
        }
        Ok(tree)
    }

    /// Reads the latest task of each of these agents of a chat: page by page from the newest, until all are
    /// found.
    pub(crate) async fn latest_tasks(
        client: &Client,
        chat: AgentId,
        mut of: HashSet<AgentId>,
    ) -> Result<Vec<Task>, Error> {
        let mut page = Page { newest_first: true, bytes: BYTES, ..Page::default() };
        let mut latest = Vec::new();
        while !of.is_empty() {
            let tasks = client.tasks(Some(chat), None, page.clone()).await?;
            let Some(last) = tasks.last() else { break };
            page.after = Some(last.id.to_string());
            latest.extend(tasks.into_iter().filter(|task| of.remove(&task.to)));
        }
        Ok(latest)
    }

    /// Adds an agent, or replaces it.
    pub(crate) fn agent(&mut self, agent: Agent) {
        self.agents.insert(agent.id, agent);
    }

    /// Updates an agent's status after an event. Returns false if the agent is unknown. The agent's row may
    /// have been read later than the event: its status becomes the event's, but the time of its last change
    /// never goes back.
    pub(crate) fn status(&mut self, agent: AgentId, status: Status, at: Time) -> bool {
        let known = self.agents.get_mut(&agent);
        known.map(|agent| (agent.status, agent.updated) = (status, agent.updated.max(at))).is_some()
    }

    /// Adds a task, or replaces it. A task and its agent end in one commit, which is reported by several
    /// events, so this updates the agent, too.
    pub(crate) fn task(&mut self, task: Task) {
        if task.status.is_terminal() {
            self.status(task.to, task.status, task.updated);
        }
        let newer = |known: &Task| known.id > task.id;
        if !self.tasks.get(&task.to).is_some_and(newer) {
            self.tasks.insert(task.to, task);
        }
    }

    /// Adds an open question, or removes a closed one.
    pub(crate) fn question(&mut self, question: &Question) {
        match question.status {
            QuestionStatus::Open => self.asking.insert(question.id, question.agent),
            _ => self.asking.remove(&question.id),
        };
    }

    /// The agents below the orchestrator, oldest first.
    pub(crate) fn sub_agents(&self) -> Vec<&Agent> {
        let mut below: Vec<&Agent> = self.agents.values().filter(|agent| agent.parent.is_some()).collect();
        below.sort_by_key(|agent| agent.id);
        below
    }

    /// One of the agents.
    pub(crate) fn get(&self, agent: AgentId) -> Option<&Agent> {
        self.agents.get(&agent)
    }

    /// The latest task of an agent.
    pub(crate) fn task_of(&self, agent: AgentId) -> Option<&Task> {
        self.tasks.get(&agent)
    }

    /// The orchestrator's own sub-agent that an agent is, or is below.
    pub(crate) fn own(&self, agent: AgentId) -> Option<&Agent> {
        self.above(agent).find(|agent| agent.depth == 1)
    }

    /// An agent and the agents between it and the orchestrator, from the bottom up.
    pub(crate) fn line(&self, agent: AgentId) -> Vec<AgentId> {
        self.above(agent).filter(|agent| agent.depth > 0).map(|agent| agent.id).collect()
    }

    /// Whether this agent, or one below it, has an open question for the user.
    pub(crate) fn asks(&self, agent: AgentId) -> bool {
        self.asking.values().any(|asking| self.above(*asking).any(|above| above.id == agent))
    }

    /// An agent and all agents above it, from the bottom up.
    fn above(&self, agent: AgentId) -> impl Iterator<Item = &Agent> {
        let parent = |agent: &&Agent| self.agents.get(&agent.parent?);
        std::iter::successors(self.agents.get(&agent), parent)
    }
}
