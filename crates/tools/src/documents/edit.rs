//! What a call does to a document. The engine does it in the commit of the call's output, by the rules that hold for a
//! person's change: it gives the number and the version, and refuses a name that is taken.

use entourage_types::{DocumentId, NewDocument, SectionEdit};

/// What a call does to a document. Only the document tools of this crate make one: a tool of an application writes no
/// document, as it writes no other record of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentEdit(Box<DocumentWrite>);

/// What an edit writes, for the engine to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentWrite {
    /// A new document.
    Create {
        /// Its id, the same if the call is made again.
        id: DocumentId,
        /// What it consists of.
        new: NewDocument,
    },
    /// Replacements of sections of the text, in the document as it is when they are stored.
    Sections {
        /// The document.
        document: DocumentId,
        /// All of them are made, or none.
        edits: Vec<SectionEdit>,
        /// What the change is about, in a line; may be empty.
        summary: String,
    },
    /// A new text in place of the whole one.
    Rewrite {
        /// The document.
        document: DocumentId,
        /// The version that was read; if there is another one by then, nothing is stored.
        at: u64,
        /// The new text.
        content: String,
        /// What the change is about, in a line; may be empty.
        summary: String,
    },
}

impl DocumentWrite {
    /// The document.
    #[must_use]
    pub const fn document(&self) -> DocumentId {
        match self {
            Self::Create { id, .. } => *id,
            Self::Sections { document, .. } | Self::Rewrite { document, .. } => *document,
        }
    }

    /// The name that it gives to a document, if it gives one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Create { new, .. } => Some(&new.name),
            Self::Sections { .. } | Self::Rewrite { .. } => None,
        }
    }
}

impl DocumentEdit {
    pub(super) fn new(write: DocumentWrite) -> Self {
        Self(Box::new(write))
    }

    /// The name that it gives to a document, if it gives one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.0.name()
    }

    /// What it writes.
    #[must_use]
    pub fn write(&self) -> &DocumentWrite {
        &self.0
    }
}
