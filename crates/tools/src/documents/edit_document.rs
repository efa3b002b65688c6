//! `edit_document`: replaces sections of a document.

use async_trait::async_trait;
use entourage_types::{ResultSource, SectionEdit, ToolSpec, checked_summary, tool_names, with_sections};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{DocumentEdit, DocumentWrite, changed, find, offer, unchanged, unfit};
use crate::{Caller, Context, Effect, Error, Outcome, Result, Tool, parse};

const NAME: &str = tool_names::EDIT_DOCUMENT;

/// Replaces sections of a document, all or none, and leaves the rest as it is: its name and its standing instruction,
/// too (S5-R065).
#[derive(Debug, Clone, Copy, Default)]
pub struct EditDocument;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The document, by name or id.
    document: String,
    /// The replacements: all of them are made, or none.
    edits: Vec<Replacement>,
    /// Its project, by name or id; not needed if there is only one.
    #[serde(default)]
    project: Option<String>,
    /// What changes, in a line.
    #[serde(default)]
    summary: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Replacement {
    /// Text exactly as it stands in the document, long enough to stand there once.
    old: String,
    /// The text in its place.
    new: String,
}

#[async_trait]
impl Tool for EditDocument {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        let description = "Change parts of a document: each old text is replaced by the new one, and the rest stays. \
                           Read the document first.";
        offer::<Arguments>(caller, NAME, description)
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Private
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { document, edits, project, summary } = parse(NAME, arguments)?;
        let summary = checked_summary(&summary.unwrap_or_default()).map_err(|error| unfit(NAME, &error))?;
        let document = find::document(context, project.as_deref(), &document).await?;
        let edits: Vec<SectionEdit> =
            edits.into_iter().map(|Replacement { old, new }| SectionEdit { old, new }).collect();
        let content =
            with_sections(&document.content, &edits).map_err(|error| Error::Failed(error.to_string()))?;
        if content == document.content {
            return Ok(unchanged(&document));
        }
        let text = match edits.len() {
            1 => format!("Changed one section of `{}`.", document.head.name),
            sections => format!("Changed {sections} sections of `{}`.", document.head.name),
        };
        let write = DocumentWrite::Sections { document: document.head.id, edits, summary };
        Ok(changed(&document, DocumentEdit::new(write), text))
    }
}
