//! Tools that read and write the documents of the user's projects. Only kinds that name them get them.

mod create_document;
mod edit;
mod edit_document;
mod find;
mod list_documents;
mod read_document;
mod rewrite_document;
mod search_documents;

pub use create_document::CreateDocument;
pub use edit::{DocumentEdit, DocumentWrite};
pub use edit_document::EditDocument;
pub use list_documents::ListDocuments;
pub use read_document::ReadDocument;
pub use rewrite_document::RewriteDocument;
pub use search_documents::SearchDocuments;

use entourage_types::{Document, PartError, ToolSpec};
use schemars::JsonSchema;
use serde_json::json;

use crate::{Caller, Done, Error, Outcome, spec_of};

/// Returns the offer of a tool to a kind that names it: the tools of other kinds stay as they are.
fn offer<T: JsonSchema>(caller: &Caller<'_>, name: &str, description: &str) -> Option<ToolSpec> {
    let is_named = caller.kind.tools.iter().flatten().any(|tool| tool == name);
    is_named.then(|| spec_of::<T>(name, description))
}

/// Returns the error of a call whose arguments cannot be kept.
fn unfit(tool: &str, error: &PartError) -> Error {
    Error::Arguments { tool: tool.to_owned(), why: error.to_string() }
}

/// Returns the outcome of a call that changes a document in the commit of its output.
fn changed(document: &Document, edit: DocumentEdit, text: String) -> Outcome {
    let details = Some(json!({ "document": document.head.id }));
    Outcome::Done(Done { text, details, document: Some(edit), ..Done::default() })
}

/// Returns the outcome of a call that would change nothing.
fn unchanged(document: &Document) -> Outcome {
    Outcome::text(format!("`{}` has this text already; nothing was changed.", document.head.name))
}
