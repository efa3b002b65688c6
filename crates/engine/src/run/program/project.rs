//! What a program for the documents of a project reads: the chat, the project, the message, and the documents.

use entourage_store::Versioned;
use entourage_types::{
    Act, ActNumbers, ActOutcome, Author, Document, DocumentId, ItemBody, Message, Project, ProjectChat,
    ProjectId, ProposedChange, RecordWrite, Scope, Time,
};
use serde_json::Value;

use crate::{
    documents::DocumentPages,
    run::{
        Interrupt, Result, Run,
        trace::{Done, RunSpans},
    },
    trace::gen_ai,
};

/// What a message is about.
pub(crate) struct AboutProject {
    /// The chat that it is in.
    pub(crate) chat: Versioned<ProjectChat>,
    /// The project.
    pub(crate) project: Project,
}

impl AboutProject {
    /// The chat after an act at this time, with the change that the user is asked to confirm now, if there is one.
    ///
    /// # Errors
    /// None in practice: records are plain data.
    pub(crate) fn chat_with(
        &self,
        proposal: Option<ProposedChange>,
        at: Time,
    ) -> serde_json::Result<RecordWrite> {
        let Versioned { record, version } = &self.chat;
        let chat = ProjectChat { proposal, updated: at, ..record.clone() };
        Ok(RecordWrite::of(&chat)?.at_version(*version))
    }
}

impl Run<'_> {
    /// What this run did, as it is kept beside its answer. [`say_with`](Self::say_with) adds what the commit gives it:
    /// its time, and the number of a new document.
    pub(crate) fn act(
        &self,
        about: &AboutProject,
        decision: Value,
        web_search_performed: bool,
        (outcome, document): (ActOutcome, Option<DocumentId>),
    ) -> Act {
        Act {
            run: self.record.id,
            owner: self.agent.owner.clone(),
            agent: self.agent.id,
            project: about.project.id,
            numbers: ActNumbers {
                chat: about.chat.record.number,
                project: about.project.number,
                document: None,
                version: None,
            },
            decision,
            web_search_performed,
            document,
            outcome,
            at: self.engine.now(),
        }
    }

    /// The message that the run answers: the last that the user wrote.
    pub(crate) fn message(&self) -> Option<Message> {
        self.items().iter().rev().find_map(|item| match &item.body {
            ItemBody::Message(message) if message.from == Author::User => Some(message.clone()),
            _ => None,
        })
    }

    /// The project of the agent's chat; none for an agent of no such chat, or if the project was
    /// deleted.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn about_project(&self) -> Result<Option<AboutProject>> {
        let (store, scope) = (self.engine.store(), Scope::from(&self.agent.owner));
        let chat = store.versioned::<ProjectChat>(&scope, self.agent.id).await.map_err(Interrupt::from)?;
        let Some(chat) = chat else { return Ok(None) };
        let Some(project) = store.record::<Project>(&scope, chat.record.project).await? else {
            return Ok(None);
        };
        Ok(Some(AboutProject { chat, project }))
    }

    /// What is to be known of each document of a project, in the order in which they were created. Only a few of them are
    /// in memory at once.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn documents_of<D>(
        &self,
        project: ProjectId,
        known: impl Fn(Document) -> D,
    ) -> Result<Vec<D>> {
        let began = self.engine.now();
        let scope = Scope::from(&self.agent.owner);
        let mut pages = DocumentPages::of(&**self.engine.store(), &scope, project);
        let mut documents = Vec::new();
        while let Some(page) = pages.next().await? {
            documents.extend(page.into_iter().map(&known));
        }
        RunSpans::of(self).did(gen_ai::LOAD, began, Done::Whole);
        Ok(documents)
    }

    /// A document of the agent's owner, whole; none if it was deleted.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn document(&self, id: DocumentId) -> Result<Option<Document>> {
        Ok(self.engine.store().record(&Scope::from(&self.agent.owner), id).await?)
    }
}
