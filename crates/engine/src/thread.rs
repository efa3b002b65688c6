//! Threads: who is met by whom. In a chat there is one agent for (recipient, sender), and the chat is
//! its tree.

use std::collections::HashSet;

use entourage_store::{AgentQuery, Result, Store};
use entourage_types::{Agent, AgentId, Owner, Scope, Status};

use crate::digest::digest;

/// The name of the person who talks to agents, as the sender of a thread.
pub(crate) const USER: &str = "user";

/// What the thread of a recipient with a sender is found by in its chat.
pub(crate) fn key(recipient: &str, sender: &str) -> String {
    format!("{recipient}<{sender}")
}

/// What the thread of an agent is named by.
pub(crate) struct Named<'a> {
    pub(crate) recipient: &'a str,
    pub(crate) sender: &'a str,
    /// Whether it is the first of this name in its chat, and not in the place of one that was deleted.
    pub(crate) is_first: bool,
}

/// The names in an agent's key; none of one that is found by its id alone.
pub(crate) fn named(agent: &Agent) -> Option<Named<'_>> {
    let (recipient, sender) = agent.key.as_deref()?.split_once('<')?;
    let place = sender.split_once('#');
    Some(Named { recipient, sender: place.map_or(sender, |(sender, _)| sender), is_first: place.is_none() })
}

/// The agent of a thread in the tree of this root, or the key under which it is to be made: where the
/// last one was deleted, another takes its place under a key of its own.
pub(crate) async fn find(
    store: &dyn Store,
    scope: &Scope,
    root: AgentId,
    thread: String,
) -> Result<std::result::Result<Agent, String>> {
    let mut key = thread.clone();
    for nth in 2.. {
        let query = AgentQuery { root: Some(root), key: Some(key.clone()), ..AgentQuery::default() };
        match store.agents(scope, query).await?.into_iter().next() {
            Some(found) if found.status != Status::Cancelled => return Ok(Ok(found)),
            Some(_) => key = format!("{thread}#{nth}"),
            None => break,
        }
    }
    Ok(Err(key))
}

/// The name that an agent writes under: its kind's, so that the next of this kind in the chat meets
/// the same threads. One that was made for a piece of work has no name but its id, so that two of them
/// share nothing.
pub(crate) fn name_of(agent: &Agent) -> String {
    match (agent.parent, &agent.key) {
        (Some(_), None) => agent.id.to_string(),
        _ => agent.kind.clone(),
    }
}

/// An agent and all that stand below it, in a tree that is read parents before children.
pub(crate) fn below(tree: &[Agent], top: AgentId) -> HashSet<AgentId> {
    let mut below = HashSet::from([top]);
    for agent in tree {
        if agent.parent.is_some_and(|parent| below.contains(&parent)) {
            below.insert(agent.id);
        }
    }
    below
}

/// What the record of a chat is found by: the same for the same owner and name.
pub(crate) fn chat_id(owner: &Owner, chat: &str) -> String {
    digest(&format!("chat\n{}:{owner}\n{chat}", owner.as_str().len()))
}

/// The root of the first chat of this name. One that takes the name of a deleted chat has another.
pub(crate) fn root_of(owner: &Owner, chat: &str) -> AgentId {
    let id = format!("{}_{}", AgentId::PREFIX, &chat_id(owner, chat)[..32]);
    // 32 hex digits are always an id.
    id.parse().unwrap_or_else(|_| AgentId::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_is_its_owners_alone() {
        let [ada, bob] = ["ada", "bob"].map(Owner::new);
        assert_eq!(root_of(&ada, "one"), root_of(&ada, "one"));
        assert_ne!(root_of(&ada, "one"), root_of(&ada, "two"));
        assert_ne!(root_of(&ada, "one"), root_of(&bob, "one"));
    }
}
