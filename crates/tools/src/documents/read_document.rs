//! `read_document`: the text of a document, a long one in parts.

use async_trait::async_trait;
use entourage_types::{Document, ResultSource, ToolSpec, tool_names};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{find, offer};
use crate::{Caller, Context, Effect, Error, Outcome, Result, Tool, parse};

const NAME: &str = tool_names::READ_DOCUMENT;
/// Room in the output for the lines around the part.
const AROUND: usize = 500;
/// At least so many characters are shown at once.
const FEWEST: usize = 1000;

/// Reads a document, as much at once as the caller's model sees of one output.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadDocument;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The document, by name or id.
    document: String,
    /// Its project, by name or id; not needed if there is only one.
    #[serde(default)]
    project: Option<String>,
    /// The character to begin at; 0 is the first.
    #[serde(default)]
    from: Option<usize>,
}

#[async_trait]
impl Tool for ReadDocument {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        let description = "Read a document and its standing instruction. A long one is read in parts.";
        offer::<Arguments>(caller, NAME, description)
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Private
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { document, project, from } = parse(NAME, arguments)?;
        let document = find::document(context, project.as_deref(), &document).await?;
        let room = context.kind.limits.max_output_chars;
        part(&document, from.unwrap_or_default(), room).map(Outcome::text)
    }
}

/// Returns the part of a document from this character on that fits, after what it is a part of.
fn part(document: &Document, from: usize, room: usize) -> Result<String> {
    let Document { head, content } = document;
    let total = content.chars().count();
    if from > 0 && from >= total {
        return Err(Error::Failed(format!("`{}` has {total} characters: begin before that", head.name)));
    }
    let mut instruction = String::new();
    if from == 0 && !head.standing_instruction.trim().is_empty() {
        instruction.push_str("\nStanding instruction:");
        head.standing_instruction.lines().for_each(|line| instruction.extend(["\n> ", line]));
    }
    let room = room.saturating_sub(AROUND + instruction.chars().count()).max(FEWEST);
    let to = total.min(from + room);
    let shown: String = content.chars().skip(from).take(to - from).collect();
    let next = if to < total { format!("go on with `from` {to}") } else { "that is its end".to_owned() };
    let (name, version) = (&head.name, head.version);
    Ok(match total {
        0 => format!("[`{name}`, version {version}: it is empty]{instruction}"),
        _ => format!(
            "[`{name}`, version {version}, characters {from} to {to} of {total}; {next}]{instruction}\n{shown}"
        ),
    })
}
