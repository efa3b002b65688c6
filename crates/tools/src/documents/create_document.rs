//! `create_document`: a new document of a project (S5-R076).

use async_trait::async_trait;
use entourage_types::{DocumentId, NewDocument, ResultSource, ToolSpec, tool_names};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{DocumentEdit, DocumentWrite, find, offer, unfit};
use crate::{Caller, Context, Done, Effect, Outcome, Result, Tool, parse};

const NAME: &str = tool_names::CREATE_DOCUMENT;

/// Creates a document in the commit of the call's output; if its name is taken, that is the output.
#[derive(Debug, Clone, Copy, Default)]
pub struct CreateDocument;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Its name; no other document of the project has it.
    name: String,
    /// Its text, in Markdown.
    #[serde(default)]
    content: Option<String>,
    /// What later edits of it keep to.
    #[serde(default)]
    standing_instruction: Option<String>,
    /// The project, by name or id; not needed if there is only one.
    #[serde(default)]
    project: Option<String>,
    /// What it is about, in a line.
    #[serde(default)]
    summary: Option<String>,
}

#[async_trait]
impl Tool for CreateDocument {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        offer::<Arguments>(caller, NAME, "Create a document in a project of the user.")
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Private
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { name, content, standing_instruction, project, summary } = parse(NAME, arguments)?;
        let project = find::project(context, project.as_deref()).await?;
        let [content, standing_instruction, summary] =
            [content, standing_instruction, summary].map(Option::unwrap_or_default);
        let new = NewDocument { project: project.id, name, standing_instruction, content, summary };
        let new = new.checked().map_err(|error| unfit(NAME, &error))?;
        // The call's own id, so that a repeated call is about the same document.
        let id = DocumentId::from_uuid(context.call.uuid());
        let text = format!("Created the document `{}` in the project `{}`.", new.name, project.name);
        let details = Some(json!({ "document": id }));
        let document = Some(DocumentEdit::new(DocumentWrite::Create { id, new }));
        Ok(Outcome::Done(Done { text, details, document, ..Done::default() }))
    }
}
