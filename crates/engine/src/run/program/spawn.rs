//! Work that a program gives to new agents.

use entourage_tools::SpawnAgentArguments;
use entourage_types::{CallId, OnEnd, ToolCall, tool_names};

use crate::run::{Result, Run, tools::calls::Calls};

/// Work for a new agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// The kind of the agent; one of the peers of the run's kind.
    pub kind: String,
    /// What the agent is to do, with everything that it must know.
    pub text: String,
}

impl From<NewTask> for SpawnAgentArguments {
    fn from(NewTask { kind, text }: NewTask) -> Self {
        Self { kind, task: text, title: None }
    }
}

/// New agents that work, to be joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawned {
    /// The program's name for the step.
    pub(in crate::run) name: String,
    /// The calls that started them, in the order of the work.
    pub(in crate::run) calls: Vec<CallId>,
}

impl Run<'_> {
    /// Starts new agents, one for each piece of work, and returns at once. Their results are withheld until the program
    /// [joins](Self::join) them: no model call reads them before, and the agent is woken once, when the last of them
    /// ends. If the run ends before that, they are deleted. `name` is the program's own, and used once in a run.
    ///
    /// # Errors
    /// An interrupt of the run. An agent that cannot be started is a failure that the join returns.
    pub async fn spawn(&mut self, name: &str, work: Vec<NewTask>) -> Result<Spawned> {
        let calls = self.give(name, work, OnEnd::Join).await?;
        Ok(Spawned { name: name.to_owned(), calls: calls.iter().map(|call| call.id).collect() })
    }

    /// Starts new agents whose results arrive later as messages, each in a run of its own or in this one if it is still
    /// at work.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn).
    pub async fn start(&mut self, name: &str, work: Vec<NewTask>) -> Result<()> {
        self.give(name, work, OnEnd::Wake).await.map(drop)
    }

    /// Starts new agents whose results are on record and wake no agent.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn).
    pub async fn start_quietly(&mut self, name: &str, work: Vec<NewTask>) -> Result<()> {
        self.give(name, work, OnEnd::Quiet).await.map(drop)
    }

    async fn give(&mut self, name: &str, work: Vec<NewTask>, on_end: OnEnd) -> Result<Vec<ToolCall>> {
        let mut calls = Vec::with_capacity(work.len());
        for task in work {
            // The transcript shows it as a call of the tool.
            let arguments = serde_json::to_value(SpawnAgentArguments::from(task))?;
            calls.push((tool_names::SPAWN_AGENT.to_owned(), arguments));
        }
        let calls = self.program_turn(name, calls).await?.calls;
        if calls.iter().all(|call| self.steps.is_answered(call.id)) {
            return Ok(calls);
        }
        let new = Calls::of(&calls);
        self.take_posts(&new, usize::MAX).await?;
        for (index, call) in calls.iter().enumerate() {
            if !self.steps.is_answered(call.id) && self.steps.of_call(call).is_none() {
                // As it is on record: the program may give other work when it runs again.
                let arguments: SpawnAgentArguments = serde_json::from_value(call.arguments.clone())?;
                self.delegate(&new, index, arguments.delegate(on_end)).await?;
            }
        }
        Ok(calls)
    }
}
