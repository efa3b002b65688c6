//! A document of a project, and its versions.

mod limits;
mod rewrite;
mod sections;

pub use limits::{
    DOCUMENT_BYTES, DOCUMENTS_OF_PROJECT, INSTRUCTION_BYTES, PartError, SUMMARY_CHARS, check_content,
    check_description, check_instruction, check_text, checked_name, checked_summary,
};
pub use rewrite::{RewriteError, Shrink, check_rewrite};
pub use sections::{MOST_SECTION_EDITS, SectionEdit, SectionError, in_line_ends_of, with_sections};

use serde::{Deserialize, Serialize, de::Error};

use crate::{
    AgentId, Columns, DocumentId, Entity, EntityKind, KeptStatus, Owner, Parent, Project, ProjectId, Record,
    RunId, Time, UniqueName, status::words,
};

/// What is known of a document beside its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentHead {
    /// Its id.
    pub id: DocumentId,
    /// The user that owns it.
    pub owner: Owner,
    /// The project it belongs to.
    pub project: ProjectId,
    /// Its number among the documents of its owner, for surfaces that want integers: given once and never again.
    pub number: u64,
    /// Its name: no two documents of a project have the same, however they are spelled.
    pub name: String,
    /// What every editor keeps to; may be empty.
    pub standing_instruction: String,
    /// The number of its present version, from 1.
    pub version: u64,
    /// When it was created.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

/// A document: a name, a standing instruction, and a text in Markdown (S5-R024).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// All but its text.
    #[serde(flatten)]
    pub head: DocumentHead,
    /// Its text, which full-text search finds it by. Lists do not read it.
    pub content: String,
}

/// A document that is to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDocument {
    /// The project it belongs to.
    pub project: ProjectId,
    /// Its name, which no other document of the project has.
    pub name: String,
    /// What every editor keeps to; may be empty.
    pub standing_instruction: String,
    /// Its text; may be empty.
    pub content: String,
    /// What its first version is about, in a line; may be empty.
    pub summary: String,
}

/// The longest name, in characters.
pub const DOCUMENT_NAME_CHARS: usize = 200;

impl Document {
    /// The counter that gives documents their numbers.
    pub const COUNTER: &'static str = "documents";

    /// It, as what its versions belong to.
    #[must_use]
    pub fn as_parent(id: DocumentId) -> Parent {
        Parent::record::<Self>(id)
    }

    /// The version that the document has now, to be kept with it.
    #[must_use]
    pub fn as_version(&self, editor: Editor, change: Change, summary: String) -> DocumentVersion {
        let DocumentHead { id, owner, name, standing_instruction, version, updated, .. } = &self.head;
        DocumentVersion {
            document: *id,
            owner: owner.clone(),
            number: *version,
            editor,
            change,
            summary,
            at: *updated,
            name: name.clone(),
            standing_instruction: standing_instruction.clone(),
            content: self.content.clone(),
        }
    }
}

impl Record for Document {
    const KIND: EntityKind = EntityKind::DOCUMENT;
    type Status = KeptStatus;

    fn columns(&self) -> Columns {
        let parent = Project::as_parent(self.head.project);
        Columns {
            id: self.head.id.to_string(),
            owner: self.head.owner.clone(),
            root: None,
            name: Some(UniqueName::below(&parent, &self.head.name)),
            parent: Some(parent),
            status: KeptStatus::Kept.as_str(),
            created: self.head.created,
            updated: self.head.updated,
            text: Some(format!("{}\n{}", self.head.name, self.content)),
        }
    }

    fn entity(&self) -> serde_json::Result<Entity> {
        Ok(self.columns().entity(Self::KIND, serde_json::to_string(&self.head)?))
    }

    fn from_entity(entity: &Entity) -> serde_json::Result<Self> {
        let head = serde_json::from_str(&entity.body)?;
        let text = entity.text.as_deref().and_then(|text| text.split_once('\n'));
        let (_, content) = text.ok_or_else(|| serde_json::Error::custom("its text was not read"))?;
        Ok(Self { head, content: content.to_owned() })
    }
}

/// Read alone, never written: a document is written whole.
impl Record for DocumentHead {
    const KIND: EntityKind = EntityKind::DOCUMENT;
    type Status = KeptStatus;

    fn columns(&self) -> Columns {
        Document { head: self.clone(), content: String::new() }.columns()
    }

    fn entity(&self) -> serde_json::Result<Entity> {
        Err(serde_json::Error::custom("a document is written with its text"))
    }
}

/// Who changed a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Editor {
    /// The person who owns it.
    Person,
    /// An agent that works for that person.
    Agent {
        /// Its id.
        agent: AgentId,
        /// The run in which it did; none if that is not known.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        run: Option<RunId>,
    },
}

words! {
    /// What made a version of a document.
    Change, "change of a document" {
        /// It was created.
        Created => "created",
        /// Its name, standing instruction or text was changed.
        Edited => "edited",
        /// An earlier version was brought back.
        Undone => "undone",
    }
}

/// A version of a document, whole, so that each can be shown, compared and brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentVersion {
    /// The document.
    pub document: DocumentId,
    /// The user that owns it.
    pub owner: Owner,
    /// Its number among the versions of the document, from 1, without gaps.
    pub number: u64,
    /// Who made it.
    pub editor: Editor,
    /// What made it.
    pub change: Change,
    /// What it changed, in a line; may be empty.
    pub summary: String,
    /// When it was made.
    pub at: Time,
    /// The name in this version.
    pub name: String,
    /// The standing instruction in this version.
    pub standing_instruction: String,
    /// The text in this version.
    pub content: String,
}

impl DocumentVersion {
    /// The id of the record of a version.
    #[must_use]
    pub fn id_of(document: DocumentId, number: u64) -> String {
        format!("{document}.{number}")
    }
}

impl Record for DocumentVersion {
    const KIND: EntityKind = EntityKind::DOCUMENT_VERSION;
    type Status = KeptStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: Self::id_of(self.document, self.number),
            owner: self.owner.clone(),
            root: None,
            parent: Some(Document::as_parent(self.document)),
            status: KeptStatus::Kept.as_str(),
            created: self.at,
            updated: self.at,
            name: None,
            // Search finds what a document says now.
            text: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordWrite;

    fn document() -> Document {
        let head = DocumentHead {
            id: DocumentId::new(),
            owner: Owner::local(),
            project: ProjectId::new(),
            number: 1,
            name: "Recipes".into(),
            standing_instruction: String::new(),
            version: 1,
            created: Time::from_micros(1),
            updated: Time::from_micros(1),
        };
        Document { head, content: "# Soup\n\nWater.\n".into() }
    }

    #[test]
    fn the_text_of_a_document_is_kept_beside_its_body_and_once() {
        let document = document();
        let entity = document.entity().unwrap();
        assert!(!entity.body.contains("Soup"), "{}", entity.body);
        assert_eq!(Document::from_entity(&entity).unwrap(), document);
        let listed = Entity { text: None, ..entity };
        assert_eq!(DocumentHead::from_entity(&listed).unwrap(), document.head);
        assert!(Document::from_entity(&listed).is_err(), "without its text it is not whole");
    }

    #[test]
    fn a_document_is_not_written_without_its_text() {
        assert!(RecordWrite::of(&document().head).is_err());
    }
}
