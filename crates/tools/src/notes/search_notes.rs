//! `search_notes`: find what was written down.

use async_trait::async_trait;
use entourage_types::{Note, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{Caller, Context, Effect, Outcome, Result, Source, Tool, parse, spec_of};

const NAME: &str = "search_notes";
const LIMIT: u32 = 5;
const LIMIT_MOST: u32 = 20;

/// Finds the notes of the caller's tree by their words.
#[derive(Debug, Clone, Copy, Default)]
pub struct SearchNotes;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// A few words to look for.
    query: String,
    /// How many notes at most: 1 to 20, normally 5.
    #[serde(default)]
    limit: Option<u32>,
}

#[async_trait]
impl Tool for SearchNotes {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(spec_of::<Arguments>(NAME, "Find notes that were written with create_note."))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> Source {
        Source::Agents
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { query, limit } = parse(NAME, arguments)?;
        let notes = context.notes.search(&query, limit.unwrap_or(LIMIT).clamp(1, LIMIT_MOST)).await?;
        if notes.is_empty() {
            return Ok(Outcome::text(format!("No note matches `{query}`. Look elsewhere.")));
        }
        let sections: Vec<String> = notes.iter().map(section).collect();
        Ok(Outcome::text(sections.join("\n\n")))
    }
}

fn section(note: &Note) -> String {
    format!("## {}\n({})\n{}", note.title, note.created, note.content)
}
