//! Threads: which agent a sender reaches. In a chat there is one agent for each recipient and sender, and the
//! chat is the tree of these agents.

use entourage_store::{AgentQuery, Result, Store};
use entourage_types::{Action, Agent, AgentId, AgentKey, Owner, Post, PostBody, Scope, Status};

use crate::digest::digest;

/// The name of the person who talks to agents, as the sender of a thread.
pub(crate) const USER: &str = "user";

/// Who is at a thread's place in a chat.
pub(crate) enum ThreadSlot {
    /// The thread's agent.
    Taken(Agent),
    /// Nobody; its agent is created under this key.
    Free(AgentKey),
}

/// Finds the place of a thread in the tree of this root. An agent that replaces a deleted one has a key of its
/// own.
pub(crate) async fn find(
    store: &dyn Store,
    scope: &Scope,
    root: AgentId,
    mut key: AgentKey,
) -> Result<ThreadSlot> {
    loop {
        let query = AgentQuery { root: Some(root), key: Some(key.clone()), ..AgentQuery::default() };
        match store.agents(scope, query).await?.into_iter().next() {
            Some(found) if !is_ending(store, &found).await? => return Ok(ThreadSlot::Taken(found)),
            Some(_) => key = key.next(),
            None => return Ok(ThreadSlot::Free(key)),
        }
    }
}

/// Whether an agent was deleted, or is to be deleted as soon as it reads that.
async fn is_ending(store: &dyn Store, agent: &Agent) -> Result<bool> {
    let deletes = |post: &Post| matches!(post.body, PostBody::Intervention { action: Action::Delete, .. });
    Ok(agent.status == Status::Cancelled || store.inbox(agent.id).await?.iter().any(deletes))
}

/// Returns the name under which an agent writes: its kind's, so that the next agent of this kind in the chat
/// reaches the same threads. An agent that was spawned for a piece of work has no name but its id, so that
/// two of them share nothing.
pub(crate) fn name_of(agent: &Agent) -> String {
    match (agent.parent, &agent.key) {
        (Some(_), None) => agent.id.to_string(),
        _ => agent.kind.clone(),
    }
}

/// Returns the id of a chat's record: the same for the same owner and name.
pub(crate) fn chat_id(owner: &Owner, chat: &str) -> String {
    digest(&format!("chat\n{}:{owner}\n{chat}", owner.as_str().len()))
}

/// Returns the root of the first chat of this name. A chat that takes the name of a deleted one has another
/// root.
pub(crate) fn root_of(owner: &Owner, chat: &str) -> AgentId {
    let id = format!("{}_{}", AgentId::PREFIX, &chat_id(owner, chat)[..32]);
    // 32 hex digits are always an id.
    id.parse().unwrap_or_else(|_| AgentId::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_chat_name_gives_each_owner_a_different_root() {
        let [ada, bob] = ["ada", "bob"].map(Owner::new);
        assert_eq!(root_of(&ada, "one"), root_of(&ada, "one"));
        assert_ne!(root_of(&ada, "one"), root_of(&ada, "two"));
        assert_ne!(root_of(&ada, "one"), root_of(&bob, "one"));
    }
}
