//! Nouns of an application, to test with: projects with a number, and documents that belong to them, with a unique
//! name and a long text that is stored nowhere but in the text column.

use entourage_types::{AgentId, Columns, Entity, EntityKind, Owner, Parent, Record, Time, UniqueName};
use serde::{Deserialize, Serialize};

use super::sample::at;

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Project {
    pub(crate) id: String,
    pub(crate) owner: Owner,
    pub(crate) number: u64,
    /// Its tree, if it has one.
    pub(crate) root: Option<AgentId>,
}

impl Project {
    pub(crate) fn new(owner: Owner, id: impl ToString, number: u64) -> Self {
        Self { id: id.to_string(), owner, number, root: None }
    }

    pub(crate) fn parent(&self) -> Parent {
        Parent::record::<Self>(&self.id)
    }
}

impl Record for Project {
    const KIND: EntityKind = EntityKind::new("sample_project");
    type Status = &'static str;

    fn columns(&self) -> Columns {
        Columns {
            id: self.id.clone(),
            owner: self.owner.clone(),
            root: self.root,
            parent: None,
            status: "active",
            created: at(1),
            updated: at(1),
            name: None,
            text: None,
        }
    }
}

/// A document of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Document {
    pub(crate) id: String,
    pub(crate) owner: Owner,
    pub(crate) of: Parent,
    pub(crate) name: String,
    pub(crate) archived: bool,
    pub(crate) updated: Time,
    /// What it says; none if that was not read.
    #[serde(skip)]
    pub(crate) content: Option<String>,
}

impl Document {
    pub(crate) fn new(of: &Project, id: impl ToString, name: &str) -> Self {
        let (id, name, content) = (id.to_string(), name.to_owned(), Some("long words".to_owned()));
        Self { id, owner: of.owner.clone(), of: of.parent(), name, archived: false, updated: at(1), content }
    }
}

impl Record for Document {
    const KIND: EntityKind = EntityKind::new("sample_document");
    type Status = &'static str;

    fn columns(&self) -> Columns {
        Columns {
            id: self.id.clone(),
            owner: self.owner.clone(),
            root: None,
            parent: Some(self.of.clone()),
            status: if self.archived { "archived" } else { "current" },
            created: at(1),
            updated: self.updated,
            name: Some(UniqueName::below(&self.of, &self.name)),
            text: self.content.clone(),
        }
    }

    fn from_entity(entity: &Entity) -> serde_json::Result<Self> {
        Ok(Self { content: entity.text.clone(), ..serde_json::from_str(&entity.body)? })
    }
}
