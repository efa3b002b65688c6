//! Chats about the documents of a project.

use std::{fmt, str::FromStr};

use entourage_store::{Commit, Error as StoreError, Expect, Page, RecordFilter, Write, counter::next_number};
use entourage_types::{
    Act, Agent, AgentId, Author, Document, DocumentId, EntityKind, Post, PostBody, PostId, Project,
    ProjectChat, ProjectId, RecordWrite, RunId, RunOptions, Status,
};

use serde::Serialize;

use super::super::{Client, Narrowed, checked_text};
use crate::{Error, NewAgent, Result};

/// The kind that acts on documents.
const DOCUMENTS: &str = "documents";

/// A message about the documents of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
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

/// A message about documents that is on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedAct {
    /// The agent of the chat in which it is answered.
    pub chat: AgentId,
    /// The post that carries it.
    pub post: PostId,
}

impl fmt::Display for AcceptedAct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.chat, self.post)
    }
}

impl FromStr for AcceptedAct {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text.split_once(' ');
        let accepted = parts.and_then(|(chat, post)| Some((chat.parse().ok()?, post.parse().ok()?)));
        accepted.map(|(chat, post)| Self { chat, post }).ok_or(Error::KeyReused)
    }
}

impl Client {
    /// Says something about the documents of a project, and returns the chat in which it is answered: the given chat, or
    /// a new one if that is unknown or about another project (S5-R008 to S5-R012). The message is on record when this
    /// returns (S5-R016). The same `key` with the same message is one message.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a blank message; [`Error::NoProject`] without a project and a chat (S5-R013);
    /// [`Error::NotFound`] for an unknown project (S5-R014); [`Error::KeyReused`]; as for [`Client::create`].
    pub async fn act(&self, new: NewAct, key: Option<&str>) -> Result<AcceptedAct> {
        let request = serde_json::to_string(&new)?;
        if let Some(first) = self.first_answer(key, &request).await? {
            return Ok(first);
        }
        let once = Once { key, request: &request };
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
        once: Once<'_>,
    ) -> Result<AcceptedAct> {
        self.check_room(agent).await?;
        let mut commit = Commit::new(self.engine.now()).expect(Expect::Agent(agent.id));
        let post = post_of(agent, message, options, commit.at);
        let accepted = AcceptedAct { chat: agent.id, post: post.id };
        commit.post(post, &self.owner);
        Ok(self.commit_once(once.key, once.request, accepted, commit).await?.unwrap_or(accepted))
    }

    /// Creates a chat with its first message, in one commit.
    async fn begin_chat(
        &self,
        project: &Project,
        message: String,
        options: RunOptions,
        once: Once<'_>,
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
            let accepted = AcceptedAct { chat: agent.id, post: post.id };
            commit.post(post, &self.owner);
            commit.record(RecordWrite::of(&chat)?.at_version(0));
            match self.commit_once(once.key, once.request, accepted, commit).await {
                Err(Error::Store(StoreError::OtherVersion { kind: EntityKind::COUNTER, .. })) => {}
                Err(Error::Store(StoreError::NoParent { kind, id })) => {
                    return Err(Error::not_found(kind.as_str(), id));
                }
                done => return Ok(done?.unwrap_or(accepted)),
            }
        }
    }

    /// A page of the chats about a project.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn project_chats(&self, project: ProjectId, page: Page) -> Result<Narrowed<ProjectChat>> {
        self.project(project).await?;
        self.searched(RecordFilter { page, ..RecordFilter::of(Project::as_parent(project)) }).await
    }

    /// What a message of such a chat came to, by the run that answered it; none before its answer.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn act_of(&self, run: RunId) -> Result<Option<Act>> {
        Ok(self.engine.store().record(&self.scope, run).await?)
    }

    /// What the messages of a chat came to, oldest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn acts(&self, chat: AgentId, page: Page) -> Result<Vec<Act>> {
        self.records(RecordFilter { page, ..RecordFilter::of(chat) }).await
    }
}

/// The key under which a request is done once, and the request.
#[derive(Clone, Copy)]
struct Once<'a> {
    key: Option<&'a str>,
    request: &'a str,
}

/// A message that is answered by a run of its own, whatever else is said meanwhile (S5-R021).
fn post_of(agent: &Agent, text: String, options: RunOptions, at: entourage_types::Time) -> Post {
    let body =
        PostBody::Message { from: Author::User, text, task: None, queued: true, options: Some(options) };
    Post::new(agent.id, at, body)
}
