//! Tokens for streams whose clients cannot send headers: each starts one agent at most, and follows that one alone.

use std::time::Duration;

use entourage_store::{Commit, Error as StoreError, Page, RecordFilter, Versioned, Write};
use entourage_types::{Agent, AgentId, EntityKind, RecordWrite, Scope, Sha256, StreamToken, Time};

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
        let (mut needed, mut ended) = (known.len(), Vec::new());
        for token in known {
            match self.use_of_token(&token, now).await? {
                TokenUse::None => {
                    needed -= 1;
                    commit.push(removed(&token));
                }
                TokenUse::WholeStream => ended.push(token),
                TokenUse::Full => {}
            }
        }
        // Where there is no room, those give way whose agents ended first.
        ended.sort_by_key(|token| token.updated);
        for token in ended.iter().take((needed + 1).saturating_sub(MOST as usize)) {
            needed -= 1;
            commit.push(removed(token));
        }
        if needed >= MOST as usize {
            return Err(Error::TooMany(format!(
                "{MOST} stream tokens are as many as one owner may have for agents that are active or to be started; \
                 one that is not used ends within a minute"
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
            starts_until: expires.map_or(now + STARTS_WITHIN, |expires| expires.min(now + STARTS_WITHIN)),
            expires,
            created: now,
            updated: now,
        };
        commit.push(Write::record(&made)?);
        self.engine.commit(commit).await?;
        Ok((token, made))
    }

    /// The agent of a token: the one that it is for, or else the active one of this name, or else a new one that it
    /// starts now. From then on it is for that agent.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is used too late, or for another agent than the one that it is for; and as for
    /// [`Client::explore`].
    pub async fn explore_by(&self, token: Versioned<StreamToken>, new: NewExploration) -> Result<Agent> {
        let Versioned { mut record, mut version } = token;
        if let (Some(own), Some(given)) = (&record.name, &new.name)
            && own != given
        {
            return Err(Error::Invalid(format!(
                "the token is for the agent `{own}`, and not for `{given}`: get one for that"
            )));
        }
        let digest = record.digest;
        let new = NewExploration { name: new.name.or_else(|| record.name.clone()), ..new };
        loop {
            if let Some(agent) = record.agent {
                return self.bound(agent, &record, &new).await;
            }
            if record.starts_until < self.engine.now() {
                return Err(Error::Invalid(
                    "the token is used too late: it starts an agent within a minute".into(),
                ));
            }
            // Without anything to explore an agent is followed, also if it has ended.
            let active = match &new.name {
                Some(name) if new.is_blank() => Some(self.named_agent(name).await?),
                Some(name) => self.active_named(name).await?,
                None => None,
            };
            let used = Versioned { record, version };
            let done = match active {
                Some(agent) => self.bind(&used, agent, &new).await,
                None => self.begin(&new, None, Some(&used)).await,
            };
            match done {
                // Another request used the token, or took the name, at the same moment.
                Err(
                    Error::NameTaken { .. }
                    | Error::Store(StoreError::OtherVersion { kind: EntityKind::STREAM_TOKEN, .. }),
                ) => Versioned { record, version } = self.versioned(digest).await?,
                done => return done,
            }
        }
    }

    /// Makes a token one for this agent.
    async fn bind(
        &self,
        token: &Versioned<StreamToken>,
        agent: Agent,
        new: &NewExploration,
    ) -> Result<Agent> {
        let mut commit = Commit::new(self.engine.now());
        commit.record(use_of(token, &agent, new, commit.at)?);
        self.engine.commit(commit).await?;
        Ok(agent)
    }

    /// The agent that a token is for, if this asks for no other one: its name may be another agent's by now.
    async fn bound(&self, agent: AgentId, token: &StreamToken, new: &NewExploration) -> Result<Agent> {
        let is_its_own = |name: &String| token.name.as_ref() == Some(name) || *name == agent.to_string();
        if let Some(name) = new.name.as_ref().filter(|name| !is_its_own(name)) {
            return Err(Error::Invalid(format!(
                "the token is for the stream of another agent than `{name}`: get one for that"
            )));
        }
        self.agent(agent).await
    }

    /// What can still be done with a token.
    async fn use_of_token(&self, token: &StreamToken, now: Time) -> Result<TokenUse> {
        if token.expires.is_some_and(|expires| expires <= now) {
            return Ok(TokenUse::None);
        }
        Ok(match token.agent {
            None if token.starts_until < now => TokenUse::None,
            None => TokenUse::Full,
            Some(agent) if self.is_active(agent).await? => TokenUse::Full,
            Some(_) if token.updated + KEPT_AFTER_END < now => TokenUse::None,
            Some(_) => TokenUse::WholeStream,
        })
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

/// What can still be done with a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenUse {
    /// Nothing.
    None,
    /// Its agent has ended: whether all of the stream was received can be asked.
    WholeStream,
    /// It starts an agent, or follows one.
    Full,
}

fn removed(token: &StreamToken) -> Write {
    Write::PruneEntity(EntityKind::STREAM_TOKEN, token.digest.to_string())
}

/// The write that makes a token one for this agent, under the name by which it was asked for.
pub(super) fn use_of(
    token: &Versioned<StreamToken>,
    agent: &Agent,
    new: &NewExploration,
    at: Time,
) -> Result<RecordWrite> {
    let (id, root, name) = (Some(agent.id), Some(agent.root), new.name.clone());
    let used = StreamToken { agent: id, root, name, updated: at, ..token.record.clone() };
    Ok(RecordWrite::of(&used)?.at_version(token.version))
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
