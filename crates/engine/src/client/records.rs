//! Records of any noun, those of applications included: read, list, search, save.

use entourage_store::{Commit, EntityQuery, Expect, Page, Write};
use entourage_types::{AgentId, Record, RecordWrite};

use super::Client;
#[cfg(doc)]
use crate::StoreError;
use crate::{Error, Result};

/// Which records of one noun.
#[derive(Debug, Clone)]
pub struct RecordFilter<R: Record> {
    /// Of this tree.
    pub root: Option<AgentId>,
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// In this status.
    pub status: Option<R::Status>,
    /// With all of these words, the last of which may be a prefix. The best matches come first, and of the page
    /// only its limit counts.
    pub words: Option<String>,
    /// Which page.
    pub page: Page,
}

impl<R: Record> Default for RecordFilter<R> {
    fn default() -> Self {
        Self { root: None, agent: None, status: None, words: None, page: Page::default() }
    }
}

/// A record as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned<R> {
    /// The record.
    pub record: R,
    /// Its version, with which [`Client::save`] tells whether it was written since.
    pub version: u64,
}

impl Client {
    /// One record.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn record<R: Record>(&self, id: impl ToString) -> Result<R> {
        Ok(self.versioned(id).await?.record)
    }

    /// Records of one noun.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn records<R: Record>(&self, filter: RecordFilter<R>) -> Result<Vec<R>> {
        let RecordFilter { root, agent, status, words, page } = filter;
        let records = status.map_or_else(EntityQuery::records::<R>, EntityQuery::in_status::<R>);
        let query = EntityQuery { root, parent: agent, text: words, page, ..records };
        let found = self.engine.store().entities(&self.scope, query).await?;
        Ok(found.iter().map(R::from_entity).collect::<Result<_, _>>()?)
    }

    /// One record, with its version.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn versioned<R: Record>(&self, id: impl ToString) -> Result<Versioned<R>> {
        let id = id.to_string();
        match self.engine.store().entity(&self.scope, R::KIND, &id).await? {
            Some(entity) => Ok(Versioned { record: R::from_entity(&entity)?, version: entity.version }),
            None => Err(Error::not_found(R::KIND.as_str(), id)),
        }
    }

    /// Stores a record of an application, new or changed, and emits its event. `version` is that with which it
    /// was read, 0 for a new one: if it was written since, nothing is changed.
    ///
    /// # Errors
    /// [`StoreError::OtherVersion`] in [`Error::Store`] if it was written since; [`Error::Invalid`] if only the
    /// engine writes records of this noun, or if the record belongs to another owner; [`Error::NotFound`] if its
    /// tree or its agent is not one of this owner.
    pub async fn save<R: Record>(&self, record: &R, version: u64) -> Result<()> {
        let write = RecordWrite::of(record)?;
        let entity = write.entity();
        if entity.kind.is_reserved() {
            let why = format!("only the engine writes records of kind `{}`", entity.kind);
            return Err(Error::Invalid(why));
        }
        if entity.owner != self.owner {
            return Err(Error::Invalid(format!("the {} belongs to another owner", entity.kind)));
        }
        for agent in entity.root.iter().chain(&entity.parent) {
            self.agent(*agent).await?;
        }
        let unchanged = Expect::version::<R>(&entity.id, version);
        let commit = Commit::new(self.engine.now()).expect(unchanged).write(Write::from(write));
        self.engine.commit(commit).await?;
        Ok(())
    }
}
