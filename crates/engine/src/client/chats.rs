//! Chats by their names: which tree stands for one, which there are, and deleting one.

use entourage_store::{AgentQuery, Commit, EntityQuery, Error as StoreError, Expect, Page, Write};
use entourage_types::{Action, Agent, AgentId, Chat, EntityKind, PostId, Record, Status, Time};

use super::{Client, intervene::intervention};
use crate::{Error, Result, thread};

/// The most threads that one chat has at its top; the limits of a tree are far below.
const THREADS: u32 = 10_000;
/// Records read at once.
const PAGE: u32 = 200;

impl Client {
    /// The tree of a chat, by its root: whether the chat is there yet or not, and of the last one where
    /// it was deleted.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn chat(&self, chat: &str) -> Result<AgentId> {
        let known = self.known_chat(chat).await?;
        Ok(known.map_or_else(|| thread::root_of(&self.owner, chat), |chat| chat.root))
    }

    /// Chats in the order of their [ids](Chat::id), behind which pages go on; without those that were
    /// deleted, and those from before chats were kept by name only once something more was said in them.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn chats(&self, page: Page) -> Result<Vec<Chat>> {
        self.chats_that(|_| true, page).await
    }

    /// The same, of those whose name fits.
    pub(super) async fn chats_that(
        &self,
        fits: impl Fn(&str) -> bool + Send,
        mut page: Page,
    ) -> Result<Vec<Chat>> {
        let wanted = page.limit as usize;
        let mut found = Vec::new();
        page.limit = PAGE;
        loop {
            let status = Some(Chat::OPEN.to_owned());
            let query = EntityQuery { status, page: page.clone(), ..EntityQuery::of(EntityKind::Chat) };
            let some: Vec<Chat> = self.select(query).await?;
            let is_last = some.len() < PAGE as usize;
            page.after = some.last().map(|chat| chat.id.clone());
            found.extend(some.into_iter().filter(|chat| fits(&chat.name)));
            if is_last || found.len() >= wanted {
                found.truncate(wanted);
                return Ok(found);
            }
        }
    }

    /// Deletes a chat: every thread that people opened in it, and all agents below. The next thing said
    /// under its name begins a new chat. Called again, it goes on with what is left.
    ///
    /// # Errors
    /// [`Error::NotFound`] where nothing was said in it.
    pub async fn delete_chat(&self, chat: &str) -> Result<()> {
        let root = loop {
            match self.mark_deleted(chat).await {
                // Something was said in it at the same moment, or an agent was made in it.
                Err(Error::Store(
                    StoreError::Exists { kind: EntityKind::Chat, .. }
                    | StoreError::NotInStatus { kind: EntityKind::Chat, .. }
                    | StoreError::TreeFull { .. },
                )) => {}
                root => break root?,
            }
        };
        // Among them any that was opened at the same moment.
        for thread in self.opened(root).await? {
            self.engine.delete(thread.id).await?;
        }
        Ok(())
    }

    /// The chat is deleted from this commit on, and each of its threads reads so: a crash leaves none at
    /// work. Returns the root of its tree.
    async fn mark_deleted(&self, chat: &str) -> Result<AgentId> {
        let (now, known) = (self.engine.now(), self.known_chat(chat).await?);
        let (before, expect) = match known {
            Some(known) if known.deleted => return Ok(known.root),
            Some(known) => {
                let expect = Expect::Status(EntityKind::Chat, known.id.clone(), known.status());
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
        // A thread that was opened since would be deleted with the chat and not be told of it.
        let no_more =
            Expect::TreeBelow(root, u32::try_from(tree.len()).unwrap_or(u32::MAX).saturating_add(1));
        let mut commit =
            Commit::new(now).expect(expect).expect(no_more).write(Write::Entity(deleted.entity()?));
        for thread in tree.into_iter().filter(is_open_thread) {
            let (record, post) = intervention(&thread, Action::Delete, None, None, now);
            commit.push(Write::Intervention(record));
            post.into_iter().for_each(|post| commit.post(post, &thread.owner));
        }
        self.engine.commit(commit).await?;
        Ok(root)
    }

    /// The last thing that was said in a chat: its thread, and the message. None where nothing was.
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

    /// The root of the tree that something is to be said in. The commit holds only while the chat is
    /// the one that stands there now, and makes one where there is none or it was deleted.
    pub(super) async fn enter(&self, chat: &str, commit: &mut Commit) -> Result<AgentId> {
        let known = self.known_chat(chat).await?;
        if let Some(known) = &known {
            commit.expect.push(Expect::Status(EntityKind::Chat, known.id.clone(), known.status()));
            if !known.deleted {
                return Ok(known.root);
            }
        }
        let mut root = thread::root_of(&self.owner, chat);
        let first = self.engine.store().agent(&self.scope, root).await?;
        // One from before chats were kept by name was deleted with its first agent.
        if known.is_some() || first.is_some_and(|first| first.status == Status::Cancelled) {
            root = AgentId::new();
        }
        let (new, absent) = self.new_chat(chat, root, commit.at);
        if known.is_none() {
            commit.expect.push(absent);
        }
        commit.push(Write::Entity(new.entity()?));
        Ok(root)
    }

    fn new_chat(&self, name: &str, root: AgentId, now: Time) -> (Chat, Expect) {
        let id = thread::chat_id(&self.owner, name);
        let absent = Expect::Absent(EntityKind::Chat, id.clone());
        let (owner, name) = (self.owner.clone(), name.to_owned());
        (Chat { id, owner, name, root, deleted: false, created: now, updated: now }, absent)
    }

    async fn known_chat(&self, chat: &str) -> Result<Option<Chat>> {
        let id = thread::chat_id(&self.owner, chat);
        let found = self.engine.store().entity(&self.scope, EntityKind::Chat, &id).await?;
        Ok(found.map(|entity| Chat::from_entity(&entity)).transpose()?)
    }

    /// The threads that people opened in a chat and that were not deleted, oldest first.
    async fn opened(&self, root: AgentId) -> Result<Vec<Agent>> {
        let page = Page { limit: THREADS, ..Page::default() };
        let query = AgentQuery { root: Some(root), roots: true, page, ..AgentQuery::default() };
        let mut threads = self.engine.store().agents(&self.scope, query).await?;
        threads.retain(is_open_thread);
        Ok(threads)
    }
}

/// Whether a person opened it, and it was not deleted.
fn is_open_thread(agent: &Agent) -> bool {
    agent.parent.is_none() && agent.status != Status::Cancelled
}
