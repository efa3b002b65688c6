//! Messages about the documents of a project, each on record before it is answered.

use entourage_store::{Commit, Error as StoreError, Expect, Write, counter::next_number};
use entourage_types::{
    Agent, AgentId, Author, Document, DocumentId, EntityKind, Post, PostBody, PostId, Project, ProjectChat,
    ProjectId, RecordWrite, RunOptions, Status, Time,
};

use super::super::{Client, chat_message::Sent, checked_text, inbox::has_room};
use crate::{Error, NewAgent, Result};

/// The kind that acts on documents.
const DOCUMENTS: &str = "documents";

/// A message about the documents of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewAct {
    /// What is to be done.
    pub message: String,
    /// The project; needed to begin a chat (S5-R003).
    pub project: Option<ProjectId>,
    /// The chat that it continues, if it is one of this project (S5-R008, S5-R009).
    pub chat: Option<AgentId>,
    /// The document that the user has open: a hint (S5-R049).
    pub open: Option<DocumentId>,
}

/// A key under which a message is taken once, however often it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnceKey<'a> {
    /// The key, as the caller gave it.
    pub key: &'a str,
    /// The request that it is given for, whole: under the same key no other is taken.
    pub request: &'a str,
}

/// A message about documents that is on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedAct {
    /// The agent of the chat in which it is answered.
    pub chat: AgentId,
    /// The post that carries it.
    pub post: PostId,
    /// The number of the chat's last event before it was put on record; none if it was sent before under the same key.
    pub(crate) before: Option<u64>,
}

impl From<Sent> for AcceptedAct {
    /// A message that was sent before under its key.
    fn from(Sent { agent, post }: Sent) -> Self {
        Self { chat: agent, post, before: None }
    }
}

impl Client {
    /// The message that was accepted under a key; none if none was. A caller that looks up what a request names asks this
    /// first: a message that is on record is not refused for what became of that since.
    ///
    /// # Errors
    /// [`Error::KeyReused`] if it was another one.
    pub async fn accepted_act(&self, once: OnceKey<'_>) -> Result<Option<AcceptedAct>> {
        let first = self.first_answer::<Sent>(Some(once.key), once.request).await?;
        Ok(first.map(AcceptedAct::from))
    }

    /// Says something about the documents of a project, and returns the chat in which it is answered: the given chat, or
    /// a new one if that is unknown or about another project (S5-R008 to S5-R012). The message is on record when this
    /// returns (S5-R016). With a key it is one message, however often it is sent.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a blank message; [`Error::NoProject`] without a project and a chat (S5-R013);
    /// [`Error::NotFound`] for an unknown project (S5-R014); [`Error::KeyReused`]; as for [`Client::create`].
    pub async fn act(&self, new: NewAct, once: Option<OnceKey<'_>>) -> Result<AcceptedAct> {
        if let Some(once) = once
            && let Some(first) = self.accepted_act(once).await?
        {
            return Ok(first);
        }
        let NewAct { message, project, chat, open } = new;
        checked_text(&message)?;
        let known = match chat {
            Some(chat) => self.engine.store().record::<ProjectChat>(&self.scope, chat).await?,
            None => None,
        };
        let fits = |chat: &ProjectChat| project.is_none_or(|project| project == chat.project);
        let options = RunOptions { about: open.map(Document::as_parent), ..RunOptions::default() };
        if let Some(chat) = known.filter(fits) {
            let agent = self.agent(chat.agent).await?;
            // A chat that was deleted counts as unknown.
            if agent.status != Status::Cancelled {
                return self.say_in(&agent, message, options, once).await;
            }
        }
        let project = self.project(project.ok_or(Error::NoProject)?).await?;
        self.begin_chat(&project, message, options, once).await
    }

    async fn say_in(
        &self,
        agent: &Agent,
        message: String,
        options: RunOptions,
        once: Option<OnceKey<'_>>,
    ) -> Result<AcceptedAct> {
        let before = Some(self.last_event(agent.root).await?);
        let mut commit =
            Commit::new(self.engine.now()).expect(Expect::Agent(agent.id)).expect(has_room(agent.id));
        let post = post_of(agent, message, options, commit.at);
        let accepted = AcceptedAct { chat: agent.id, post: post.id, before };
        commit.post(post, &self.owner);
        self.accept(accepted, once, commit).await
    }

    async fn accept(
        &self,
        accepted: AcceptedAct,
        once: Option<OnceKey<'_>>,
        commit: Commit,
    ) -> Result<AcceptedAct> {
        let (key, request) = once.map_or((None, ""), |once| (Some(once.key), once.request));
        let sent = Sent { agent: accepted.chat, post: accepted.post };
        Ok(self.commit_once(key, request, sent, commit).await?.map_or(accepted, AcceptedAct::from))
    }

    /// Creates a chat with its first message, in one commit.
    async fn begin_chat(
        &self,
        project: &Project,
        message: String,
        options: RunOptions,
        once: Option<OnceKey<'_>>,
    ) -> Result<AcceptedAct> {
        let (kind, first) = (Some(DOCUMENTS.to_owned()), Some(message.clone()));
        let new = NewAgent { kind, title: None, message: first, parent: None };
        loop {
            let (agent, mut commit) = self.prepare(&new).await?;
            let number =
                next_number(&**self.engine.store(), &self.owner, ProjectChat::COUNTER, &mut commit).await?;
            let chat = ProjectChat {
                agent: agent.id,
                owner: self.owner.clone(),
                project: project.id,
                number,
                proposal: None,
                created: commit.at,
                updated: commit.at,
            };
            commit.push(Write::NewAgent(agent.clone()));
            let post = post_of(&agent, message.clone(), options.clone(), commit.at);
            let accepted = AcceptedAct { chat: agent.id, post: post.id, before: Some(0) };
            commit.post(post, &self.owner);
            commit.record(RecordWrite::of(&chat)?.at_version(0));
            match self.accept(accepted, once, commit).await {
                Err(Error::Store(StoreError::OtherVersion { kind: EntityKind::COUNTER, .. })) => {}
                Err(Error::Store(StoreError::NoParent { kind, id })) => {
                    return Err(Error::not_found(kind.as_str(), id));
                }
                done => return done,
            }
        }
    }
}

/// A message that is answered by a run of its own, whatever else is said meanwhile (S5-R021).
fn post_of(agent: &Agent, text: String, options: RunOptions, at: Time) -> Post {
    let body =
        PostBody::Message { from: Author::User, text, task: None, queued: true, options: Some(options) };
    Post::new(agent.id, at, body)
}
