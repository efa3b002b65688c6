//! `create_note`: writes a note.

use async_trait::async_trait;
use entourage_types::{Note, NoteId, ResultSource, ToolSpec, tool_names};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Caller, Context, Done, Effect, Error, Outcome, Result, Tool, parse, spec_of};

const NAME: &str = tool_names::CREATE_NOTE;
/// The longest title, in characters.
const TITLE_CHARS: usize = 300;
/// The longest note, in bytes: a search may return several at once.
const NOTE_BYTES: usize = 64 * 1024;

/// Writes a note; the engine commits it together with the call's output.
#[derive(Debug, Clone, Copy, Default)]
pub struct CreateNote;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// A short line to recognise it by.
    title: String,
    /// The note.
    content: String,
}

#[async_trait]
impl Tool for CreateNote {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(spec_of::<Arguments>(
            NAME,
            "Write a note to keep in this conversation. You and the agents you work with find it with \
             search_notes.",
        ))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Agents
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { title, content } = parse(NAME, arguments)?;
        if title.trim().is_empty() && content.trim().is_empty() {
            let why = "`title` and `content` are both empty".to_owned();
            return Err(Error::Arguments { tool: NAME.to_owned(), why });
        }
        if title.chars().count() > TITLE_CHARS {
            let why = format!("`title` is longer than {TITLE_CHARS} characters: put the rest into `content`");
            return Err(Error::Arguments { tool: NAME.to_owned(), why });
        }
        if content.len() > NOTE_BYTES {
            let why = format!(
                "`content` has {} bytes, and a note has {NOTE_BYTES} at most: write several notes",
                content.len()
            );
            return Err(Error::Arguments { tool: NAME.to_owned(), why });
        }
        let note = Note {
            // The call's own id, so that a repeated call writes the same note again.
            id: NoteId::from_uuid(context.call.uuid()),
            owner: context.owner.clone(),
            root: context.root,
            agent: context.agent,
            title,
            content,
            created: context.now,
        };
        let text = format!("Noted in this conversation: {}", note.title);
        let done = Done { text, details: Some(json!({ "note": note.id })), ..Done::default() };
        Ok(Outcome::Done(done.with(&note)?))
    }
}
