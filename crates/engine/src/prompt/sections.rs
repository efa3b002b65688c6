//! What the model reads beside the conversation, in sections. An item of the transcript holds what of it the
//! model has not read yet, and is never changed: all else was said by earlier items that the model still
//! sees. Text of others in it is escaped, and no section grows without bound.

use std::{collections::HashMap, time::Duration};

use entourage_types::{
    CallId, Context, ContextEntry, ContextPolicy, Goal, Item, ItemBody, Learning, Note, Section, Task, Time,
};

use super::{View, cut::cut, escaped, goal, sub_agents, tasks};
use crate::sub_agents::SubAgent;

/// How many notes are shown, the latest, and how much of each, in characters.
const NOTES: u32 = 12;
const NOTE: usize = 400;

/// What the sections are made of, as far as a kind wants them.
#[derive(Debug, Default)]
pub(crate) struct Sections {
    /// Newest first.
    pub(crate) notes: Vec<Note>,
    /// Oldest first; none if the agent cannot learn.
    pub(crate) learnings: Option<Vec<Learning>>,
    /// Those with the latest tasks first; none if they are not shown.
    pub(crate) sub_agents: Option<Vec<SubAgent>>,
    /// None if it is not shown, or if the tree has none.
    pub(crate) goal: Option<Goal>,
    /// Newest first.
    pub(crate) tasks: Vec<Task>,
}

/// A line that the model is to have read.
pub(super) struct Line {
    pub(super) about: String,
    /// The line in the forms in which it says the same; it is shown in the first.
    pub(super) forms: Vec<String>,
    /// Whether the output of the call with this id says it, too.
    said_by_call: Option<CallId>,
}

/// What a view of the conversation says beside the conversation itself.
#[derive(Default)]
struct Known<'a> {
    /// The last line about each record.
    lines: HashMap<(Section, &'a str), &'a str>,
    /// The time as it was shown last.
    time: Option<&'a str>,
}

impl Sections {
    /// How many notes it can show.
    pub(crate) const NOTES: u32 = NOTES;
    /// How many tasks it shows, the latest.
    pub(crate) const TASKS: u32 = 20;

    /// Returns what a kind wants its model to read and a view does not show; none if there is nothing.
    pub(crate) fn unread(&self, policy: &ContextPolicy, view: &View<'_>, now: Time) -> Option<Context> {
        let known = Known::of(view);
        let entries: Vec<ContextEntry> = policy
            .sections
            .iter()
            .flat_map(|section| match section {
                Section::Time => known.unread_time(policy, now).into_iter().collect(),
                section => self.unread_lines(*section, &known, view),
            })
            .collect();
        (!entries.is_empty()).then_some(Context { entries })
    }

    /// Renders all of a section, as a model reads it that has read nothing before; none if it is empty.
    pub(crate) fn whole(&self, section: Section, now: Time) -> Option<String> {
        let entries: Vec<ContextEntry> = match section {
            Section::Time => vec![entry(section, None, minute(now))],
            _ => {
                let lines = self.lines(section).into_iter().flatten();
                let shown =
                    |line: Line| Some(entry(section, Some(line.about), line.forms.into_iter().next()?));
                lines.filter_map(shown).collect()
            }
        };
        (!entries.is_empty()).then(|| render(&Context { entries }))
    }

    /// Returns the lines of a section; none if it was not read.
    fn lines(&self, section: Section) -> Option<Vec<Line>> {
        match section {
            Section::Time => None,
            Section::Notes => Some(self.notes.iter().map(note).collect()),
            Section::Learnings => Some(self.learnings.as_ref()?.iter().map(learning).collect()),
            Section::SubAgents => Some(sub_agents::lines(self.sub_agents.as_ref()?)),
            Section::Goal => Some(goal::lines(self.goal.as_ref()?)),
            Section::Tasks => Some(tasks::lines(&self.tasks)),
        }
    }

    fn unread_lines(&self, section: Section, known: &Known<'_>, view: &View<'_>) -> Vec<ContextEntry> {
        let Some(lines) = self.lines(section) else { return Vec::new() };
        // A note or a task may be left out because there are newer ones; it has not gone.
        let has_more = matches!(section, Section::Notes | Section::Tasks);
        let gone = if has_more { Vec::new() } else { known.gone(section, &lines) };
        let is_unread = |line: &Line| match known.lines.get(&(section, line.about.as_str())) {
            Some(shown) => !line.forms.iter().any(|form| form == shown),
            None => !line.said_by_call.is_some_and(|call| is_answered(view, call)),
        };
        let unread = lines.into_iter().filter(is_unread);
        let changed = unread.filter_map(|line| Some((line.about, line.forms.into_iter().next()?)));
        changed.chain(gone).map(|(about, text)| entry(section, Some(about), text)).collect()
    }
}

impl<'a> Known<'a> {
    fn of(view: &View<'a>) -> Self {
        let mut known = Self::default();
        for context in view.contexts() {
            for entry in &context.entries {
                match &entry.about {
                    None => known.time = Some(&entry.text),
                    Some(about) => drop(known.lines.insert((entry.section, about), &entry.text)),
                }
            }
        }
        known
    }

    /// Returns the time, if the model has not read it for as long as its kind says.
    fn unread_time(&self, policy: &ContextPolicy, now: Time) -> Option<ContextEntry> {
        let interval = Duration::from_secs(u64::from(policy.time_minutes) * 60);
        let minutes = |time: Time| time.micros().div_euclid(60_000_000);
        let is_known = self.time.and_then(|shown| shown.parse().ok()).is_some_and(|shown: Time| {
            minutes(shown) == minutes(now) || minutes(shown) > minutes(now - interval)
        });
        (!is_known).then(|| entry(Section::Time, None, minute(now)))
    }

    /// Returns the records that were shown and are no more, each with the line that says so.
    fn gone(&self, section: Section, lines: &[Line]) -> Vec<(String, String)> {
        let is_there = |about: &str| lines.iter().any(|line| line.about == about);
        let mut gone: Vec<(String, String)> = self
            .lines
            .iter()
            .filter(|((of, about), _)| *of == section && !is_there(about))
            .filter_map(|((_, about), shown)| {
                let text = gone(section, about)?;
                (text != **shown).then(|| ((*about).to_owned(), text))
            })
            .collect();
        gone.sort();
        gone
    }
}

/// Returns the line about a record that is no more.
fn gone(section: Section, about: &str) -> Option<String> {
    match section {
        Section::Learnings => {
            let id = about.parse().ok()?;
            Some(format!("<learning id=\"{}\" status=\"retired\"></learning>", Learning::handle_of(id)))
        }
        Section::SubAgents => Some(format!("<sub_agent id=\"{about}\" status=\"deleted\"></sub_agent>")),
        Section::Goal => Some(goal::gone(about)),
        Section::Time | Section::Notes | Section::Tasks => None,
    }
}

fn entry(section: Section, about: Option<String>, text: String) -> ContextEntry {
    ContextEntry { section, about, text }
}

/// Whether the output of a call is in view: the agent said itself what the call wrote.
fn is_answered(view: &View<'_>, call: CallId) -> bool {
    let answers =
        |item: &Item| matches!(&item.body, ItemBody::Output(output) if !output.error && output.call == call);
    view.items.iter().rev().any(answers)
}

/// Renders the time to the minute.
fn minute(now: Time) -> String {
    let text = now.to_string();
    format!("{}Z", text.get(..16).unwrap_or(&text))
}

fn note(note: &Note) -> Line {
    let (title, content) = (cut(&note.title, NOTE, None), cut(&note.content, NOTE, None));
    let line = format!("<note title=\"{}\">{}</note>", escaped(&title), escaped(&content));
    // The tool gives a record the id of its call.
    Line {
        about: note.id.to_string(),
        forms: vec![line],
        said_by_call: Some(CallId::from_uuid(note.id.uuid())),
    }
}

fn learning(known: &Learning) -> Line {
    let line = format!("<learning id=\"{}\">{}</learning>", known.handle(), escaped(&known.text));
    let is_as_saved = known.updated == known.created;
    Line {
        about: known.id.to_string(),
        forms: vec![line],
        said_by_call: is_as_saved.then(|| CallId::from_uuid(known.id.uuid())),
    }
}

impl Line {
    pub(super) fn new(about: String, forms: Vec<String>) -> Self {
        Self { about, forms, said_by_call: None }
    }
}

/// Renders an item as the model reads it.
pub(super) fn render(context: &Context) -> String {
    let sections = context.entries.chunk_by(|one, next| one.section == next.section);
    let rendered = sections.filter_map(|entries| {
        let name = match entries.first()?.section {
            Section::Time => return Some(format!("<time_context>{}</time_context>", entries.last()?.text)),
            Section::Notes => "notes_context",
            Section::Learnings => "learnings",
            Section::SubAgents => "sub_agents",
            Section::Goal => "goal",
            Section::Tasks => "tasks",
        };
        let lines: Vec<&str> = entries.iter().map(|entry| entry.text.as_str()).collect();
        Some(format!("<{name}>\n{}\n</{name}>", lines.join("\n")))
    });
    rendered.collect::<Vec<_>>().join("\n")
}

/// Returns the approximate size of an item as the model reads it, in bytes.
pub(super) fn weight(context: &Context) -> usize {
    const TAGS: usize = 32;
    context.entries.iter().map(|entry| entry.text.len() + 1).sum::<usize>() + TAGS
}

#[cfg(test)]
mod tests {
    use entourage_types::{AgentId, LearningId, LearningStatus, NoteId, Output, Owner, RunId};

    use super::*;

    fn at(minute: i64) -> Time {
        Time::from_micros(minute * 60_000_000)
    }

    fn item(seq: u64, at: Time, body: impl Into<ItemBody>) -> Item {
        let (agent, run) = (AgentId::new(), RunId::new());
        Item { agent, seq, run, session: 1, at, step: None, body: body.into() }
    }

    fn saved(text: &str, updated: Time) -> Learning {
        let (owner, root) = (Owner::local(), AgentId::new());
        Learning {
            id: LearningId::new(),
            owner,
            root,
            agent: root,
            text: text.into(),
            status: LearningStatus::Kept,
            created: at(0),
            updated,
        }
    }

    fn learned(learnings: &[&Learning]) -> Sections {
        let learnings = Some(learnings.iter().map(|known| (*known).clone()).collect());
        Sections { learnings, ..Sections::default() }
    }

    fn only(section: Section) -> ContextPolicy {
        ContextPolicy { sections: vec![section], ..ContextPolicy::default() }
    }

    /// The texts of what is unread next, which joins the transcript.
    fn next(items: &mut Vec<Item>, sections: &Sections, policy: &ContextPolicy, now: Time) -> Vec<String> {
        let unread = sections.unread(policy, &View::whole(items, 100), now);
        let Some(context) = unread else { return Vec::new() };
        let texts = context.entries.iter().map(|entry| entry.text.clone()).collect();
        items.push(item(items.len() as u64, now, ItemBody::Context(context)));
        texts
    }

    #[test]
    fn the_time_is_told_again_only_when_the_interval_has_passed() {
        let (mut items, policy) = (Vec::new(), only(Section::Time));
        let minutes: Vec<usize> = [0, 3, 9, 10, 12, 25]
            .into_iter()
            .map(|minute| next(&mut items, &Sections::default(), &policy, at(minute)).len())
            .collect();
        assert_eq!(minutes, [1, 0, 0, 1, 0, 1]);
    }

    #[test]
    fn a_line_is_told_once_and_again_only_when_it_changes() {
        let (mut items, policy) = (Vec::new(), only(Section::Learnings));
        let (one, two) = (saved("one", at(0)), saved("two", at(0)));
        assert_eq!(next(&mut items, &learned(&[&one]), &policy, at(0)).len(), 1);
        assert_eq!(next(&mut items, &learned(&[&one]), &policy, at(1)), [""; 0]);
        let second = next(&mut items, &learned(&[&one, &two]), &policy, at(2));
        assert_eq!(second, [format!("<learning id=\"{}\">two</learning>", two.handle())]);
        let one = Learning { text: "uno".into(), updated: at(3), ..one };
        assert!(next(&mut items, &learned(&[&one, &two]), &policy, at(3))[0].contains("uno"));
        let retired = next(&mut items, &learned(&[&two]), &policy, at(4));
        assert_eq!(retired, [format!("<learning id=\"{}\" status=\"retired\"></learning>", one.handle())]);
        assert_eq!(next(&mut items, &learned(&[&two]), &policy, at(5)), [""; 0]);
        assert_eq!(next(&mut items, &learned(&[&one, &two]), &policy, at(6)).len(), 1, "it is back");
    }

    #[test]
    fn what_the_agent_wrote_itself_is_not_told_while_its_call_is_in_view() {
        let call = CallId::new();
        let id = NoteId::from_uuid(call.uuid());
        let (agent, owner) = (AgentId::new(), Owner::local());
        let (title, content) = ("t".to_owned(), "c".to_owned());
        let note = Note { id, owner, root: agent, agent, title, content, created: at(0) };
        let sections = Sections { notes: vec![note], ..Sections::default() };
        let tool = "create_note".to_owned();
        let output = Output { call, tool, text: String::new(), error: false, effect: None, details: None };
        let (mut items, policy) = (vec![item(0, at(0), output)], only(Section::Notes));
        assert_eq!(next(&mut items, &sections, &policy, at(1)), [""; 0]);
        items.clear();
        assert_eq!(next(&mut items, &sections, &policy, at(1)), ["<note title=\"t\">c</note>"]);
    }
}
