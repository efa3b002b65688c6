//! Tokens for streams whose clients cannot send headers: each starts one agent at most, and follows that one alone.

use std::time::Duration;

use entourage_store::{Commit, Error as StoreError, Page, RecordFilter, Versioned, Write};
use entourage_types::{Agent, EntityKind, Scope, Sha256, StreamToken, StreamTokenStatus, Time};

use super::NewExploration;
use crate::{Client, Engine, Error, Result, digest::sha256};

/// For how long a token may start an agent: it stands in an address, and addresses are written to logs.
const STARTS_WITHIN: Duration = Duration::from_secs(60);
/// How many unused tokens of an owner are looked at, and removed if they are too old, when another is made.
const LOOKED_AT: u32 = 100;

impl Client {
    /// Makes a token for a stream of this owner, for an agent of this name if one is given. It starts an agent within a
    /// minute, and follows it until `expires`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for what cannot name an agent, and if the owner has many tokens that are not used.
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
        let page = Page { limit: LOOKED_AT, ..Page::default() };
        let unused = RecordFilter { page, ..RecordFilter::in_status(StreamTokenStatus::Pending) };
        let unused: Vec<StreamToken> = self.records(unused).await?;
        let (old, open): (Vec<_>, Vec<_>) = unused.into_iter().partition(|token| token.starts_until < now);
        if open.len() >= LOOKED_AT as usize {
            return Err(Error::Invalid(format!(
                "{LOOKED_AT} tokens that are not used are as many as one owner may have; they end within a minute"
            )));
        }
        commit.writes.extend(
            old.iter().map(|old| Write::PruneEntity(EntityKind::STREAM_TOKEN, old.digest.to_string())),
        );
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| Error::Invalid(format!("no random numbers: {error}")))?;
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
        if let Some(agent) = record.agent {
            return self.agent(agent).await;
        }
        if record.starts_until < self.engine.now() {
            return Err(Error::Invalid(
                "the token is used too late: it starts an agent within a minute".into(),
            ));
        }
        if let Some(name) = &record.name
            && new.name.as_ref() != Some(name)
        {
            return Err(Error::Invalid(format!("the token is for the agent `{name}`, and for no other")));
        }
        let digest = record.digest;
        match self.begin(&new, None, Some(&token)).await {
            // Another request used it at the same moment.
            Err(Error::Store(StoreError::OtherVersion { kind: EntityKind::STREAM_TOKEN, .. })) => {
                let used: StreamToken = self.record(digest).await?;
                let agent = used.agent.ok_or_else(|| Error::not_found("stream token", digest))?;
                self.agent(agent).await
            }
            agent => agent,
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
