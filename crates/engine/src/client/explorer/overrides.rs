//! What a person sets of an agent at work: comment, content and state, together or any of them (S3, key feature 2).

use entourage_store::{Commit, Error as StoreError, Expect, Versioned, Write};
use entourage_types::{Action, Agent, AgentState, Annotations, EntityKind, RecordWrite, ShownState};

use crate::{
    Client, Error, Result,
    client::{
        checked_text,
        inbox::{has_room, is_full},
        intervene::intervention,
    },
};

/// The comment that deletes an agent (S3-R010).
const DELETE: &str = "delete";
/// The comment that has an agent work on what its content is by then (S3-R011).
const MODIFY: &str = "modify";

/// What is to be set; what is left out stays as it is (S3-R014).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `delete`, `modify`, or an annotation.
    pub comment: Option<String>,
    /// What the agent is to work on. It does from the moment of a `modify` on, in this call or a later one.
    pub content: Option<String>,
    /// The state to show until the agent next begins, sleeps or ends; `deleted` deletes it.
    pub state: Option<AgentState>,
}

impl Client {
    /// Sets these of an active agent, in one commit, and returns whether it did: for an agent that is unknown or has
    /// finished it returns `false` and changes nothing (S3-R013, S3-R016). It does not wait for an agent that asks.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a blank or too long text; [`Error::NotNow`] if the agent's inbox is full.
    pub async fn user_intervention(&self, name: &str, overrides: &Overrides) -> Result<bool> {
        for text in [&overrides.comment, &overrides.content].into_iter().flatten() {
            checked_text(text)?;
        }
        loop {
            let agent = match self.named_agent(name).await {
                Err(Error::NotFound { .. }) => return Ok(false),
                agent => agent?,
            };
            if !self.state_of(&agent).await?.is_active() {
                return Ok(false);
            }
            match self.set(&agent, overrides).await {
                // Another person set something of it at the same moment.
                Err(Error::Store(StoreError::OtherVersion { kind: EntityKind::ANNOTATIONS, .. })) => {}
                // It ended, or was forgotten, at the same moment.
                Err(Error::Store(StoreError::HasEnded { .. } | StoreError::NoAgent { .. })) => {
                    return Ok(false);
                }
                done => return done.map(|()| true),
            }
        }
    }

    async fn set(&self, agent: &Agent, overrides: &Overrides) -> Result<()> {
        let now = self.engine.now();
        let Versioned { record: before, version } = self.annotations(agent).await?;
        let set = overrides.applied(&before, agent);
        let action = overrides.action();
        let text = match action {
            Some(Action::Modify) => Some(match &set.content {
                Some(content) => content.clone(),
                None => self.first_words(agent).await?,
            }),
            Some(Action::Comment) => overrides.comment.clone(),
            _ => None,
        };
        let mut commit = Commit::new(now).expect(Expect::Living(agent.id));
        if set != before {
            commit.record(RecordWrite::of(&Annotations { updated: now, ..set })?.at_version(version));
        }
        if let Some(action) = action {
            let (done, post) = intervention(agent, action, text.as_deref(), None, now);
            commit.push(Write::record(&done)?);
            if post.is_some() && action != Action::Delete {
                commit.expect.push(has_room(agent.id));
            }
            post.into_iter().for_each(|post| commit.post(post, &agent.owner));
        }
        if commit.writes.is_empty() {
            return Ok(());
        }
        match self.engine.commit(commit).await {
            Err(StoreError::InboxFull { agent }) => return Err(is_full(agent)),
            done => done?,
        };
        match action {
            Some(Action::Delete) => self.engine.delete(agent.id).await?,
            // The step in progress is of no use any more.
            Some(Action::Modify) => self.engine.interrupt(agent.id, None),
            _ => {}
        }
        Ok(())
    }
}

impl Client {
    /// Has a commit set what an intervention says of an agent, as it is when it is set by [`Overrides`]: what it works on,
    /// and the comment.
    pub(crate) async fn annotate(
        &self,
        agent: &Agent,
        action: Action,
        text: Option<&str>,
        commit: &mut Commit,
    ) -> Result<()> {
        let text = text.map(str::to_owned);
        let (comment, content) = match action {
            Action::Modify => (Some(MODIFY.to_owned()), text),
            Action::Comment => (text, None),
            // Of an agent that is gone, only what was set before is shown.
            Action::Delete => (Some(DELETE.to_owned()), None),
            _ => return Ok(()),
        };
        let Versioned { record: before, version } = self.annotations(agent).await?;
        let set = Overrides { comment, content, state: None }.applied(&before, agent);
        if set != before && (version > 0 || action != Action::Delete) {
            commit.record(RecordWrite::of(&Annotations { updated: commit.at, ..set })?.at_version(version));
        }
        Ok(())
    }
}

impl Overrides {
    /// What the agent is to do about it, if anything.
    fn action(&self) -> Option<Action> {
        match (self.comment.as_deref(), self.state) {
            (Some(DELETE), _) | (_, Some(AgentState::Deleted)) => Some(Action::Delete),
            (Some(MODIFY), _) => Some(Action::Modify),
            (Some(Annotations::UNCHANGED) | None, _) => None,
            (Some(_), _) => Some(Action::Comment),
        }
    }

    /// The annotations with what this sets. A `modify` leaves the comment that stands for undisturbed work (S3-R020).
    fn applied(&self, before: &Annotations, agent: &Agent) -> Annotations {
        let mut set = before.clone();
        if let Some(content) = &self.content {
            set.content = Some(content.clone());
        }
        match self.action() {
            Some(Action::Delete) => DELETE.clone_into(&mut set.comment),
            Some(Action::Modify) => Annotations::UNCHANGED.clone_into(&mut set.comment),
            _ => set.comment = self.comment.clone().unwrap_or(set.comment),
        }
        if let Some(state) = self.state.filter(|state| *state != AgentState::Deleted) {
            set.shown = Some(ShownState::of(agent, state));
        }
        set
    }
}
