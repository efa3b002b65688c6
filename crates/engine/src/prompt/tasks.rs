//! The section that lists the tasks that an agent created, and what they came to.

use std::{collections::HashMap, time::Duration};

use entourage_types::{Entity, Section, Status, Task, TaskResult, Time};

use super::{View, cut::cut, escape::without_controls, escaped, sections::Line};

/// How many characters are shown of a title, an instruction or a result.
const TITLE: usize = 100;
const INSTRUCTION: usize = 200;
const RESULT: usize = 1_000;
/// The clocks of two nodes may differ by as much: a task that ended shortly before a line about it may have ended after what
/// the line says was read.
const CLOCKS_DIFFER: Duration = Duration::from_secs(60);

/// Returns the lines of the section, those of the latest tasks first.
pub(super) fn lines(tasks: &[Task]) -> Vec<Line> {
    tasks.iter().map(|task| Line::new(task.id.to_string(), vec![line(task)])).collect()
}

/// The tasks whose end a view shows.
pub(crate) struct EndedTasks<'a>(HashMap<&'a str, LastLine>);

/// What a line says about a task that has ended, and when it was read.
struct LastLine {
    status: Status,
    at: Time,
}

impl<'a> EndedTasks<'a> {
    /// Those of a view, by the last line about each.
    pub(crate) fn of(view: &View<'a>) -> Self {
        let mut ended = HashMap::new();
        let entries =
            view.told().flat_map(|(at, context)| context.entries.iter().map(move |entry| (at, entry)));
        for (at, entry) in entries.filter(|(_, entry)| entry.section == Section::Tasks) {
            let Some(about) = entry.about.as_deref() else { continue };
            match status(&entry.text).filter(|status| status.is_terminal()) {
                Some(status) => drop(ended.insert(about, LastLine { status, at })),
                None => drop(ended.remove(about)),
            }
        }
        Self(ended)
    }

    /// Whether the view shows the end of this task as it is now. Its agent may have been tried again since, or told more:
    /// then the task has ended again, perhaps as before, but later.
    pub(crate) fn shows(&self, task: &Entity) -> bool {
        let told = self.0.get(task.id.as_str());
        told.is_some_and(|told| task.status == told.status.as_str() && task.updated + CLOCKS_DIFFER < told.at)
    }
}

/// The status that a line shows.
fn status(line: &str) -> Option<Status> {
    let (_, from) = line.split_once(" status=\"")?;
    from.split_once('"')?.0.parse().ok()
}

fn line(task: &Task) -> String {
    let result = task.result.as_ref().map(|result| {
        let (name, text) = match result {
            TaskResult::Text(text) => ("result", text),
            TaskResult::Error(text) => ("error", text),
        };
        format!("\n<{name}>{}</{name}>", shown(text, RESULT))
    });
    format!(
        "<task id=\"{}\" status=\"{}\">\n<title>{}</title>\n<instruction>{}</instruction>{}\n</task>",
        task.id,
        task.status,
        shown(&task.title, TITLE),
        shown(&task.instruction, INSTRUCTION),
        result.unwrap_or_default(),
    )
}

/// A text of so many characters, as it is shown.
fn shown(text: &str, characters: usize) -> String {
    escaped(&without_controls(&cut(text, characters, None))).into_owned()
}

#[cfg(test)]
mod tests {
    use entourage_types::{EntityKind, Owner};

    use super::*;

    #[test]
    fn the_status_of_a_task_is_read_from_its_line() {
        assert_eq!(
            status("<task id=\"tsk_1\" status=\"failed\">\n<title> status=\"queued\"</title>"),
            Some(Status::Failed)
        );
        assert_eq!(status("<task id=\"tsk_1\"></task>"), None);
    }

    /// A task whose node has a clock that is behind ended after it was read, by the time of its row before that.
    #[test]
    fn an_end_shortly_before_it_was_told_is_read_again() {
        let at = |second: i64| Time::from_micros(second * 1_000_000);
        let ended = |second| Entity {
            kind: EntityKind::TASK,
            id: "tsk_1".to_owned(),
            owner: Owner::local(),
            root: None,
            parent: None,
            status: "succeeded".to_owned(),
            created: at(0),
            updated: at(second),
            version: 1,
            name: None,
            text: None,
            body: String::new(),
        };
        let told = LastLine { status: Status::Succeeded, at: at(100) };
        let shown = EndedTasks(HashMap::from([("tsk_1", told)]));
        assert_eq!([39, 40, 101].map(|second| shown.shows(&ended(second))), [true, false, false]);
    }
}
