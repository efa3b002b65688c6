//! The user agent: the one agent that belongs to a person and to no goal.

use entourage_store::{Commit, Error as StoreError, Write};
use entourage_types::{Agent, AgentId, Owner, Status};

use super::super::Client;
use crate::{Error, Result, digest::digest};

/// How many user agents of one owner may be on record, deleted ones among them.
const MOST_DELETED: u32 = 16;

/// Its kind.
const USER_AGENT: &str = "user_agent";

impl Client {
    /// The user agent of this owner, which is created when it is asked for first (S4-R086).
    ///
    /// # Errors
    /// [`Error::UnknownKind`] if there is no kind `user_agent`; when the store fails.
    pub async fn user_agent(&self) -> Result<Agent> {
        // One that was deleted is followed by another, and may have been pruned since.
        let mut free = None;
        for nth in 0..MOST_DELETED {
            let id = id_of(&self.owner, nth);
            match self.agent(id).await {
                Ok(deleted) if deleted.status == Status::Cancelled => free = None,
                Err(Error::NotFound { .. }) => free = free.or(Some(id)),
                found => return found,
            }
        }
        let Some(id) = free else {
            return Err(Error::Invalid("too many user agents were deleted; prune their trees first".into()));
        };
        let kind = self.engine.kinds().named(USER_AGENT)?;
        self.engine.check_kind(&kind).map_err(Error::Invalid)?;
        let at = self.engine.now();
        let agent = Agent { id, root: id, ..Agent::root(self.owner.clone(), &kind.name, String::new(), at) };
        match self.engine.commit(Commit::new(at).write(Write::NewAgent(agent.clone()))).await {
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
        (0..MOST_DELETED).any(|nth| id_of(&agent.owner, nth) == agent.id)
    }
}

/// The id of an owner's nth user agent: always the same. Ids sort by creation time, and this one before all others, so that
/// it does not stand for the latest.
fn id_of(owner: &Owner, nth: u32) -> AgentId {
    let id = digest(&format!("user agent {nth}\n{owner}"));
    // 32 hex digits are always an id.
    format!("{}_{:0>12}{}", AgentId::PREFIX, "", &id[..20]).parse().unwrap_or_else(|_| AgentId::new())
}
