//! Records of any noun, those of applications included: read, list, search, save.

use entourage_store::{Commit, Expect, RecordFilter, Versioned, Write};
use entourage_types::{Record, RecordWrite};

use super::Client;
#[cfg(doc)]
use crate::StoreError;
use crate::{Error, Result};

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
        Ok(self.engine.store().records(&self.scope, filter).await?)
    }

    /// One record, with its version.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn versioned<R: Record>(&self, id: impl ToString) -> Result<Versioned<R>> {
        let id = id.to_string();
        let found = self.engine.store().versioned(&self.scope, &id).await?;
        found.ok_or_else(|| Error::not_found(R::KIND.as_str(), id))
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
