//! Messages in a thread: a chat has one agent for each (recipient, sender), and each message gets an answer
//! of its own.

use std::{fmt, str::FromStr};

use entourage_store::{Commit, Error as StoreError, Expect, Write};
use entourage_types::{
    Agent, AgentId, AgentKey, Author, EntityKind, ItemBody, Message, Post, PostBody, PostId, RunId,
    RunOptions, title_of,
};
use serde::Serialize;

use super::{Client, LONGEST_NAME, checked_name, checked_text, inbox::has_room};
use crate::{
    Error, Result,
    thread::{self, ThreadSlot},
};

/// A message to an agent of a chat.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ChatMessage {
    /// The chat's name, which may be any; the first message in a chat creates it.
    pub chat: String,
    /// The kind of the recipient.
    pub to: String,
    /// The name of the sender; the person's if none is given. Each sender has a thread of its own.
    pub from: Option<String>,
    /// The text.
    pub text: String,
    /// The options of the run that answers it. Under this name in the digest that a repeated request is
    /// recognised by, which databases keep.
    #[serde(rename = "terms")]
    pub options: RunOptions,
}

/// A message that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedMessage {
    /// The root of the chat's tree.
    pub root: AgentId,
    /// The agent that reads it.
    pub agent: AgentId,
    /// The message.
    pub post: PostId,
    /// Whether it had been sent before under the same key.
    pub again: bool,
}

/// The agent that reads a message, and the message, as the answer to a repeated request.
pub(super) struct Sent {
    pub(super) agent: AgentId,
    pub(super) post: PostId,
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.agent, self.post)
    }
}

impl FromStr for Sent {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let sent =
            text.split_once(' ').and_then(|(agent, post)| Some((agent.parse().ok()?, post.parse().ok()?)));
        sent.map(|(agent, post)| Self { agent, post }).ok_or(Error::KeyReused)
    }
}

/// How often a message is tried if other callers create the same thread at the same moment.
const RIVALS: u32 = 8;
/// The longest name of a sender, in bytes.
const LONGEST_SENDER: usize = 200;
/// The longest name of a chat, in characters: the agency's name and the one that a person gave it.
const LONGEST_CHAT: usize = 2 * LONGEST_NAME + 1;
/// Items per page.
const PAGE: u64 = 200;

impl Client {
    /// The agent of a thread, once the thread has a message; `from` is the person unless given.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn thread(&self, chat: &str, to: &str, from: Option<&str>) -> Result<Option<Agent>> {
        let key = AgentKey::new(to, from.unwrap_or(thread::USER)).map_err(Error::Invalid)?;
        let root = self.chat(chat).await?;
        Ok(match thread::find(&**self.engine.store(), &self.scope, root, key).await? {
            ThreadSlot::Taken(agent) => Some(agent),
            ThreadSlot::Free(_) => None,
        })
    }

    /// Sends a message in a thread. A run of its own answers it, after the messages before it.
    ///
    /// The same `key` with the same speech is one message, whatever kinds and guardrails exist by then.
    ///
    /// # Errors
    /// [`Error::UnknownKind`]; [`Error::Invalid`] for an empty text or chat, or a sender's name that cannot
    /// be used; [`Error::KeyReused`]; [`Error::Forgotten`] if the thread of the first message was pruned.
    pub async fn speak(&self, speech: ChatMessage, key: Option<&str>) -> Result<AcceptedMessage> {
        let request = serde_json::to_string(&speech)?;
        if let Some(first) = self.first_answer(key, &request).await? {
            return self.replayed_message(first).await;
        }
        check_names(&speech)?;
        let kind = self.engine.kinds().named(&speech.to)?;
        self.engine.check_kind(&kind).map_err(Error::Invalid)?;
        if let Some(validator) = &speech.options.validator {
            self.engine.named_guardrail(validator).map_err(Error::Invalid)?;
        }
        checked_text(&speech.text)?;
        // The threads with a kind as the sender are between agents: a person does not write in them.
        if let Some(name) = speech.from.as_ref().filter(|name| self.engine.kinds().get(name).is_some()) {
            let why = format!("`{name}` is the name of an agent: the sender needs a name of their own");
            return Err(Error::Invalid(why));
        }
        for _ in 0..RIVALS {
            match self.try_send_message(&speech, kind.limits.max_tree, key, &request).await {
                // Another caller created the same chat or thread at the same moment, or deleted the chat: try
                // again.
                Err(Error::Store(
                    StoreError::AgentExists { .. }
                    | StoreError::Exists { kind: EntityKind::CHAT, .. }
                    | StoreError::NotInStatus { kind: EntityKind::CHAT, .. },
                )) => {}
                done => return done,
            }
        }
        Err(Error::ChatChanges(speech.chat.clone()))
    }

    async fn try_send_message(
        &self,
        speech: &ChatMessage,
        max_tree: u32,
        once: Option<&str>,
        request: &str,
    ) -> Result<AcceptedMessage> {
        let (store, now) = (self.engine.store(), self.engine.now());
        let sender = speech.from.as_deref().unwrap_or(thread::USER);
        let key = AgentKey::new(&speech.to, sender).map_err(Error::Invalid)?;
        let mut commit = Commit::new(now);
        let root = self.enter(&speech.chat, &mut commit).await?;
        let title = title_of(&speech.text);
        let (mut agent, is_new) = match thread::find(&**store, &self.scope, root, key).await? {
            ThreadSlot::Taken(found) => (found, false),
            ThreadSlot::Free(key) => {
                // An agent that a person talks to is at the top of the chat's tree.
                let mut made =
                    Agent { root, key: Some(key), ..Agent::root(self.owner.clone(), &speech.to, title, now) };
                match store.agent(&self.scope, root).await? {
                    Some(_) => commit.expect.push(Expect::TreeBelow(root, max_tree)),
                    None => made.id = root,
                }
                (made, true)
            }
        };
        let kept = self.engine.keep_thread(&mut agent, is_new, Some(&speech.chat)).await?;
        if is_new {
            commit.push(Write::NewAgent(agent.clone()));
        }
        commit.writes.extend(kept);
        let body = PostBody::Message {
            from: Author::User,
            text: speech.text.clone(),
            task: None,
            queued: false,
            options: Some(speech.options.clone()),
        };
        let post = Post::new(agent.id, now, body);
        let spoken = AcceptedMessage { root, agent: agent.id, post: post.id, again: false };
        commit.post(post, &self.owner);
        commit.expect.push(has_room(agent.id));
        let sent = Sent { agent: spoken.agent, post: spoken.post };
        match self.commit_once(once, request, sent, commit).await? {
            Some(first) => self.replayed_message(first).await,
            None => Ok(spoken),
        }
    }

    /// The message of the first request with a key.
    async fn replayed_message(&self, Sent { agent, post }: Sent) -> Result<AcceptedMessage> {
        // Its chat may have been deleted since, and another one may have its name.
        let root = self.made_before(agent).await?.root;
        Ok(AcceptedMessage { root, agent, post, again: true })
    }

    /// The last message in a thread that a person sent for an answer, read by the agent or not.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn last_message(&self, agent: AgentId) -> Result<Option<PostId>> {
        let is_asked = |post: &&Post| {
            matches!(&post.body, PostBody::Message { from: Author::User, options: Some(_), .. })
        };
        let agent = self.agent(agent).await?;
        if let Some(post) = self.inbox(&agent).await?.iter().rev().find(is_asked) {
            return Ok(Some(post.id));
        }
        self.last_heard(agent.id, |message| message.options.is_some() && message.from == Author::User)
            .await
            .map(|found| found.and_then(|(_, message)| message.post))
    }

    /// The run that answers a message, once the agent has read it.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn run_of(&self, agent: AgentId, message: PostId) -> Result<Option<RunId>> {
        let heard = self.last_heard(agent, |heard| heard.post == Some(message)).await?;
        Ok(heard.map(|(run, _)| run))
    }

    /// The last message in a transcript that fits, with the run that read it.
    async fn last_heard(
        &self,
        agent: AgentId,
        fits: impl Fn(&Message) -> bool,
    ) -> Result<Option<(RunId, Message)>> {
        let mut end = self.agent(agent).await?.items;
        while end > 0 {
            let from = end.saturating_sub(PAGE);
            let items = self.items(agent, from, u32::try_from(end - from).unwrap_or(u32::MAX)).await?;
            let found = items.into_iter().rev().find_map(|item| match item.body {
                ItemBody::Message(message) if fits(&message) => Some((item.run, message)),
                _ => None,
            });
            if found.is_some() {
                return Ok(found);
            }
            end = from;
        }
        Ok(None)
    }
}

fn check_names(speech: &ChatMessage) -> Result<()> {
    if speech.chat.trim().is_empty() {
        return Err(Error::Invalid("the chat has no name: give it one".into()));
    }
    if speech.chat.chars().count() > LONGEST_CHAT {
        return Err(Error::Invalid(format!("the chat's name is longer than {LONGEST_CHAT} characters")));
    }
    checked_name("recipient's name", &speech.to)?;
    checked_name("validator's name", speech.options.validator.as_deref().unwrap_or_default())?;
    let is_name = |name: &String| {
        let is_plain = !name.contains(AgentKey::SEPARATORS) && !name.contains(['\n', '\0']);
        !name.trim().is_empty() && name.len() <= LONGEST_SENDER && is_plain
    };
    if speech.from.as_ref().is_some_and(|name| !is_name(name)) {
        let why = "a sender's name is 1 to 200 characters on one line, without `<` and `#`";
        return Err(Error::Invalid(why.into()));
    }
    Ok(())
}
