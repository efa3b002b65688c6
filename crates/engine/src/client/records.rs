//! Records of any noun, those of applications included: read, list, search, save.

use entourage_store::{
    Commit, Error as StoreError, Expect, RecordFilter, Versioned, Write, counter::next_number,
};
use entourage_types::{EntityKind, Parent, Record, RecordWrite, Tombstone};

use super::Client;
use crate::{
    Error, Result,
    reader::{TOO_LONG, unstorable_name},
};

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
    /// [`StoreError::OtherVersion`] in [`Error::Store`] if it was written since, and [`StoreError::NameTaken`] if
    /// another record has its name; [`Error::Invalid`] if only the engine writes records of this noun, if the record
    /// belongs to another owner, or if its name or its id is too long; [`Error::NotFound`] if its tree or its parent
    /// is not one of this owner.
    pub async fn save<R: Record>(&self, record: &R, version: u64) -> Result<()> {
        self.save_in(Commit::new(self.engine.now()), record, version).await
    }

    /// Stores a new record with the next number of a counter of this owner, the first being 1, in one commit: no
    /// number is given twice, not even after its record was forgotten, and none is skipped.
    ///
    /// # Errors
    /// As for [`Client::save`]; [`Error::Invalid`], too, if the counter's name has a slash.
    pub async fn save_numbered<R: Record>(
        &self,
        counter: &str,
        record: impl Fn(u64) -> R + Send + Sync,
    ) -> Result<R> {
        if counter.is_empty() || counter.contains('/') {
            return Err(Error::Invalid(format!(
                "`{counter}` is no name of a counter: use words without `/`"
            )));
        }
        loop {
            let mut commit = Commit::new(self.engine.now());
            let number = next_number(&**self.engine.store(), &self.owner, counter, &mut commit).await?;
            let record = record(number);
            match self.save_in(commit, &record, 0).await {
                // Another caller took the number: there is a next one.
                Err(Error::Store(StoreError::OtherVersion { kind: EntityKind::COUNTER, .. })) => {}
                saved => return saved.map(|()| record),
            }
        }
    }

    /// Forgets a record of an application, with all records that belong to it, if it still has this version. Its
    /// name is free then. In a tree a [`Tombstone`] is left, with its event; the events about what is forgotten keep
    /// their numbers and say no more what the records were.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`StoreError::OtherVersion`] in [`Error::Store`] if it was written since;
    /// [`Error::Invalid`] if only the engine writes records of this noun.
    pub async fn forget_record<R: Record>(&self, id: impl ToString, version: u64) -> Result<()> {
        let id = id.to_string();
        let found = self.engine.store().entity(&self.scope, R::KIND, &id).await?;
        let found = found.ok_or_else(|| Error::not_found(R::KIND.as_str(), &id))?;
        check_own(R::KIND)?;
        let at = self.engine.now();
        let mut commit = Commit::new(at).expect(Expect::version::<R>(&id, version));
        commit.push(Write::PruneEntity(R::KIND, id.clone()));
        if let Some(root) = found.root {
            let agent = found.parent.as_ref().and_then(Parent::agent).unwrap_or(root);
            let (of, owner) = (Parent::Record(R::KIND, id), found.owner);
            commit.push(Write::record(&Tombstone { of, owner, root, agent, at })?);
        }
        self.engine.commit(commit).await?;
        Ok(())
    }

    /// Adds a record to a commit, and commits it.
    async fn save_in<R: Record>(&self, mut commit: Commit, record: &R, version: u64) -> Result<()> {
        let write = RecordWrite::of(record)?.at_version(version);
        let entity = write.entity();
        check_own(entity.kind)?;
        if entity.owner != self.owner {
            return Err(Error::Invalid(format!("the {} belongs to another owner", entity.kind)));
        }
        if let Some(name) = unstorable_name(entity) {
            return Err(Error::Invalid(format!("the {name} of the {} {TOO_LONG}", entity.kind)));
        }
        let parent = entity.parent.as_ref().and_then(Parent::agent);
        for agent in entity.root.into_iter().chain(parent) {
            self.agent(agent).await?;
            commit.expect.push(Expect::Agent(agent));
        }
        commit.record(write);
        match self.engine.commit(commit).await {
            Err(StoreError::NoParent { kind, id }) => Err(Error::not_found(kind.as_str(), id)),
            Err(StoreError::NoAgent { agent }) => Err(Error::not_found("agent", agent)),
            done => Ok(done.map(drop)?),
        }
    }
}

/// Refuses a noun whose records only the engine writes.
fn check_own(kind: EntityKind) -> Result<()> {
    if kind.is_reserved() {
        return Err(Error::Invalid(format!("only the engine writes records of kind `{kind}`")));
    }
    Ok(())
}
