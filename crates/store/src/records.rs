//! Records read by their type: a store itself knows only entities.

use entourage_types::{AgentId, Entity, Parent, Record, Scope, Time, UniqueName};

use crate::{EntityQuery, Error, Page, Result, Store};

/// Which records of one noun.
pub struct RecordFilter<R: Record> {
    /// Of this tree.
    pub root: Option<AgentId>,
    /// Of this agent or record.
    pub parent: Option<Parent>,
    /// Of this agent and of all below it.
    pub branch: Option<AgentId>,
    /// With this name, which at most one record of an owner has.
    pub name: Option<UniqueName>,
    /// With this number. Only for projects, documents and chats about these.
    pub number: Option<u64>,
    /// In this status.
    pub status: Option<R::Status>,
    /// That last changed at this time or later.
    pub since: Option<Time>,
    /// With all of these words, the last of which may be a prefix. Unless the page is newest first, the best
    /// matches come first, and of the page only its limit counts.
    pub words: Option<String>,
    /// Also reads the texts by which the records are found, for nouns that keep their long text nowhere else.
    pub with_texts: bool,
    /// Those that are due soonest first, then the others, oldest first. Only for questions.
    pub soonest_first: bool,
    /// Which page.
    pub page: Page,
}

impl<R: Record> Clone for RecordFilter<R> {
    fn clone(&self) -> Self {
        let (parent, name) = (self.parent.clone(), self.name.clone());
        let (words, page) = (self.words.clone(), self.page.clone());
        Self { parent, name, words, page, ..*self }
    }
}

impl<R: Record> Default for RecordFilter<R> {
    fn default() -> Self {
        let page = Page::default();
        Self {
            root: None,
            parent: None,
            branch: None,
            name: None,
            number: None,
            status: None,
            since: None,
            words: None,
            with_texts: false,
            soonest_first: false,
            page,
        }
    }
}

impl<R: Record> RecordFilter<R> {
    /// The records that belong to this agent or record.
    #[must_use]
    pub fn of(parent: impl Into<Parent>) -> Self {
        Self { parent: Some(parent.into()), ..Self::default() }
    }

    /// The record with this name.
    #[must_use]
    pub fn named(name: UniqueName) -> Self {
        Self { name: Some(name), ..Self::default() }
    }

    /// The record with this number.
    #[must_use]
    pub fn numbered(number: u64) -> Self {
        Self { number: Some(number), ..Self::default() }
    }

    /// The records in one status.
    #[must_use]
    pub fn in_status(status: R::Status) -> Self {
        Self { status: Some(status), ..Self::default() }
    }
}

impl<R: Record> From<RecordFilter<R>> for EntityQuery {
    fn from(filter: RecordFilter<R>) -> Self {
        let RecordFilter {
            root,
            parent,
            branch,
            name,
            number,
            status,
            since,
            words,
            with_texts,
            soonest_first,
            page,
        } = filter;
        let records = status.map_or_else(Self::records::<R>, Self::in_status::<R>);
        Self {
            root,
            parent,
            branch,
            name,
            number,
            since,
            text: words,
            with_texts,
            soonest_first,
            page,
            ..records
        }
    }
}

/// A record as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned<R> {
    /// The record.
    pub record: R,
    /// Its version, by which a later write can tell whether it was written since.
    pub version: u64,
}

impl dyn Store + '_ {
    /// Returns one record, if the scope includes it.
    ///
    /// # Errors
    /// As [`Store::entity`]; [`Error::Corrupt`] names a record that cannot be decoded.
    pub async fn record<R: Record>(&self, scope: &Scope, id: impl ToString) -> Result<Option<R>> {
        Ok(self.versioned(scope, id).await?.map(|found| found.record))
    }

    /// Returns one record with its version.
    ///
    /// # Errors
    /// As for one record without its version.
    pub async fn versioned<R: Record>(
        &self,
        scope: &Scope,
        id: impl ToString,
    ) -> Result<Option<Versioned<R>>> {
        let id = id.to_string();
        let Some(found) = self.entity(scope, R::KIND, &id).await? else { return Ok(None) };
        Ok(Some(Versioned { record: decode(&found)?, version: found.version }))
    }

    /// Returns records in the order in which they were first stored, oldest first unless the filter's page asks
    /// for the newest first.
    ///
    /// # Errors
    /// As [`Store::entities`]; [`Error::Corrupt`] names a record that cannot be decoded.
    pub async fn records<R: Record>(&self, scope: &Scope, filter: RecordFilter<R>) -> Result<Vec<R>> {
        self.records_where(scope, filter, |_| true).await
    }

    /// Returns those records of a page that are wanted, by what is known of them before they are decoded.
    ///
    /// # Errors
    /// As for all records of a page.
    pub async fn records_where<R: Record>(
        &self,
        scope: &Scope,
        filter: RecordFilter<R>,
        is_wanted: impl Fn(&Entity) -> bool,
    ) -> Result<Vec<R>> {
        let found = self.entities(scope, EntityQuery::from(filter)).await?;
        found.iter().filter(|entity| is_wanted(entity)).map(decode).collect()
    }
}

fn decode<R: Record>(entity: &Entity) -> Result<R> {
    let unreadable =
        |error| Error::Corrupt(format!("{} {} cannot be decoded: {error}", entity.kind, entity.id));
    R::from_entity(entity).map_err(unreadable)
}
