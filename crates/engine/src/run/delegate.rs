//! Work for another agent: the one way to have children. Agent, task, message and wake-up are one
//! commit with the call that asked for them.

use entourage_store::{AgentQuery, Commit, Error as StoreError, Expect, Page, Write};
use entourage_tools::{Delegate, Target};
use entourage_types::{
    Agent, Author, Post, PostBody, PostId, Scope, Status, StepState, Task, TaskId, ToolCall, WakeupId,
};
use serde_json::json;

use super::{
    Interrupt, Result, Run,
    call_tools::{handed_over, output},
};
use crate::client::title_of;

impl Run<'_> {
    /// Gives work to another agent. What is not allowed becomes the call's output, and the agent
    /// goes on.
    pub(super) async fn delegate(&mut self, calls: &[ToolCall], index: usize, work: Delegate) -> Result<()> {
        let call = &calls[index];
        let (kind, title, key) = match work.to {
            Target::Child(id) => return self.reactivate(calls, index, id, work.text).await,
            Target::Peer(kind) => {
                let key = format!("{kind}<{}", self.agent.id);
                (kind, title_of(&work.text), Some(key))
            }
            Target::New { kind, title } => (kind, title, None),
        };
        let (child, is_new) = match self.worker(&kind, title, key).await? {
            Ok(found) => found,
            Err(refusal) => return self.finish(calls, index, output(call, refusal, true), vec![]).await,
        };
        let at = self.house.now();
        let task = Task {
            id: TaskId::new(),
            owner: self.agent.owner.clone(),
            root: self.agent.root,
            from: self.agent.id,
            to: child.id,
            call: call.id,
            wait: work.wait,
            kind: child.kind.clone(),
            instruction: work.text.clone(),
            status: Status::Queued,
            result: None,
            created: at,
            updated: at,
        };
        let post = Post {
            id: PostId::new(),
            agent: child.id,
            at,
            wakeup: WakeupId::new(),
            body: PostBody::Message {
                from: Author::Agent { id: self.agent.id, kind: self.agent.kind.clone() },
                text: work.text,
                task: Some(task.id),
                queued: false,
            },
        };
        // This commit may be refused, so nothing may ride along with it.
        self.flush().await?;
        let mut commit = Commit::fenced(&self.agent, at);
        if is_new {
            commit.expect.push(Expect::TreeBelow(self.agent.root, self.kind.limits.max_tree));
            commit.push(Write::NewAgent(child.clone()));
        }
        commit.post(post, &child.owner);
        commit.push(Write::Task(task.clone()));
        let worker = format!("{} {}", child.kind, child.id);
        let value = match work.wait {
            true => json!({ "task": task.id }),
            false => json!({ "task": task.id, "handed_to": worker }),
        };
        commit.push(Write::Step(self.call_step(call, StepState::Open, value, at)));
        match self.apply(commit).await {
            Err(Interrupt::Store(full @ StoreError::TreeFull { .. })) => {
                self.finish(calls, index, output(call, full.to_string(), true), vec![]).await
            }
            Ok(()) if !work.wait => {
                let handed_over = handed_over(call, &task.id.to_string(), &worker);
                self.finish(calls, index, handed_over, vec![]).await
            }
            done => done,
        }
    }

    /// Who shall work: an agent found by its key, or a new one. The inner error is a refusal for the
    /// model to read.
    async fn worker(
        &self,
        kind: &str,
        title: String,
        peer_key: Option<String>,
    ) -> Result<Result<(Agent, bool), String>> {
        let store = &self.house.inner.store;
        let scope = Scope::from(&self.agent.owner);
        if !self.kind.peers.iter().any(|peer| peer == kind) {
            let peers = self.kind.peers.join(", ");
            return Ok(Err(format!("`{kind}` is not among those you may write to: {peers}")));
        }
        if self.house.kinds().get(kind).is_none() {
            return Ok(Err(format!("there is no kind `{kind}`; there are: {}", self.house.kinds().names())));
        }
        // Where the last one was deleted, another takes its place under a key of its own.
        let mut key = peer_key.clone();
        for nth in 2.. {
            let Some(wanted) = key.clone() else { break };
            let query =
                AgentQuery { root: Some(self.agent.root), key: Some(wanted), ..AgentQuery::default() };
            match store.agents(&scope, query).await?.into_iter().next() {
                Some(found) if found.status != Status::Cancelled => return Ok(Ok((found, false))),
                Some(_) => key = peer_key.as_ref().map(|key| format!("{key}#{nth}")),
                None => break,
            }
        }
        let limits = &self.kind.limits;
        if self.agent.depth >= limits.max_depth {
            return Ok(Err(format!(
                "you stand {} levels deep, the most allowed; do the work yourself",
                limits.max_depth
            )));
        }
        let page = Page { limit: limits.max_children, ..Page::default() };
        let children = AgentQuery { parent: Some(self.agent.id), page, ..AgentQuery::default() };
        if store.agents(&scope, children).await?.len() >= limits.max_children as usize {
            return Ok(Err(format!(
                "you have {} agents, the most allowed; write to one of them",
                limits.max_children
            )));
        }
        Ok(Ok((self.agent.child(kind, title, key, self.house.now()), true)))
    }
}
