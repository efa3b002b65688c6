//! Interventions in an agent's work: at any time, also while it waits.

use entourage_store::{Commit, Error as StoreError, Expect, Page, RecordFilter, Write};
use entourage_types::{
    Action, Agent, AgentId, Author, EntityKind, Intervention, InterventionId, InterventionStatus, Post,
    PostBody, PostId, Status, Task, Time, WaitingOn,
};

use super::{
    Client, checked_text,
    inbox::{has_many_retries, has_room, same_unread, was_full},
};
use crate::{Error, Result, goals, interventions::post_of};

impl Client {
    /// Intervenes in an agent's work, and returns the record of it. What the agent must do itself, it does
    /// before its next step; a deletion is complete when this returns. A stop ends the agent's run and every task that
    /// it gave, in whatever run, and that is open still.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Gone`] for a deleted agent; [`Error::Invalid`] if a text is missing;
    /// [`Error::NotNow`] if the agent's state does not allow the action, such as a retry of what did not
    /// fail, or a resume of what is not paused, or if its inbox is full. A stop, a resume, a retry and a deletion get
    /// through; one that is in a full inbox already is returned instead of another one. Beyond a hundred unread retries
    /// another one is refused.
    pub async fn intervene(&self, id: AgentId, action: Action, text: Option<&str>) -> Result<Intervention> {
        self.apply_intervention(id, action, text, None, None).await
    }

    /// Like [`Client::intervene`], once per `key`, however often the request is sent.
    ///
    /// # Errors
    /// As for [`Client::intervene`], and [`Error::KeyReused`].
    pub async fn intervene_once(
        &self,
        id: AgentId,
        action: Action,
        text: Option<&str>,
        key: Option<&str>,
    ) -> Result<Intervention> {
        self.apply_intervention(id, action, text, None, key).await
    }

    /// Withdraws a message: ends the run that answers it, with all work that this run delegated. Does nothing
    /// if the message was answered.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Gone`] for a deleted agent.
    pub async fn withdraw(&self, agent: AgentId, message: PostId) -> Result<Intervention> {
        self.apply_intervention(agent, Action::Stop, None, Some(message), None).await
    }

    async fn apply_intervention(
        &self,
        id: AgentId,
        action: Action,
        text: Option<&str>,
        of: Option<PostId>,
        key: Option<&str>,
    ) -> Result<Intervention> {
        let agent = self.agent(id).await?;
        let text = checked(action, text)?;
        let request = format!("{action} {id}\n{}", text.unwrap_or_default());
        // A request that was done is not judged again: the agent's state has changed since.
        if let Some(first) = self.first_answer(key, &request).await? {
            return self.done_before(id, action, first).await;
        }
        if of.is_none() || agent.status == Status::Cancelled {
            self.check_allowed(&agent, action).await?;
        }
        if matches!(action, Action::Steer | Action::Modify) {
            self.engine.may_be_told(&agent).await?;
        }
        // What ends work, or lets it go on, gets through: without it, a full inbox might never be read.
        let mut is_limited = action != Action::Delete;
        let mut done = loop {
            let now = self.engine.now();
            let (done, post) = intervention(&agent, action, text, of, now);
            let mut commit = Commit::new(now).expect(Expect::Agent(id)).write(Write::record(&done.clone())?);
            if post.is_some() && is_limited {
                commit.expect.push(has_room(id));
            }
            post.into_iter().for_each(|post| commit.post(post, &agent.owner));
            self.annotate(&agent, action, text, &mut commit).await?;
            if matches!(action, Action::Steer | Action::Modify | Action::Retry) {
                commit.expect.extend(self.engine.open_goal(&agent).await?);
            }
            match self.commit_once(key, &request, done.id, commit).await {
                // Another person set something of it at the same moment.
                Err(Error::Store(StoreError::OtherVersion { kind: EntityKind::ANNOTATIONS, .. })) => {}
                Err(error)
                    if was_full(&error)
                        && matches!(action, Action::Stop | Action::Resume | Action::Retry) =>
                {
                    // However often it is sent, it is in the inbox once.
                    let unread = self.inbox(&agent).await?;
                    if let Some(first) = same_unread(&unread, action, of) {
                        if key.is_some() {
                            let done = Commit::new(now).expect(Expect::Agent(id));
                            self.commit_once(key, &request, first, done).await?;
                        }
                        return self.record(first).await;
                    }
                    if action == Action::Retry && has_many_retries(&unread) {
                        return Err(error);
                    }
                    is_limited = false;
                }
                Err(error) => return Err(goals::refused(id, error)),
                Ok(Some(first)) => return self.done_before(id, action, first).await,
                Ok(None) => break done,
            }
        };
        match action {
            Action::Delete => {
                self.engine.delete(id).await?;
                done.status = InterventionStatus::Applied;
            }
            // The step in progress is of no use any more.
            Action::Modify => self.engine.interrupt(id, None),
            Action::Stop => self.engine.interrupt(id, of),
            _ => {}
        }
        Ok(done)
    }

    /// The intervention of the first request with a key. Completes a deletion if the process ended during it.
    async fn done_before(
        &self,
        agent: AgentId,
        action: Action,
        first: InterventionId,
    ) -> Result<Intervention> {
        let mut done: Intervention = self.record(first).await?;
        if action == Action::Delete {
            self.engine.delete(agent).await?;
            done.status = InterventionStatus::Applied;
        }
        Ok(done)
    }

    /// The interventions in an agent's work, oldest first.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn interventions(&self, id: AgentId, page: Page) -> Result<Vec<Intervention>> {
        let agent = self.agent(id).await?;
        self.records(RecordFilter { parent: Some(agent.id.into()), page, ..RecordFilter::default() }).await
    }

    async fn check_allowed(&self, agent: &Agent, action: Action) -> Result<()> {
        if agent.status == Status::Cancelled && action != Action::Comment {
            return Err(Error::Gone(agent.id));
        }
        let paused = agent.waiting_on == Some(WaitingOn::Resume);
        match action {
            Action::Stop if !self.is_at_work(agent).await? && !self.has_open_tasks(agent).await? => {
                let why = "it is not at work, and no task that it gave is open";
                Err(Error::NotNow { agent: agent.id, why })
            }
            Action::Resume if !paused && !self.is_about_to(agent, Action::Pause).await? => {
                Err(Error::NotNow { agent: agent.id, why: "it is not paused" })
            }
            Action::CloseSession if !agent.works_for.is_person() => Err(Error::NotNow {
                agent: agent.id,
                why: "its session belongs to its task and ends with it",
            }),
            Action::Retry
                if agent.status != Status::Failed
                    && agent.waiting_on != Some(WaitingOn::Retry)
                    && !self.has_code_to_retry(agent).await? =>
            {
                Err(Error::NotNow { agent: agent.id, why: "it has not failed and does not wait for a retry" })
            }
            _ => Ok(()),
        }
    }

    /// Whether code of its run waits to be run again, perhaps beside what the agent waits for first of all.
    async fn has_code_to_retry(&self, agent: &Agent) -> Result<bool> {
        let Some(run) = self.open_run(agent).await? else { return Ok(false) };
        let steps = self.engine.store().steps(&self.scope, run.id).await?;
        Ok(steps.iter().any(|step| step.code_retry().is_some()))
    }

    /// Whether agents still work on tasks that this one gave.
    async fn has_open_tasks(&self, agent: &Agent) -> Result<bool> {
        let (parent, status) = (Some(agent.id.into()), Some(Status::Queued));
        let page = Page { limit: 1, ..Page::default() };
        let open = RecordFilter::<Task> { parent, status, page, ..RecordFilter::default() };
        Ok(!self.records(open).await?.is_empty())
    }

    async fn is_about_to(&self, agent: &Agent, action: Action) -> Result<bool> {
        let posts = self.inbox(agent).await?;
        let same = |post: &Post| matches!(post.body, PostBody::Intervention { action: other, .. } if other == action);
        Ok(posts.iter().any(same))
    }
}

/// The record of a person's intervention, and the post for the agent's inbox.
pub(super) fn intervention(
    agent: &Agent,
    action: Action,
    text: Option<&str>,
    of: Option<PostId>,
    now: Time,
) -> (Intervention, Option<Post>) {
    let at_once = matches!(action, Action::Comment | Action::Steer);
    let done = Intervention {
        id: InterventionId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        agent: agent.id,
        by: Author::User,
        action,
        text: text.map(str::to_owned),
        of,
        status: if at_once { InterventionStatus::Applied } else { InterventionStatus::Pending },
        created: now,
        updated: now,
    };
    let post = post_of(&done).map(|body| Post::new(agent.id, now, body));
    (done, post)
}

/// Checks the text that an action needs or may have.
fn checked(action: Action, text: Option<&str>) -> Result<Option<&str>> {
    match (action, text) {
        (Action::Comment | Action::Steer | Action::Modify, None) => {
            Err(Error::Invalid(format!("`{action}` needs a text")))
        }
        (_, Some(text)) => checked_text(text).map(|()| Some(text)),
        (_, None) => Ok(None),
    }
}
