//! The inbox of an agent, as clients see it, and how much it takes.

use entourage_store::{Expect, InboxSize};
use entourage_types::{Action, Agent, AgentId, InterventionId, Post, PostBody, PostId, Status};

use super::Client;
use crate::{Error, Result};

/// From so much that is unread on, an agent's inbox takes no more from people: the agent reads all of it at once. What
/// the agent waits for (results, answers, the triggers of its schedules) comes all the same; other limits bound it.
const MOST_UNREAD: InboxSize = InboxSize { posts: 1_000, bytes: 16 << 20 };

/// The most retries in a full inbox.
const MOST_RETRIES: usize = 100;

/// Why a full inbox takes no more.
const FULL: &str = "its inbox is full; wait until it has read some messages";

/// That an agent's inbox takes one more post of a person. The store judges it within the commit, so that two at once do
/// not both take the last place.
pub(super) const fn has_room(agent: AgentId) -> Expect {
    Expect::InboxBelow(agent, MOST_UNREAD)
}

/// The refusal of a full inbox.
pub(super) const fn is_full(agent: AgentId) -> Error {
    Error::NotNow { agent, why: FULL }
}

/// Whether this is the refusal of a full inbox.
pub(super) fn was_full(error: &Error) -> bool {
    matches!(error, Error::NotNow { why: FULL, .. })
}

/// The intervention in an inbox that does already what another of the same action would do: nothing has come since that
/// this one would concern, too.
pub(super) fn same_unread(inbox: &[Post], action: Action, of: Option<PostId>) -> Option<InterventionId> {
    let undoes = |post: &Post| match &post.body {
        PostBody::Intervention { action: other, .. } if action == Action::Resume => *other == Action::Pause,
        PostBody::Intervention { action: other, .. } if action == Action::Retry => *other == Action::Stop,
        PostBody::Intervention { action: other, .. } => matches!(other, Action::Modify | Action::Retry),
        PostBody::Message { .. } => action == Action::Stop && of.is_none(),
        _ => false,
    };
    let same = |post: &Post| match post.body {
        PostBody::Intervention { id, action: other, of: its, .. } if (other, its) == (action, of) => Some(id),
        _ => None,
    };
    inbox.iter().rev().take_while(|post| !undoes(post)).find_map(same)
}

/// Whether a full inbox has so many retries that it takes no more. Retries and stops undo each other, so they could come in
/// turns without end; a stop always gets through.
pub(super) fn has_many_retries(inbox: &[Post]) -> bool {
    let is_retry = |post: &&Post| matches!(post.body, PostBody::Intervention { action: Action::Retry, .. });
    inbox.iter().filter(is_retry).count() >= MOST_RETRIES
}

impl Client {
    /// The agent as it is if it has nothing to read; none if it has something. It is read after its inbox: what an agent
    /// reads, it takes in the commit that sets it to work, so one that was read before may be at work by then.
    pub(super) async fn with_empty_inbox(&self, agent: &Agent) -> Result<Option<Agent>> {
        match self.post_ids(agent, 1).await?.is_empty() {
            true => self.agent(agent.id).await.map(Some),
            false => Ok(None),
        }
    }

    /// Whether an agent is at work, or has something to read.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn is_at_work(&self, agent: &Agent) -> Result<bool> {
        let works = |agent: &Agent| matches!(agent.status, Status::Running | Status::Waiting);
        Ok(works(agent) || self.with_empty_inbox(agent).await?.is_none_or(|agent| works(&agent)))
    }

    /// The unread posts of an agent. The store itself gives those of any owner.
    pub(super) async fn inbox(&self, agent: &Agent) -> Result<Vec<Post>> {
        self.check_sees(agent)?;
        Ok(self.engine.store().inbox(agent.id).await?)
    }

    /// Which posts an agent has not read: at most this many, none of them read.
    pub(super) async fn post_ids(&self, agent: &Agent, limit: u32) -> Result<Vec<PostId>> {
        self.check_sees(agent)?;
        Ok(self.engine.store().post_ids(agent.id, limit).await?)
    }

    fn check_sees(&self, agent: &Agent) -> Result<()> {
        if self.scope.sees(&agent.owner) { Ok(()) } else { Err(Error::not_found("agent", agent.id)) }
    }
}

#[cfg(test)]
mod tests {
    use entourage_types::{Author, Time};

    use super::*;

    #[test]
    fn an_intervention_is_the_same_as_an_unread_one_unless_something_came_since_that_it_concerns() {
        let (agent, some) = (AgentId::new(), PostId::new());
        let post = |body| Post::new(agent, Time::from_micros(1), body);
        let act =
            |action, of| post(PostBody::Intervention { id: InterventionId::new(), action, text: None, of });
        let words = || {
            let (from, text) = (Author::User, "dig".to_owned());
            post(PostBody::Message { from, text, task: None, queued: false, options: None })
        };
        let (stop, pause, resume) =
            (act(Action::Stop, None), act(Action::Pause, None), act(Action::Resume, None));
        let id = |post: &Post| match post.body {
            PostBody::Intervention { id, .. } => Some(id),
            _ => None,
        };
        let found = |posts: &[&Post], action, of| {
            same_unread(&posts.iter().map(|post| (*post).clone()).collect::<Vec<_>>(), action, of)
        };
        assert_eq!(found(&[], Action::Stop, None), None);
        assert_eq!(found(&[&words(), &stop, &pause], Action::Stop, None), id(&stop));
        assert_eq!(found(&[&stop, &words()], Action::Stop, None), None, "the message is to be stopped, too");
        assert_eq!(found(&[&stop, &act(Action::Modify, None)], Action::Stop, None), None);
        assert_eq!(found(&[&stop], Action::Stop, Some(some)), None, "another stop");
        let withdrawn = act(Action::Stop, Some(some));
        assert_eq!(found(&[&withdrawn, &words()], Action::Stop, Some(some)), id(&withdrawn));
        assert_eq!(found(&[&resume, &words()], Action::Resume, None), id(&resume));
        assert_eq!(found(&[&resume, &pause], Action::Resume, None), None, "it is paused again");
        let in_turns: Vec<Post> =
            (0..MOST_RETRIES).flat_map(|_| [stop.clone(), act(Action::Retry, None)]).collect();
        assert!(has_many_retries(&in_turns) && !has_many_retries(&in_turns[2..]));
    }
}
