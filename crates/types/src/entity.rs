//! The common row format of all records.

use serde::{Serialize, de::DeserializeOwned};

use crate::{AgentId, EntityKind, EventBody, Owner, Parent, Time, UniqueName};

/// A stored record: the columns by which it is found, and its body as JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    /// Which noun it is; together with `id`, its key.
    pub kind: EntityKind,
    /// Its id, as text.
    pub id: String,
    /// The user that owns it.
    pub owner: Owner,
    /// The tree it belongs to: its events have their numbers there, and it is removed with the tree.
    pub root: Option<AgentId>,
    /// What it belongs to, in that tree or anywhere of its owner.
    pub parent: Option<Parent>,
    /// Its status.
    pub status: String,
    /// When it was created.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
    /// How many times it was written. The store counts: what a write says here has no meaning.
    pub version: u64,
    /// The key of its [unique name](UniqueName), if it has one.
    pub name: Option<String>,
    /// The text that full-text search indexes. None, too, where a list left it out.
    pub text: Option<String>,
    /// The record itself, as JSON.
    pub body: String,
}

/// The columns of a record, as in an [`Entity`].
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    /// Its id, as text.
    pub id: String,
    /// The user that owns it.
    pub owner: Owner,
    /// The tree it belongs to: its events have their numbers there, and it is removed with the tree.
    pub root: Option<AgentId>,
    /// What it belongs to, in that tree or anywhere of its owner.
    pub parent: Option<Parent>,
    /// Its status.
    pub status: &'static str,
    /// When it was created.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
    /// The name that no other record may have.
    pub name: Option<UniqueName>,
    /// The text that full-text search indexes. A long one need not be in the record's JSON as well:
    /// [`Record::from_entity`] may take it from here, and a list need not read it.
    pub text: Option<String>,
}

impl Columns {
    /// The stored form of a record with these columns.
    #[must_use]
    pub fn entity(self, kind: EntityKind, body: String) -> Entity {
        let Self { id, owner, root, parent, status, created, updated, name, text } = self;
        let (status, version, name) = (status.to_owned(), 1, name.map(String::from));
        Entity { kind, id, owner, root, parent, status, created, updated, version, name, text, body }
    }
}

/// An event that a change emits, before the store gives it its number and its time.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// The root of the tree that it belongs to.
    pub root: AgentId,
    /// The agent that it is about.
    pub agent: AgentId,
    /// What it reports.
    pub body: EventBody,
}

impl NewEvent {
    /// The event that shows a record as it is now, for nouns without an event of their own.
    ///
    /// # Errors
    /// None in practice: records are plain data.
    pub fn of<R: Record>(record: &R, root: AgentId, agent: AgentId) -> serde_json::Result<Self> {
        let Columns { id, status, .. } = record.columns();
        let (kind, status) = (R::KIND.as_str().to_owned(), status.to_owned());
        let body = EventBody::Record { kind, id, status, record: serde_json::to_value(record)? };
        Ok(Self { root, agent, body })
    }
}

/// A record that is to be written, with the event that reports it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordWrite {
    entity: Entity,
    event: Option<Box<NewEvent>>,
    version: Option<u64>,
}

impl RecordWrite {
    /// Creates the write of a record, new or changed.
    ///
    /// # Errors
    /// None in practice: records are plain data.
    pub fn of<R: Record>(record: &R) -> serde_json::Result<Self> {
        Ok(Self { entity: record.entity()?, event: record.event()?.map(Box::new), version: None })
    }

    /// Lets the write happen only if the record still has this version, with which it was read; 0 if it did not
    /// exist.
    #[must_use]
    pub fn at_version(self, version: u64) -> Self {
        Self { version: Some(version), ..self }
    }

    /// The version that the record must still have, if the write depends on that.
    #[must_use]
    pub const fn version(&self) -> Option<u64> {
        self.version
    }

    /// Whether a store may refuse the write for what other writers did: it depends on a version, on a name that is
    /// free, or on another record.
    #[must_use]
    pub const fn is_conditional(&self) -> bool {
        self.version.is_some()
            || self.entity.name.is_some()
            || matches!(self.entity.parent, Some(Parent::Record(..)))
    }

    /// The stored form.
    #[must_use]
    pub const fn entity(&self) -> &Entity {
        &self.entity
    }

    /// The event, if one is emitted.
    #[must_use]
    pub fn event(&self) -> Option<&NewEvent> {
        self.event.as_deref()
    }

    /// The stored form and the event.
    #[must_use]
    pub fn into_parts(self) -> (Entity, Option<Box<NewEvent>>) {
        (self.entity, self.event)
    }

    /// Returns the record, if it is one of this type.
    #[must_use]
    pub fn as_record<R: Record>(&self) -> Option<R> {
        if self.entity.kind == R::KIND { R::from_entity(&self.entity).ok() } else { None }
    }
}

/// Which records of one noun: all of them, or those in one status of this noun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordSelector {
    kind: EntityKind,
    status: Option<&'static str>,
}

impl RecordSelector {
    /// All records of this type.
    #[must_use]
    pub const fn all<R: Record>() -> Self {
        Self { kind: R::KIND, status: None }
    }

    /// The records of this type that are in this status.
    #[must_use]
    pub fn in_status<R: Record>(status: R::Status) -> Self {
        Self { kind: R::KIND, status: Some(status.into()) }
    }

    /// The noun.
    #[must_use]
    pub const fn kind(&self) -> EntityKind {
        self.kind
    }

    /// The status, as stored; none selects records in every status.
    #[must_use]
    pub const fn status(&self) -> Option<&'static str> {
        self.status
    }
}

impl From<EntityKind> for RecordSelector {
    /// All records of a noun, for code that knows it only by its name.
    fn from(kind: EntityKind) -> Self {
        Self { kind, status: None }
    }
}

/// A noun that is stored as an [`Entity`].
pub trait Record: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The noun.
    const KIND: EntityKind;
    /// The statuses it can be in.
    type Status: Into<&'static str> + Copy + Send + Sync;

    /// The columns by which it is found.
    fn columns(&self) -> Columns;

    /// The event that reports a change of the record to followers of a tree. None where none is emitted.
    ///
    /// # Errors
    /// None in practice: records are plain data.
    fn event(&self) -> serde_json::Result<Option<NewEvent>> {
        Ok(None)
    }

    /// The stored form.
    ///
    /// # Errors
    /// None in practice: records are plain data.
    fn entity(&self) -> serde_json::Result<Entity> {
        Ok(self.columns().entity(Self::KIND, serde_json::to_string(self)?))
    }

    /// Reads the record from its stored form.
    ///
    /// # Errors
    /// If the body is not of this noun.
    fn from_entity(entity: &Entity) -> serde_json::Result<Self> {
        serde_json::from_str(&entity.body)
    }
}
