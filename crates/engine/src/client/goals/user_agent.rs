//! The user agent: the one agent that belongs to a person and to no goal.

use entourage_store::{Commit, Error as StoreError, Write, counter::next_number};
use entourage_types::{Agent, AgentId, Counter, EntityKind, Owner, Status};

use super::super::Client;
use crate::{Error, Result, digest::digest};

/// So many user agents of an owner are looked for by their numbers; those after them are counted.
const SOUGHT: u32 = 16;

/// Counts the user agents of an owner after those that are sought. The name stays: stores have it.
const COUNTER: &str = "user agents";

/// The kind of user agents.
pub const USER_AGENT: &str = "user_agent";

impl Client {
    /// The user agent of this owner, which is created when it is asked for first (S4-R086).
    ///
    /// # Errors
    /// [`Error::UnknownKind`] if there is no kind `user_agent`; when the store fails.
    pub async fn user_agent(&self) -> Result<Agent> {
        loop {
            let mut commit = Commit::new(self.engine.now());
            let id = match self.user_agent_place(&mut commit).await? {
                Place::Taken(agent) => return Ok(*agent),
                Place::Free(id) => id,
            };
            match self.new_user_agent(id, commit).await {
                // Two asked at the same moment.
                Err(Error::Store(StoreError::OtherVersion { kind: EntityKind::COUNTER, .. })) => {}
                created => return created,
            }
        }
    }

    /// The user agent that was not deleted, or the id of the next one. Each has an id of its own, also after a deletion, and
    /// one that was deleted may have been pruned since.
    async fn user_agent_place(&self, commit: &mut Commit) -> Result<Place> {
        let counter = Counter::id_of(&self.owner, COUNTER);
        let mut is_counted = false;
        if let Some(Counter { last, .. }) = self.engine.store().record(&self.scope, counter).await? {
            match self.agent(nth_id(&self.owner, last)).await {
                Ok(deleted) if deleted.status == Status::Cancelled => is_counted = true,
                Err(Error::NotFound { .. }) => is_counted = true,
                found => return found.map(Place::taken),
            }
        }
        if !is_counted {
            let mut free = None;
            for nth in 0..SOUGHT {
                let id = id_of(&self.owner, nth);
                match self.agent(id).await {
                    Ok(deleted) if deleted.status == Status::Cancelled => free = None,
                    Err(Error::NotFound { .. }) => free = free.or(Some(id)),
                    found => return found.map(Place::taken),
                }
            }
            if let Some(id) = free {
                return Ok(Place::Free(id));
            }
        }
        let number = next_number(&**self.engine.store(), &self.owner, COUNTER, commit).await?;
        Ok(Place::Free(nth_id(&self.owner, number)))
    }

    async fn new_user_agent(&self, id: AgentId, commit: Commit) -> Result<Agent> {
        let kind = self.engine.kinds().named(USER_AGENT)?;
        self.engine.check_kind(&kind).map_err(Error::Invalid)?;
        let at = commit.at;
        let agent = Agent { id, root: id, ..Agent::root(self.owner.clone(), &kind.name, String::new(), at) };
        match self.engine.commit(commit.write(Write::NewAgent(agent.clone()))).await {
            // Two asked at the same moment.
            Err(StoreError::AgentExists { .. }) => self.agent(id).await,
            Err(error) => Err(error.into()),
            Ok(_) => Ok(agent),
        }
    }
}

impl Client {
    /// Whether an agent is the user agent of its owner.
    #[must_use]
    pub fn is_user_agent(agent: &Agent) -> bool {
        // No other agent is given an id of the first moment of all.
        let first = format!("{}_{FIRST_MOMENT}", AgentId::PREFIX);
        agent.id.to_string().starts_with(&first)
    }
}

/// Where an owner's user agent is, or is to be.
enum Place {
    Taken(Box<Agent>),
    Free(AgentId),
}

impl Place {
    fn taken(agent: Agent) -> Self {
        Self::Taken(Box::new(agent))
    }
}

/// The id of an owner's nth user agent after those that are sought.
fn nth_id(owner: &Owner, number: u64) -> AgentId {
    id_of(owner, u64::from(SOUGHT) + number - 1)
}

/// The part of an id that says when it was given.
const FIRST_MOMENT: &str = "000000000000";

/// The id of an owner's nth user agent: always the same. Ids sort by creation time, and this one before all others, so that
/// it does not stand for the latest.
fn id_of(owner: &Owner, nth: impl Into<u64>) -> AgentId {
    let id = digest(&format!("user agent {}\n{owner}", nth.into()));
    // 32 hex digits are always an id.
    format!("{}_{FIRST_MOMENT}{}", AgentId::PREFIX, &id[..20]).parse().unwrap_or_else(|_| AgentId::new())
}
