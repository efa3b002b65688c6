//! `rewrite_document`: replaces the whole text of a document (S5-R061).

use async_trait::async_trait;
use entourage_types::{
    ResultSource, RewriteError, Shrink, ToolSpec, check_content, check_rewrite, checked_summary, tool_names,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{DocumentEdit, DocumentWrite, changed, find, offer, unchanged, unfit};
use crate::{Caller, Context, Effect, Error, Outcome, Result, Tool, parse};

const NAME: &str = tool_names::REWRITE_DOCUMENT;

/// Replaces the whole text of a document, and leaves its name and its standing instruction as they are (S5-R065). An
/// empty text is refused, and one that keeps less of the present one than the kind's limits say, unless the call says that
/// this is intended (S5-R064).
#[derive(Debug, Clone, Copy, Default)]
pub struct RewriteDocument;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The document, by name or id.
    document: String,
    /// The whole new text, in Markdown.
    content: String,
    /// True only if the user wants the text to be much shorter than it is.
    #[serde(default)]
    shrink: Option<bool>,
    /// Its project, by name or id; not needed if there is only one.
    #[serde(default)]
    project: Option<String>,
    /// What changes, in a line.
    #[serde(default)]
    summary: Option<String>,
}

#[async_trait]
impl Tool for RewriteDocument {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        let description = "Replace the whole text of a document. For smaller changes use edit_document.";
        offer::<Arguments>(caller, NAME, description)
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Private
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { document, content, shrink, project, summary } = parse(NAME, arguments)?;
        let summary = checked_summary(&summary.unwrap_or_default()).map_err(|error| unfit(NAME, &error))?;
        check_content(&content).map_err(|error| unfit(NAME, &error))?;
        let document = find::document(context, project.as_deref(), &document).await?;
        let limit = Shrink::Limited { kept_percent: context.kind.limits.min_kept_percent };
        let shrink = if shrink == Some(true) { Shrink::Intended } else { limit };
        check_rewrite(&document.content, &content, shrink).map_err(|error| refused(&error))?;
        if content == document.content {
            return Ok(unchanged(&document));
        }
        let text =
            format!("Rewrote `{}`: it has {} characters now.", document.head.name, content.chars().count());
        let (id, at) = (document.head.id, document.head.version);
        let write = DocumentWrite::Rewrite { document: id, at, content, summary };
        Ok(changed(&document, DocumentEdit::new(write), text))
    }
}

/// Returns the error of a refused rewrite, with what else the model can do.
fn refused(error: &RewriteError) -> Error {
    let instead = match error {
        RewriteError::Empty => "",
        RewriteError::Shrinks { .. } => {
            "; or change parts of it with edit_document. If the user wants it that short, call again with `shrink`: true"
        }
    };
    Error::Failed(format!("{error}{instead}"))
}
