//! `search_notes`: finds notes.

use std::cmp::Reverse;

use async_trait::async_trait;
use entourage_types::{Note, ResultSource, ToolSpec, tool_names};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    Caller, Context, Effect, Outcome, Reader, RecordQuery, RecordScope, Result, Tool, find, parse, spec_of,
};

const NAME: &str = tool_names::SEARCH_NOTES;
const LIMIT: u32 = 5;
const LIMIT_MOST: u32 = 20;
/// At most this many words of a query are searched individually: each costs a search.
const WORDS: usize = 8;
/// Shorter words, in bytes, are skipped: as prefixes they match most notes.
const SHORTEST: usize = 3;
/// If nothing is found, so many notes are named, each with so many characters.
const NAMED: u32 = 10;
const NAME_CHARS: usize = 100;
/// At most this many bytes of notes are shown at once.
const MOST_BYTES: usize = 256 * 1024;

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
        Some(spec_of::<Arguments>(
            NAME,
            "Find notes that were written with create_note in this conversation.",
        ))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Agents
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { query, limit } = parse(NAME, arguments)?;
        let (notes, limit) = (&*context.reader, limit.unwrap_or(LIMIT).clamp(1, LIMIT_MOST));
        let found = with_all(notes, &query, limit).await?;
        if !found.is_empty() {
            return Ok(Outcome::text(sections(&found)));
        }
        let found = with_some(notes, &query, limit).await?;
        if !found.is_empty() {
            let found = sections(&found);
            return Ok(Outcome::text(format!(
                "No note has all the words of `{query}`. These have some of them:\n\n{found}"
            )));
        }
        Ok(Outcome::text(without(&query, &latest(notes).await?)))
    }
}

/// Returns the notes of the caller's tree with all of these words, best match first.
async fn with_all(notes: &dyn Reader, words: &str, limit: u32) -> Result<Vec<Note>> {
    let words = Some(words.to_owned());
    find(notes, RecordQuery { words, limit, ..RecordQuery::of::<Note>(RecordScope::Tree) }).await
}

/// Returns the latest notes of the caller's tree, newest first.
async fn latest(notes: &dyn Reader) -> Result<Vec<Note>> {
    find(
        notes,
        RecordQuery { newest_first: true, limit: NAMED, ..RecordQuery::of::<Note>(RecordScope::Tree) },
    )
    .await
}

/// Returns the notes with some words of a query, sorted by the number of words, then by age, newest first.
async fn with_some(notes: &dyn Reader, query: &str, limit: u32) -> Result<Vec<Note>> {
    let words = words(query);
    let mut found: Vec<(usize, Note)> = Vec::new();
    for word in &words {
        for note in with_all(notes, word, LIMIT_MOST).await? {
            if found.iter().all(|(_, known)| known.id != note.id) {
                // Counted in the note itself: if many notes have a word, a search returns only some of them.
                let text = format!("{} {}", note.title, note.content).to_lowercase();
                found.push((words.iter().filter(|word| text.contains(word.as_str())).count(), note));
            }
        }
        // Notes may be long: keep only as many as are shown.
        found.sort_by_key(|(words, note)| Reverse((*words, note.created, note.id)));
        found.truncate(limit as usize);
    }
    Ok(found.into_iter().map(|(_, note)| note).collect())
}

/// Returns the distinct words of a query: the longest, which are the most specific, if there are many.
fn words(query: &str) -> Vec<String> {
    let query = query.to_lowercase();
    let bare = query.split_whitespace().map(|word| word.trim_matches(|char: char| !char.is_alphanumeric()));
    let mut words: Vec<&str> = bare.filter(|word| word.len() >= SHORTEST).collect();
    words.sort_by_key(|word| (Reverse(word.len()), *word));
    words.dedup();
    words.into_iter().take(WORDS).map(str::to_owned).collect()
}

/// Returns the text for a query without any match: how to continue.
fn without(query: &str, latest: &[Note]) -> String {
    if latest.is_empty() {
        return "There are no notes in this conversation. See which files there are, or use another tool."
            .to_owned();
    }
    let names: Vec<String> = latest.iter().map(name).collect();
    let names = names.join("\n");
    format!(
        "No note matches `{query}`. The latest notes of this conversation:\n{names}\nSearch for the title of \
         one to read it. If it is in none of these, see which files there are, or use another tool."
    )
}

/// Returns a line that identifies a note.
fn name(note: &Note) -> String {
    let text = if note.title.trim().is_empty() { &note.content } else { &note.title };
    let line = one_line(text.trim().lines().next().unwrap_or_default());
    format!("- {}", line.chars().take(NAME_CHARS).collect::<String>())
}

/// Returns the text of the notes that fit, and how many do not.
fn sections(notes: &[Note]) -> String {
    let (mut text, mut left_out) = (String::new(), 0);
    for note in notes {
        let section = section(note);
        let room = MOST_BYTES.saturating_sub(text.len());
        if section.len() <= room {
            text.extend([if text.is_empty() { "" } else { "\n\n" }, &section]);
        } else if text.is_empty() {
            text.push_str(&section[..section.floor_char_boundary(room)]);
            text.push_str(&format!("\n[the note has {} bytes; its rest is not shown]", note.content.len()));
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        text.push_str(&format!(
            "\n\n[{left_out} more notes are too long to be shown beside these: search for one by its own words]"
        ));
    }
    text
}

/// Returns a note with its heading. The content is quoted, so that no note passes for another one.
fn section(note: &Note) -> String {
    let mut section = format!("## {}\n({})", one_line(&note.title), note.created);
    for line in note.content.split(is_line_end) {
        section.extend(["\n> ", line]);
    }
    section
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_line_end(char: char) -> bool {
    matches!(char, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
