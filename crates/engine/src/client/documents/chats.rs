//! Chats about the documents of a project.

use entourage_store::{Commit, Error as StoreError, Expect, Page, RecordFilter, Write, counter::next_number};
use entourage_types::{
    Act, Agent, AgentId, Author, Document, DocumentId, EntityKind, Post, PostBody, PostId, Project,
    ProjectChat, ProjectId, RecordWrite, RunId, RunOptions, Status,
};

use super::super::{Client, checked_text};
use crate::{Error, NewAgent, Result};

/// The kind that acts on documents.
const DOCUMENTS: &str = "documents";

/// A message about the documents of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
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

impl Client {
    /// Says something about the documents of a project, and returns the chat in which it is answered, with the post that
    /// carries the message: the given chat, or a new one if that is unknown or about another project (S5-R008 to S5-R012).
    /// The message is on record when this returns (S5-R016).
    ///
    /// # Errors
    /// [`Error::Invalid`] for a blank message, and without a project and a chat (S5-R013); [`Error::NotFound`] for an
    /// unknown project (S5-R014); as for [`Client::create`].
    pub async fn act(&self, new: NewAct) -> Result<(ProjectChat, PostId)> {
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
                let post = self.say_in(&agent, message, options).await?;
                return Ok((chat, post));
            }
        }
        let project = project.ok_or_else(|| {
            Error::Invalid("no chat is continued: name the project that the new one is about".into())
        })?;
        let project = self.project(project).await?;
        self.begin_chat(&project, message, options).await
    }

    async fn say_in(&self, agent: &Agent, message: String, options: RunOptions) -> Result<PostId> {
        self.check_room(agent).await?;
        let mut commit = Commit::new(self.engine.now()).expect(Expect::Agent(agent.id));
        let post = post_of(agent, message, options, commit.at);
        let id = post.id;
        commit.post(post, &self.owner);
        self.engine.commit(commit).await?;
        Ok(id)
    }

    /// Creates a chat with its first message, in one commit.
    async fn begin_chat(
        &self,
        project: &Project,
        message: String,
        options: RunOptions,
    ) -> Result<(ProjectChat, PostId)> {
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
            let id = post.id;
            commit.post(post, &self.owner);
            commit.record(RecordWrite::of(&chat)?.at_version(0));
            match self.engine.commit(commit).await {
                Err(StoreError::OtherVersion { kind: EntityKind::COUNTER, .. }) => {}
                Err(StoreError::NoParent { kind, id }) => return Err(Error::not_found(kind.as_str(), id)),
                done => return Ok(done.map(|_| (chat, id))?),
            }
        }
    }

    /// The chats about a project, oldest first.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn project_chats(&self, project: ProjectId, page: Page) -> Result<Vec<ProjectChat>> {
        let project = self.project(project).await?;
        self.records(RecordFilter { page, ..RecordFilter::of(Project::as_parent(project.id)) }).await
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

/// A message that is answered by a run of its own, whatever else is said meanwhile (S5-R021).
fn post_of(agent: &Agent, text: String, options: RunOptions, at: entourage_types::Time) -> Post {
    let body =
        PostBody::Message { from: Author::User, text, task: None, queued: true, options: Some(options) };
    Post::new(agent.id, at, body)
}
