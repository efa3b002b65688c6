//! The tail: what changes from request to request, in sections. Text of others in it is escaped, and no
//! section grows without bound.

use entourage_types::{ContextPolicy, Learning, Note, Section, Time};

use super::{cut::cut, escaped, sub_agents};
use crate::sub_agents::SubAgent;

/// How many notes are shown, the latest, and how much of each, in characters.
const NOTES: u32 = 12;
const NOTE: usize = 400;

/// What the sections are made of.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    /// Newest first.
    pub(crate) notes: Vec<Note>,
    /// Oldest first.
    pub(crate) learnings: Vec<Learning>,
    /// Those with the latest tasks first.
    pub(crate) sub_agents: Vec<SubAgent>,
}

impl Tail {
    /// How many notes it can show.
    pub(crate) const NOTES: u32 = NOTES;

    /// Renders the sections that a kind wants, without empty ones.
    pub(crate) fn render(&self, policy: &ContextPolicy, now: Time) -> String {
        let sections = policy.sections.iter().filter_map(|section| self.section(*section, now));
        sections.collect::<Vec<_>>().join("\n")
    }

    /// Renders one section, unless it is empty.
    pub(crate) fn section(&self, section: Section, now: Time) -> Option<String> {
        match section {
            Section::Time => Some(time(now)),
            Section::Notes => notes(&self.notes),
            Section::Learnings => learnings(&self.learnings),
            Section::SubAgents => sub_agents::list(&self.sub_agents),
        }
    }
}

/// Renders the time to the minute, so that requests within one minute have the same tail.
fn time(now: Time) -> String {
    let text = now.to_string();
    let minute = text.get(..16).unwrap_or(&text);
    format!("<time_context>{minute}Z</time_context>")
}

fn notes(notes: &[Note]) -> Option<String> {
    let lines = notes.iter().map(|note| {
        let (title, content) = (cut(&note.title, NOTE, None), cut(&note.content, NOTE, None));
        format!("<note title=\"{}\">{}</note>", escaped(&title), escaped(&content))
    });
    section("notes_context", lines)
}

fn learnings(learnings: &[Learning]) -> Option<String> {
    let lines = learnings
        .iter()
        .map(|known| format!("<learning id=\"{}\">{}</learning>", known.handle(), escaped(&known.text)));
    section("learnings", lines)
}

/// Renders lines within one element, if there are any.
pub(super) fn section(name: &str, lines: impl Iterator<Item = String>) -> Option<String> {
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| format!("<{name}>\n{}\n</{name}>", lines.join("\n")))
}
