//! Delegates work to another agent: the only way to have children. Agent, task, message and wake-up are one
//! commit with the step of the call that asked for them.

use std::time::Duration;

use entourage_store::{Error as StoreError, Expect, Write};
use entourage_tools::{Delegate, Target};
use entourage_types::{
    Agent, AgentKey, Author, OnEnd, Post, PostBody, Status, Step, StepKey, StepState, Task, TaskId, ToolCall,
    Wait, WaitingOn, title_of,
};

use crate::run::{
    Interrupt, Result, Run, StepError,
    step_error::CallRejected,
    tools::{call::handed_over, calls::Calls, output_limits::failed},
};
use crate::{
    Error,
    thread::{self, ThreadSlot},
};

/// A tree gets no more new agents within this time than may live in it. Agents that end at once and leave their places
/// to others would multiply without end.
const RECENT: Duration = Duration::from_secs(3600);

impl Run<'_> {
    /// Delegates work to another agent. If that is not possible, the output says why, and nothing else changes.
    pub(in crate::run) async fn delegate(
        &mut self,
        calls: &Calls<'_>,
        index: usize,
        work: Delegate,
    ) -> Result<()> {
        let Err(not_done) = self.try_to_delegate(calls, index, work).await else { return Ok(()) };
        let CallRejected(why) = not_done.reason()?;
        self.finish(calls, index, failed(&calls[index], why), vec![]).await
    }

    async fn try_to_delegate(
        &mut self,
        calls: &Calls<'_>,
        index: usize,
        work: Delegate,
    ) -> Result<(), StepError<CallRejected>> {
        let (call, again) = (&calls[index], work.clone());
        let is_alike = matches!(work.to, Target::Same { .. });
        let (kind, title, thread) = match work.to {
            Target::Child { agent, question } => {
                return self.reactivate(calls, index, (agent, question), work.text).await;
            }
            Target::Peer(kind) => {
                let thread = AgentKey::new(&kind, thread::name_of(&self.agent)).map_err(CallRejected)?;
                (kind, title_of(&work.text), Some(thread))
            }
            Target::New { kind, title } => (kind, title, None),
            Target::Same { title } => (self.agent.kind.clone(), title, None),
        };
        let (mut child, is_new) = self.worker(&kind, is_alike, title.clone(), thread).await?;
        let kept = self.engine.keep_thread(&mut child, is_new, None).await.map_err(not_kept)?;
        let (at, task) = (self.engine.now(), TaskId::new());
        let body = PostBody::Message {
            from: Author::Agent { id: self.agent.id, kind: self.agent.kind.clone() },
            text: work.text.clone(),
            task: Some(task),
            queued: false,
            options: Some(self.record.options_below(&self.agent)),
        };
        let post = Post::new(child.id, at, body);
        let task = Task {
            id: task,
            owner: self.agent.owner.clone(),
            root: self.agent.root,
            from: self.agent.id,
            to: child.id,
            call: call.id,
            on_end: work.on_end,
            group: (work.on_end == OnEnd::Join).then(|| calls[0].id),
            kind: child.kind.clone(),
            title,
            instruction: work.text,
            origin: self.triggers().next().map(|trigger| trigger.name.clone()),
            status: Status::Queued,
            result: None,
            post: Some(post.id),
            run: None,
            reactivated: 0,
            created: at,
            updated: at,
        };
        // A batch with expectations may be refused for reasons of its own, so it is committed separately.
        if self.batch.has_expectations() {
            self.flush().await?;
        }
        let mut commit = self.fenced(at);
        // The store may refuse the commit; the writes of the batch then go into the next commit.
        let waiting = commit.writes.clone();
        commit.expect.extend(self.room_for(&child));
        if is_new {
            let (root, most) = (self.agent.root, self.kind.limits.max_tree);
            commit.expect.push(Expect::CreatedBelow(root, most, at - RECENT));
            commit.push(Write::NewAgent(child.clone()));
        }
        commit.writes.extend(kept);
        commit.post(post, &child.owner);
        commit.push(Write::record(&task.clone())?);
        let worker = format!("{} {}", child.kind, child.id);
        let waits = work.on_end == OnEnd::Answer;
        let wait = match waits {
            false => Wait::HandedOver { task: task.id, worker: worker.clone(), on_end: work.on_end },
            true => Wait::Task { task: task.id, existing: (!is_new).then_some(child.id) },
        };
        commit.push(Write::Step(self.steps.row(StepKey::Tool(call.id), StepState::Open(wait), at)));
        // A run that waits for a new agent and has nothing else to do falls asleep with this commit.
        let sleeps =
            (is_new && waits && self.only_waits_beside(calls, index)).then(|| match self.waits_on(calls) {
                WaitingOn::User => WaitingOn::User,
                _ => WaitingOn::Agent,
            });
        if let Some(on) = sleeps {
            commit.writes.extend(self.asleep(on, at));
        }
        match self.apply(commit).await {
            Err(Interrupt::Store(
                full @ (StoreError::TreeFull { .. }
                | StoreError::TooManyCreated { .. }
                | StoreError::TooManyChildren { .. }),
            )) => {
                self.batch.extend(waiting);
                let why = match full {
                    StoreError::TooManyChildren { limit, .. } => {
                        format!(
                            "you have {limit} agents at work, the most allowed; wait for one of them to end, or \
                             write to one of them"
                        )
                    }
                    StoreError::TooManyCreated { limit, .. } => format!(
                        "{limit} agents were created in this tree within the last hour, the most allowed; write to \
                         one of yours, or do the work yourself"
                    ),
                    full => full.to_string(),
                };
                Err(CallRejected(why).into())
            }
            // Another agent of the same kind has just created the same thread: this one writes in it, too.
            Err(Interrupt::Store(StoreError::AgentExists { .. })) if is_new => {
                self.batch.extend(waiting);
                Box::pin(self.try_to_delegate(calls, index, again)).await
            }
            // The agent of the thread has just been forgotten: a new one takes its place.
            Err(Interrupt::Store(StoreError::NoAgent { agent })) if !is_new && agent == child.id => {
                self.batch.extend(waiting);
                Box::pin(self.try_to_delegate(calls, index, again)).await
            }
            Ok(()) if !waits => {
                let given = handed_over(call, task.id, &worker, work.on_end);
                Ok(self.finish(calls, index, given, vec![]).await?)
            }
            Ok(()) => {
                if let Some(on) = sleeps {
                    self.apply_suspension(on, at);
                }
                Ok(())
            }
            Err(interrupt) => Err(interrupt.into()),
        }
    }

    /// Returns the expectations that an agent, new or woken again, has room beside those that live.
    pub(in crate::run) fn room_for(&self, child: &Agent) -> impl Iterator<Item = Expect> + use<> {
        let limits = &self.kind.limits;
        let is_own = child.parent == Some(self.agent.id);
        let children = is_own.then_some(Expect::ChildrenBelow(self.agent.id, limits.max_children));
        children.into_iter().chain([Expect::TreeBelow(self.agent.root, limits.max_tree)])
    }

    /// Whether every other call of the turn is done, or waits too, but not for an agent that could wait for
    /// this one.
    fn only_waits_beside(&self, calls: &Calls<'_>, index: usize) -> bool {
        let (now, is_answered) = (self.moment(), |call| self.steps.is_answered(call));
        let replies = self.inbox.replies();
        let waits = |at: usize, call: &ToolCall| {
            // It goes on with what is in the inbox, whose wake-up is consumed when the run falls asleep.
            if replies.contains(&call.id) {
                return false;
            }
            let step = self.steps.of_call(call).filter(|step| step.state != StepState::Started);
            match step.and_then(Step::wait) {
                // Code that can go on does not wait.
                Some(Wait::SubCalls { .. }) => calls.is_waiting(at, now, is_answered),
                _ => step.is_some() && !self.targets_existing_agent(call.id),
            }
        };
        let mut all = calls.iter().enumerate();
        all.all(|(at, call)| at == index || is_answered(call.id) || waits(at, call))
    }

    /// Returns the agent that is to work (that of a thread, or a new one), and whether it is new. One that `is_alike` is of
    /// this agent's own kind, which it may always start.
    async fn worker(
        &self,
        kind: &str,
        is_alike: bool,
        title: String,
        thread: Option<AgentKey>,
    ) -> Result<(Agent, bool), StepError<CallRejected>> {
        let max_depth = self.record.max_depth(&self.kind);
        if self.record.depth(&self.agent) >= max_depth {
            let why = format!("you are at the maximum depth of {max_depth}; do the work yourself");
            return Err(CallRejected(why).into());
        }
        if thread.is_some() && thread::name_of(&self.agent) == kind {
            return Err(CallRejected("you cannot write to yourself".to_owned()).into());
        }
        let found = self.candidate(kind, is_alike, title, thread).await?;
        if let (found, false) = &found
            && let Some(why) = self.cannot_answer(found).await?
        {
            return Err(CallRejected(why).into());
        }
        Ok(found)
    }

    async fn candidate(
        &self,
        kind: &str,
        is_alike: bool,
        title: String,
        thread: Option<AgentKey>,
    ) -> Result<(Agent, bool), StepError<CallRejected>> {
        let store = self.engine.store();
        let scope = self.scope();
        if !is_alike && !self.kind.may_delegate_to(kind) {
            let peers = self.kind.peers.join(", ");
            return Err(
                CallRejected(format!("you cannot write to `{kind}`; you can write to: {peers}")).into()
            );
        }
        if self.engine.kinds().get(kind).is_none() {
            let known = self.engine.kinds().names();
            return Err(CallRejected(format!("there is no kind `{kind}`; there are: {known}")).into());
        }
        let key = match thread {
            Some(thread) => match thread::find(&**store, &scope, self.agent.root, thread).await? {
                ThreadSlot::Taken(found) => return Ok((found, false)),
                ThreadSlot::Free(key) => Some(key),
            },
            None => None,
        };
        Ok((self.agent.child(kind, title, key, self.engine.now()), true))
    }
}

fn not_kept(error: Error) -> StepError<CallRejected> {
    match error {
        Error::NotLoaded { key, .. } => CallRejected(format!(
            "the earlier messages with `{}` could not be loaded, so it was not asked; try again later, or \
             continue without it",
            key.recipient
        ))
        .into(),
        Error::Store(error) => error.into(),
        error => Interrupt::failed(error.to_string()).into(),
    }
}
