//! The documents of the surface that shows the engine as a document agent, with the fields and terms of that design: ids are
//! integers, names are in snake case. Each is rendered from rows of the engine on request.

mod act;
mod document;
mod message;
mod project;
mod version;

pub(crate) use act::ActView;
pub(crate) use document::{DocumentHeadView, DocumentView, FoundDocumentView};
pub(crate) use message::MessageView;
pub(crate) use project::{ProjectChatView, ProjectView};
pub(crate) use version::{DiffView, VersionView};
