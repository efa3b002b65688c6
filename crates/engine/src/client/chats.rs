//! Chats by name: finding the tree of one, listing them, and deleting one.

use entourage_store::{AgentQuery, Commit, Error as StoreError, Expect, Page, RecordFilter, Write};
use entourage_types::{Action, Agent, AgentId, Chat, ChatStatus, EntityKind, PostId, Status, Time};

use super::{Client, intervene::intervention};
use crate::{Error, Result, thread};

impl Client {
    /// Returns the root of a chat's tree, also if the chat does not exist yet; for a deleted chat, the root
    /// of its last tree.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn chat(&self, chat: &str) -> Result<AgentId> {
        let known = self.known_chat(chat).await?;
        Ok(known.map_or_else(|| thread::root_of(&self.owner, chat), |chat| chat.root))
    }

    /// Chats in the order of their [ids](Chat::id), which are the cursors of pages. Deleted chats are left
    /// out. A chat from before chats were stored by name appears only once it gets another message.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn chats(&self, page: Page) -> Result<Vec<Chat>> {
        self.records(RecordFilter { page, ..RecordFilter::in_status(ChatStatus::Open) }).await
    }

    /// Deletes a chat: every thread that people opened in it, and all agents below. The next message under
    /// its name begins a new chat. A repeated call deletes what is left.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the chat never had a message.
    pub async fn delete_chat(&self, chat: &str) -> Result<()> {
        let root = loop {
            match self.mark_deleted(chat).await {
                // Another caller wrote in the chat at the same moment, or an agent was created in it: try
                // again.
                Err(Error::Store(
                    StoreError::Exists { kind: EntityKind::CHAT, .. }
                    | StoreError::NotInStatus { kind: EntityKind::CHAT, .. }
                    | StoreError::HasGrown { .. },
                )) => {}
                root => break root?,
            }
        };
        // These include a thread that was opened at the same moment.
        for thread in self.opened(root).await? {
            self.engine.delete(thread.id).await?;
        }
        Ok(())
    }

    /// Marks the chat as deleted and posts a deletion to each of its threads, in one commit, so that a crash
    /// leaves no thread at work. Returns the root of its tree.
    async fn mark_deleted(&self, chat: &str) -> Result<AgentId> {
        let (now, known) = (self.engine.now(), self.known_chat(chat).await?);
        let (before, expect) = match known {
            Some(known) if known.deleted => return Ok(known.root),
            Some(known) => {
                let expect = Expect::status::<Chat>(&known.id, known.status());
                (known, expect)
            }
            None => self.new_chat(chat, thread::root_of(&self.owner, chat), now),
        };
        let root = before.root;
        if self.engine.store().agent(&self.scope, root).await?.is_none() {
            return Err(Error::not_found("chat", chat));
        }
        let deleted = Chat { deleted: true, updated: now, ..before };
        let query = AgentQuery { root: Some(root), page: Page::all(), ..AgentQuery::default() };
        let tree = self.engine.store().agents(&self.scope, query).await?;
        // A thread that was opened since would be deleted with the chat without a post about that: the commit
        // fails then.
        let no_more = Expect::LastCreated { root, last: tree.last().map_or(root, |last| last.id) };
        let mut commit = Commit::new(now).expect(expect).expect(no_more).write(Write::record(&deleted)?);
        for thread in tree.into_iter().filter(is_open_thread) {
            let (record, post) = intervention(&thread, Action::Delete, None, None, now);
            commit.push(Write::record(&record)?);
            post.into_iter().for_each(|post| commit.post(post, &thread.owner));
        }
        self.engine.commit(commit).await?;
        Ok(root)
    }

    /// Returns the last message that a person sent in a chat, and its thread; none if there is none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn last_said(&self, chat: &str) -> Result<Option<(Agent, PostId)>> {
        let mut last: Option<(Agent, PostId)> = None;
        for thread in self.opened(self.chat(chat).await?).await? {
            // Ids of posts are in the order of their times.
            if let Some(post) = self.last_message(thread.id).await?
                && last.as_ref().is_none_or(|(_, before)| *before < post)
            {
                last = Some((thread, post));
            }
        }
        Ok(last)
    }

    /// Returns the root of the tree for a new message in a chat. Makes the commit expect that the chat is
    /// still the one read here; if there is none or it was deleted, makes the commit create one.
    pub(super) async fn enter(&self, chat: &str, commit: &mut Commit) -> Result<AgentId> {
        let known = self.known_chat(chat).await?;
        if let Some(known) = &known {
            commit.expect.push(Expect::status::<Chat>(&known.id, known.status()));
            if !known.deleted {
                return Ok(known.root);
            }
        }
        let mut root = thread::root_of(&self.owner, chat);
        let first = self.engine.store().agent(&self.scope, root).await?;
        // A chat from before chats were stored by name has no record: it is deleted if its first agent is.
        if known.is_some() || first.is_some_and(|first| first.status == Status::Cancelled) {
            root = AgentId::new();
        }
        let (new, absent) = self.new_chat(chat, root, commit.at);
        if known.is_none() {
            commit.expect.push(absent);
        }
        commit.push(Write::record(&new)?);
        Ok(root)
    }

    fn new_chat(&self, name: &str, root: AgentId, now: Time) -> (Chat, Expect) {
        let id = thread::chat_id(&self.owner, name);
        let absent = Expect::absent::<Chat>(&id);
        let (owner, name) = (self.owner.clone(), name.to_owned());
        (Chat { id, owner, name, root, deleted: false, created: now, updated: now }, absent)
    }

    async fn known_chat(&self, chat: &str) -> Result<Option<Chat>> {
        let id = thread::chat_id(&self.owner, chat);
        Ok(self.engine.store().record(&self.scope, &id).await?)
    }

    /// The threads that people opened in a chat and that were not deleted, oldest first.
    async fn opened(&self, root: AgentId) -> Result<Vec<Agent>> {
        let query = AgentQuery { root: Some(root), roots: true, page: Page::all(), ..AgentQuery::default() };
        let mut threads = self.engine.store().agents(&self.scope, query).await?;
        threads.retain(is_open_thread);
        Ok(threads)
    }
}

/// Whether a person opened this thread, and it was not deleted.
fn is_open_thread(agent: &Agent) -> bool {
    agent.parent.is_none() && agent.status != Status::Cancelled
}
