//! The common row format of all records.

use std::sync::{Mutex, PoisonError};
use std::{collections::BTreeSet, convert::Infallible, fmt, str::FromStr};

use serde::{Serialize, de::DeserializeOwned};

use crate::{AgentId, EventBody, Owner, Parent, Time, UniqueName};

/// The noun that a stored entity is. The nouns of the engine are constants; an application adds its own with
/// [`EntityKind::new`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EntityKind(&'static str);

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident => $word:literal),+ $(,)?) => {
        impl EntityKind {
            $($(#[$doc])* pub const $name: Self = Self($word);)+

            /// The nouns of the engine.
            pub const KNOWN: &'static [Self] = &[$(Self::$name),+];
        }
    };
}

kinds! {
    /// A task.
    TASK => "task",
    /// A question.
    QUESTION => "question",
    /// A standing approval.
    GRANT => "grant",
    /// An intervention by a person.
    INTERVENTION => "intervention",
    /// A note.
    NOTE => "note",
    /// A learning.
    LEARNING => "learning",
    /// A closed session.
    SESSION => "session",
    /// The recorded answer to a request that carried an idempotency key.
    REQUEST => "request",
    /// A version of a kind with which a run has started.
    KIND => "kind",
    /// A list of tools that a model was offered.
    TOOL_LIST => "tool_list",
    /// The last run of a job of the engine's maintenance.
    JOB_RUN => "job_run",
    /// An event to be delivered to a receiver outside the engine.
    DELIVERY => "delivery",
    /// A schedule of an agent.
    SCHEDULE => "schedule",
    /// A chat: a name, and the tree it refers to.
    CHAT => "chat",
    /// A thread that a thread store keeps as well.
    THREAD => "thread",
    /// Items of such a thread that the thread store has yet to save.
    PENDING_SAVE => "pending_save",
    /// The last integer id given under a name.
    COUNTER => "counter",
    /// What is left of an agent or a record that was forgotten while its tree lives on.
    TOMBSTONE => "tombstone",
    /// What callers and people set of an agent.
    ANNOTATIONS => "annotations",
    /// Which agent a name leads to.
    AGENT_NAME => "agent_name",
    /// What is kept of a token for a stream.
    STREAM_TOKEN => "stream_token",
    /// An account, to log in to.
    ACCOUNT => "account",
    /// A project.
    PROJECT => "project",
    /// A document of a project.
    DOCUMENT => "document",
    /// A version of a document.
    DOCUMENT_VERSION => "document_version",
    /// A chat about the documents of a project.
    PROJECT_CHAT => "project_chat",
    /// What a message in such a chat came to.
    ACT => "act",
    /// A goal.
    GOAL => "goal",
    /// Which tools of MCP servers are switched on and off, for an owner or a tree.
    TOOL_SWITCHES => "tool_switches",
    /// A secret of an owner, sealed.
    SECRET => "secret",
}

impl EntityKind {
    /// A noun of an application: a word of lower-case letters and underscores that no noun of the engine has.
    ///
    /// # Panics
    /// If it is no such word: in a constant, when that is compiled.
    #[must_use]
    pub const fn new(word: &'static str) -> Self {
        assert!(is_word(word.as_bytes()), "a noun consists of lower-case letters and underscores");
        let mut known = Self::KNOWN;
        while let [first, rest @ ..] = known {
            assert!(!are_equal(first.0.as_bytes(), word.as_bytes()), "the engine has a noun of this name");
            known = rest;
        }
        Self(word)
    }

    /// The word, as stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// Whether only the engine writes records of this noun. Notes, learnings and the nouns of applications are
    /// also written by tools.
    #[must_use]
    pub fn is_reserved(self) -> bool {
        ![Self::NOTE, Self::LEARNING].contains(&self) && Self::KNOWN.contains(&self)
    }
}

const fn is_word(mut word: &[u8]) -> bool {
    let is_empty = word.is_empty();
    while let [first, rest @ ..] = word {
        if !(first.is_ascii_lowercase() || *first == b'_') {
            return false;
        }
        word = rest;
    }
    !is_empty
}

const fn are_equal(mut one: &[u8], mut other: &[u8]) -> bool {
    while let ([first, rest @ ..], [second, others @ ..]) = (one, other) {
        if *first != *second {
            return false;
        }
        (one, other) = (rest, others);
    }
    one.is_empty() && other.is_empty()
}

impl fmt::Debug for EntityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for EntityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl FromStr for EntityKind {
    type Err = Infallible;

    /// The noun of a stored row. Words that are no constants are kept for the life of the process, each once.
    fn from_str(word: &str) -> Result<Self, Infallible> {
        static OTHERS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        if let Some(known) = Self::KNOWN.iter().find(|known| known.0 == word) {
            return Ok(*known);
        }
        let mut others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = others.get(word) {
            return Ok(Self(known));
        }
        let word: &'static str = Box::leak(word.to_owned().into_boxed_str());
        others.insert(word);
        Ok(Self(word))
    }
}

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

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn a_noun_of_an_application_is_a_word_that_the_engine_does_not_use() {
        assert_eq!(EntityKind::new("line_item").as_str(), "line_item");
        for word in ["", "Goal", "two words", "task", "counter"] {
            assert!(catch_unwind(|| EntityKind::new(word)).is_err(), "{word}");
        }
    }
}
