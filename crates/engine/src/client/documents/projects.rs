//! Projects: creating, reading, changing and deleting them.

use entourage_store::{Commit, Expect, Page, RecordFilter, Write, counter::next_number};
use entourage_types::{Project, ProjectId, Record, RecordWrite, UniqueName, check_description, checked_name};

use super::super::{Client, Narrowed};
use crate::{Result, documents::Refused};

/// A project that is to be created.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewProject {
    /// Its name, which no other project of the owner has.
    pub name: String,
    /// What it is about; may be empty.
    pub description: String,
}

/// A change of a project. What is not given stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectChange {
    /// Its new name.
    pub name: Option<String>,
    /// Its new description.
    pub description: Option<String>,
}

impl Client {
    /// Creates a project, with the next number of this owner's projects.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a name or a description that cannot be kept; [`Error::NameInUse`](crate::Error::NameInUse).
    pub async fn create_project(&self, new: NewProject) -> Result<Project> {
        let name = checked_name(&new.name)?;
        check_description(&new.description)?;
        let id = ProjectId::new();
        loop {
            let mut commit = Commit::new(self.engine.now());
            let number =
                next_number(&**self.engine.store(), &self.owner, Project::COUNTER, &mut commit).await?;
            let project = Project {
                id,
                owner: self.owner.clone(),
                number,
                name: name.clone(),
                description: new.description.clone(),
                created: commit.at,
                updated: commit.at,
            };
            commit.record(RecordWrite::of(&project)?.at_version(0));
            match self.commit_named(commit, &project.name).await {
                Err(Refused::Again) => {}
                Err(Refused::For(error)) => return Err(error),
                Ok(()) => return Ok(project),
            }
        }
    }

    /// One project (S5-R022).
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound).
    pub async fn project(&self, id: ProjectId) -> Result<Project> {
        self.record(id).await
    }

    /// The project of this name, however it is spelled; none if there is none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn project_named(&self, name: &str) -> Result<Option<Project>> {
        Ok(self.records(RecordFilter::named(UniqueName::of_owner(name))).await?.pop())
    }

    /// A page of projects.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn projects(&self, page: Page) -> Result<Narrowed<Project>> {
        self.searched(RecordFilter { page, ..RecordFilter::default() }).await
    }

    /// Changes the name or the description of a project. A change that changes nothing writes nothing.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound); [`Error::Invalid`](crate::Error::Invalid) for a name or a description that cannot be kept; [`Error::NameInUse`](crate::Error::NameInUse).
    pub async fn change_project(&self, id: ProjectId, change: ProjectChange) -> Result<Project> {
        let ProjectChange { name, description } = change;
        let name = name.map(|name| checked_name(&name)).transpose()?;
        description.as_deref().map(check_description).transpose()?;
        loop {
            let before = self.versioned::<Project>(id).await?;
            let mut after = before.record.clone();
            name.iter().for_each(|name| after.name.clone_from(name));
            description.iter().for_each(|description| after.description.clone_from(description));
            if after == before.record {
                return Ok(after);
            }
            let mut commit = Commit::new(self.engine.now());
            after.updated = commit.at;
            commit.record(RecordWrite::of(&after)?.at_version(before.version));
            match self.commit_named(commit, &after.name).await {
                Err(Refused::Again) => {}
                Err(Refused::For(error)) => return Err(error),
                Ok(()) => return Ok(after),
            }
        }
    }

    /// Deletes a project with all that belongs to it: its documents and their versions, those included that are
    /// created at the same moment. Its name is free then; its number is not given again.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound).
    pub async fn delete_project(&self, id: ProjectId) -> Result<()> {
        self.prune(id, |_: &Project| Ok(())).await
    }

    /// Removes a record of this owner with all that belongs to it, if it may be removed as it is then.
    pub(in crate::client) async fn prune<R: Record>(
        &self,
        id: impl ToString,
        may_go: impl Fn(&R) -> Result<()>,
    ) -> Result<()> {
        let id = id.to_string();
        loop {
            let found = self.versioned::<R>(&id).await?;
            may_go(&found.record)?;
            let mut commit = Commit::new(self.engine.now()).expect(Expect::version::<R>(&id, found.version));
            commit.push(Write::PruneEntity(R::KIND, id.clone()));
            match self.commit_named(commit, "").await {
                Err(Refused::Again) => {}
                Err(Refused::For(error)) => return Err(error),
                Ok(()) => return Ok(()),
            }
        }
    }
}
