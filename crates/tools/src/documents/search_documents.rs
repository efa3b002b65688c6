//! `search_documents`: finds documents of a project by the words of their text.

use async_trait::async_trait;
use entourage_types::{
    Document, DocumentHead, Project, Record, ResultSource, ToolSpec, snippet, sought_words, tool_names,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{find, offer};
use crate::{Caller, Context, Effect, Error, Outcome, RecordQuery, RecordScope, Result, Tool, parse};

const NAME: &str = tool_names::SEARCH_DOCUMENTS;
const LIMIT: u32 = 5;
const LIMIT_MOST: u32 = 20;
/// So many characters around the words are shown.
const SNIPPET_CHARS: usize = 300;

/// Finds documents by the words of their name and their text, and shows these in context.
#[derive(Debug, Clone, Copy, Default)]
pub struct SearchDocuments;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// A few words to look for.
    query: String,
    /// The project, by name or id; not needed if there is only one.
    #[serde(default)]
    project: Option<String>,
    /// How many documents at most: 1 to 20, normally 5.
    #[serde(default)]
    limit: Option<u32>,
}

#[async_trait]
impl Tool for SearchDocuments {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        let description =
            "Find documents of a project that have all of these words, with the words in context.";
        offer::<Arguments>(caller, NAME, description)
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Private
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { query, project, limit } = parse(NAME, arguments)?;
        if sought_words(&query).next().is_none() {
            let why = "`query` has no word to look for".to_owned();
            return Err(Error::Arguments { tool: NAME.to_owned(), why });
        }
        let project = find::project(context, project.as_deref()).await?;
        let of = RecordQuery::of::<DocumentHead>(RecordScope::Below(Project::as_parent(project.id)));
        let limit = limit.unwrap_or(LIMIT).clamp(1, LIMIT_MOST);
        let found = RecordQuery { words: Some(query.clone()), limit, ..of };
        let mut lines = Vec::new();
        for head in crate::find::<DocumentHead>(&*context.reader, found).await? {
            // One text at a time: they may be long.
            let Some(row) = context.reader.record(Document::KIND, &head.id.to_string()).await? else {
                continue;
            };
            let document = Document::from_entity(&row).map_err(|error| Error::Failed(error.to_string()))?;
            let shown = snippet(&document.content, &query, SNIPPET_CHARS);
            lines.push(format!("- `{}`: {shown}", head.name));
        }
        Ok(Outcome::text(match lines.is_empty() {
            true => format!(
                "No document of the project `{}` has all of these words. Try fewer words, or list the documents.",
                project.name
            ),
            false => lines.join("\n"),
        }))
    }
}
