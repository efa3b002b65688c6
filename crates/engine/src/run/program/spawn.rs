//! NewTask that a program gives to new agents.

use entourage_tools::{Delegate, Target};
use entourage_types::{CallId, OnEnd, ToolCall};
use serde_json::json;

use crate::run::{Result, Run};
use crate::titles::title_of;

/// The tool as which the transcript shows that an agent was started.
const STARTS: &str = "spawn_agent";

/// NewTask for a new agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// The kind of the agent; one of the peers of the run's kind.
    pub kind: String,
    /// What the agent is to do, with everything that it must know.
    pub text: String,
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
    /// Starts new agents, one for each piece of work, and goes on at once. What they come to is withheld until the
    /// program [joins](Self::join) them: no model call reads it before, and the agent is woken once, when the last of
    /// them ends. If the run ends before that, they are deleted. `name` is the program's own, and used once in a run.
    ///
    /// # Errors
    /// An interrupt of the run. An agent that cannot be started is a failure that the join returns.
    pub async fn spawn(&mut self, name: &str, work: Vec<NewTask>) -> Result<Spawned> {
        let calls = self.give(name, work, OnEnd::Join).await?;
        Ok(Spawned { name: name.to_owned(), calls: calls.iter().map(|call| call.id).collect() })
    }

    /// Starts new agents whose results arrive later as messages, each in a run of its own or in this one if it is still
    /// at work; or, with [`OnEnd::Quiet`], are on record only.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn).
    pub async fn start(&mut self, name: &str, work: Vec<NewTask>, is_quiet: bool) -> Result<()> {
        self.give(name, work, if is_quiet { OnEnd::Quiet } else { OnEnd::Wake }).await.map(drop)
    }

    async fn give(&mut self, name: &str, work: Vec<NewTask>, on_end: OnEnd) -> Result<Vec<ToolCall>> {
        let logged = work
            .iter()
            .map(|NewTask { kind, text }| (STARTS.to_owned(), json!({ "kind": kind, "task": text })));
        let turn = self.program_turn(name, logged.collect()).await?;
        let is_open = |run: &Self, call: &ToolCall| !run.steps.is_answered(call.id);
        if !turn.calls.iter().any(|call| is_open(self, call)) {
            return Ok(turn.calls);
        }
        self.take_posts(&turn.calls).await?;
        for (index, NewTask { kind, text }) in work.into_iter().enumerate() {
            let is_new = turn
                .calls
                .get(index)
                .is_some_and(|call| is_open(self, call) && self.steps.of_call(call).is_none());
            if is_new {
                let to = Target::New { kind, title: title_of(&text) };
                self.delegate(&turn.calls, index, Delegate { to, text, on_end }).await?;
            }
        }
        Ok(turn.calls)
    }
}
