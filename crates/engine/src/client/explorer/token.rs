//! Tokens for streams whose clients cannot send headers: each starts one agent at most, and follows that one alone.

use std::time::Duration;

use entourage_store::{Commit, Error as StoreError, Page, RecordFilter, Versioned, Write};
use entourage_types::{Agent, AgentId, EntityKind, Scope, Sha256, StreamToken, Time};

use super::NewExploration;
use crate::{Client, Engine, Error, Result, digest::sha256};

/// For how long a token may start an agent: it stands in an address, and addresses are written to logs.
const STARTS_WITHIN: Duration = Duration::from_secs(60);
/// How many tokens an owner may have. Those that are of no use any more are removed when another is made.
const MOST: u32 = 200;
/// For how long a token is kept whose agent has ended: a browser may still ask whether it has had everything.
const KEPT_AFTER_END: Duration = Duration::from_secs(24 * 3600);

impl Client {
    /// Makes a token for a stream of this owner, for an agent of this name if one is given. It starts an agent within a
    /// minute, and follows it until `expires`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for what cannot name an agent; [`Error::TooMany`] if the owner has as many tokens as one may have.
    pub async fn stream_token(
        &self,
        name: Option<&str>,
        expires: Option<Time>,
    ) -> Result<(String, StreamToken)> {
        let now = self.engine.now();
        // One that is active is followed.
        let active = match name {
            Some(name) => self.active_named(name).await?,
            None => None,
        };
        if let (Some(name), None) = (name, &active) {
            self.checked_agent_name(name).await?;
        }
        let mut commit = Commit::new(now);
        let page = Page { limit: MOST, ..Page::default() };
        let known: Vec<StreamToken> = self.records(RecordFilter { page, ..RecordFilter::default() }).await?;
        let mut kept = known.len();
        for token in known {
            if self.is_useless(&token, now).await? {
                kept -= 1;
                commit.push(Write::PruneEntity(EntityKind::STREAM_TOKEN, token.digest.to_string()));
            }
        }
        if kept >= MOST as usize {
            return Err(Error::TooMany(format!(
                "{MOST} stream tokens are as many as one owner may have; one that is not used ends within a minute, \
                 and one whose agent has ended after a day"
            )));
        }
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| Error::NoRandomness(error.to_string()))?;
        let token = Sha256::from_bytes(bytes).to_string();
        let made = StreamToken {
            digest: sha256(&token),
            owner: self.owner.clone(),
            name: name.map(str::to_owned),
            agent: active.as_ref().map(|agent| agent.id),
            root: active.as_ref().map(|agent| agent.root),
            starts_until: now + STARTS_WITHIN,
            expires,
            created: now,
            updated: now,
        };
        commit.push(Write::record(&made)?);
        self.engine.commit(commit).await?;
        Ok((token, made))
    }

    /// The agent of a token: the one that it started, or a new one that it starts now.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is used too late, or for another agent than the one that it is for; and as for
    /// [`Client::explore`].
    pub async fn explore_by(&self, token: Versioned<StreamToken>, new: NewExploration) -> Result<Agent> {
        let Versioned { record, .. } = &token;
        if let Some(name) = &record.name
            && new.name.as_ref() != Some(name)
        {
            return Err(Error::Invalid(format!("the token is for the agent `{name}`, and for no other")));
        }
        if let Some(agent) = record.agent {
            return self.bound(agent, &new).await;
        }
        if record.starts_until < self.engine.now() {
            return Err(Error::Invalid(
                "the token is used too late: it starts an agent within a minute".into(),
            ));
        }
        let digest = record.digest;
        let refused = match self.begin(&new, None, Some(&token)).await {
            // Another request may have used it at the same moment.
            Err(
                refused @ (Error::NameTaken { .. }
                | Error::Store(StoreError::OtherVersion { kind: EntityKind::STREAM_TOKEN, .. })),
            ) => refused,
            done => return done,
        };
        let used: StreamToken = self.record(digest).await?;
        match used.agent {
            Some(agent) => self.bound(agent, &new).await,
            None => Err(refused),
        }
    }

    /// The agent that a token is bound to, if this asks for no other one.
    async fn bound(&self, agent: AgentId, new: &NewExploration) -> Result<Agent> {
        if let Some(name) = &new.name
            && !matches!(self.named_agent(name).await, Ok(named) if named.id == agent)
        {
            return Err(Error::Invalid(format!(
                "the token is for the stream of another agent than `{name}`: get one for that"
            )));
        }
        self.agent(agent).await
    }

    /// Whether nothing more can be done with a token.
    async fn is_useless(&self, token: &StreamToken, now: Time) -> Result<bool> {
        if token.expires.is_some_and(|expires| expires <= now) {
            return Ok(true);
        }
        match token.agent {
            None => Ok(token.starts_until < now),
            Some(agent) => Ok(token.updated + KEPT_AFTER_END < now && !self.is_active(agent).await?),
        }
    }

    /// The active agent of this name, or with this id, if there is one.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn active_named(&self, name: &str) -> Result<Option<Agent>> {
        match self.named_agent(name).await {
            Ok(agent) => Ok(self.state_of(&agent).await?.is_active().then_some(agent)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Engine {
    /// What is kept of a token for streams; none if it is unknown or has expired.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn stream_token(&self, token: &str) -> Result<Option<Versioned<StreamToken>>> {
        let found = self.store().versioned::<StreamToken>(&Scope::All, sha256(token)).await?;
        Ok(found.filter(|found| found.record.expires.is_none_or(|expires| expires > self.now())))
    }
}
