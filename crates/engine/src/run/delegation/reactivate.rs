//! More work for an existing sub-agent: its task is reactivated, or its question answered. No task and no
//! agent is created, and everything is one commit with the call's output.

use entourage_store::{AgentQuery, Commit, Error as StoreError, Expect, Page, RecordFilter, Write};
use entourage_types::{
    About, Agent, AgentId, Answer, Author, Output, OutputEffect, Post, PostBody, Question, QuestionId,
    QuestionStatus, Status, Task, ToolCall,
};

use crate::run::{
    Interrupt, Result, Run, StepError,
    step_error::CallRejected,
    tools::{
        calls::Calls,
        output_limits::{failed, succeeded},
    },
};
use crate::{questions::closing, sub_agents::is_below};

impl Run<'_> {
    /// Passes a text on to an agent that this one created.
    pub(in crate::run) async fn reactivate(
        &mut self,
        calls: &Calls<'_>,
        index: usize,
        (id, named): (AgentId, Option<QuestionId>),
        text: String,
    ) -> Result<(), StepError<CallRejected>> {
        let call = &calls[index];
        let (child, task) = self.own(id).await?;
        let asked = self.asked_below(&child).await?;
        if let Some(question) = waits_for_verdict(&asked, named, child.id) {
            let output = self.leave_to_user(call, &child, question);
            return Ok(self.finish(calls, index, output, vec![]).await?);
        }
        let question = which(asked, named)?;
        // The store may refuse the commit that follows, so the batch must not be part of it.
        self.flush().await?;
        self.check_room(&child).await?;
        let at = self.engine.now();
        let worker = format!("{} {}", child.kind, child.id);
        let mut commit = Commit::new(at);
        let said = match question {
            Some(question) => {
                let question = Question { answered_by: Some(self.agent.id), ..question };
                let (closed, question) = closing(question, Answer::Text(text), commit)?;
                commit = closed;
                format!("Question {} of {worker} was answered with this.", question.id)
            }
            None => {
                let seen = Expect::status::<Task>(task.id, task.status);
                commit.expect.push(seen);
                let from = Author::Agent { id: self.agent.id, kind: self.agent.kind.clone() };
                // A run in progress keeps the options under which it began.
                let options = task.status.is_terminal().then(|| self.record.options_below(&self.agent));
                let body = PostBody::Message { from, text, task: Some(task.id), queued: false, options };
                let post = Post::new(child.id, at, body);
                let again = Task { post: Some(post.id), ..task.clone().again(at) };
                commit.post(post, &child.owner);
                match task.status.is_terminal() {
                    true => {
                        commit.push(Write::record(&again)?);
                        format!("{worker} resumes task {}. Its result will arrive as a message.", task.id)
                    }
                    false => format!("{worker} is at work on task {} and reads this next.", task.id),
                }
            }
        };
        self.batch.expect(std::mem::take(&mut commit.expect));
        let effect = Some(OutputEffect::Delegated(task.id));
        let output = Output { effect, ..succeeded(call, said) };
        Ok(self.finish(calls, index, output, commit.writes).await?)
    }

    /// Refuses to wake an agent that has ended and has no room beside those that live. This is a commit of its own: a
    /// message from a person, which needs no room, may wake another of them before this one is woken.
    async fn check_room(&mut self, child: &Agent) -> Result<(), StepError<CallRejected>> {
        let store = self.engine.store();
        if !child.status.is_terminal() || !store.inbox(child.id).await?.is_empty() {
            return Ok(());
        }
        let mut asks = self.fenced(self.engine.now());
        asks.expect.extend(self.room_for(child));
        match self.apply(asks).await {
            Err(Interrupt::Store(
                full @ (StoreError::TreeFull { .. } | StoreError::TooManyChildren { .. }),
            )) => {
                let why = format!("{full}; wait for one of them to end");
                Err(CallRejected(why).into())
            }
            done => Ok(done?),
        }
    }

    /// Returns the output of a call that writes to an agent which waits for a verdict on a call. No agent may
    /// give one: the output says where the user can.
    fn leave_to_user(&self, call: &ToolCall, child: &Agent, question: &Question) -> Output {
        let (id, asks) = (question.id, &question.text);
        let text = format!(
            "Nothing was passed on: {} {} waits for the user's own decision about a call, and only the user \
             can give it, by answering question {id}.",
            child.kind, child.id
        );
        let words = format!(
            "The {} waits for your own decision about a call, which I may not pass on: please answer \
             question {id} itself. It asks: {asks}",
            child.kind
        );
        let is_reported = self.engine.handles_one_call(&self.kind).unwrap_or_default();
        Output { effect: is_reported.then_some(OutputEffect::Said(words)), ..failed(call, text) }
    }

    /// Returns an agent that this one created, with the latest task that it has from this one and that was
    /// not cancelled.
    async fn own(&self, id: AgentId) -> Result<(Agent, Task), StepError<CallRejected>> {
        let (scope, store) = (self.scope(), self.engine.store());
        let Some(child) = store.agent(&scope, id).await?.filter(|agent| agent.root == self.agent.root) else {
            return Err(CallRejected(format!("there is no agent {id}")).into());
        };
        if child.parent != Some(self.agent.id) {
            return Err(CallRejected(format!("agent {id} is not yours")).into());
        }
        if child.status == Status::Cancelled {
            return Err(CallRejected(format!("agent {id} was cancelled")).into());
        }
        let page = Page { newest_first: true, ..Page::all() };
        let own =
            RecordFilter::<Task> { parent: Some(self.agent.id.into()), page, ..RecordFilter::default() };
        let tasks = store.records(&scope, own).await?;
        let last = tasks.into_iter().find(|task| task.to == id && task.status != Status::Cancelled);
        last.map(|task| (child, task))
            .ok_or_else(|| CallRejected(format!("agent {id} has no task of yours; start another one")).into())
    }

    /// Returns the open questions to the user, of this agent and of those below it, oldest first.
    async fn asked_below(&self, child: &Agent) -> Result<Vec<Question>> {
        let (scope, store) = (self.scope(), self.engine.store());
        let (root, status) = (Some(self.agent.root), Some(QuestionStatus::Open));
        let open = RecordFilter { root, status, page: Page::all(), ..RecordFilter::default() };
        let open: Vec<Question> = store.records(&scope, open).await?;
        if open.is_empty() {
            return Ok(open);
        }
        let tree = AgentQuery { root: Some(self.agent.root), page: Page::all(), ..AgentQuery::default() };
        let tree = store.agents(&scope, tree).await?;
        Ok(open.into_iter().filter(|question| is_below(&tree, question.agent, child.id)).collect())
    }
}

/// Returns the question about a call that prevents the text from being read: the one that was named, or the
/// agent's own, before whose answer the agent reads nothing.
fn waits_for_verdict(asked: &[Question], named: Option<QuestionId>, child: AgentId) -> Option<&Question> {
    let is_on_call = |question: &&Question| question.about != About::Information;
    let is_meant = |question: &&Question| named.map_or(question.agent == child, |id| question.id == id);
    asked.iter().filter(is_on_call).find(is_meant)
}

/// Returns which open question is answered: the one that was named, otherwise the only one.
fn which(asked: Vec<Question>, named: Option<QuestionId>) -> Result<Option<Question>, CallRejected> {
    let open: Vec<_> = asked.into_iter().filter(|question| question.about == About::Information).collect();
    let choice = || {
        let lines = open.iter().map(|question| format!("{}: {}", question.id, question.text));
        lines.collect::<Vec<_>>().join("\n")
    };
    let why = match (named, open.len()) {
        (None, 0 | 1) => return Ok(open.into_iter().next()),
        (None, several) => {
            format!("the agent has {several} open questions; say which as `question`:\n{}", choice())
        }
        (Some(id), 0) => format!("question {id} is not open, and the agent has no other that is"),
        (Some(id), _) => match open.iter().position(|question| question.id == id) {
            Some(at) => return Ok(open.into_iter().nth(at)),
            None => format!("question {id} is not open; of this agent these are:\n{}", choice()),
        },
    };
    Err(CallRejected(why))
}
