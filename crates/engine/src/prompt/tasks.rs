//! The section that lists the tasks that an agent created, and what they came to.

use std::collections::HashSet;

use entourage_types::{Section, Status, Task, TaskResult};

use super::{View, cut::cut, escaped, sections::Line};

/// How many characters are shown of a title, an instruction or a result.
const TITLE: usize = 100;
const INSTRUCTION: usize = 200;
const RESULT: usize = 1_000;

/// Returns the lines of the section, those of the latest tasks first.
pub(super) fn lines(tasks: &[Task]) -> Vec<Line> {
    tasks.iter().map(|task| Line::new(task.id.to_string(), vec![line(task)])).collect()
}

/// Returns the ids of the tasks whose end a view shows.
pub(crate) fn ended<'a>(view: &View<'a>) -> HashSet<&'a str> {
    let entries = view.contexts().flat_map(|context| &context.entries);
    let shown = entries.filter(|entry| entry.section == Section::Tasks);
    shown
        .filter(|entry| status(&entry.text).is_some_and(Status::is_terminal))
        .filter_map(|entry| entry.about.as_deref())
        .collect()
}

/// The status that a line shows.
fn status(line: &str) -> Option<Status> {
    let (_, from) = line.split_once(" status=\"")?;
    from.split_once('"')?.0.parse().ok()
}

fn line(task: &Task) -> String {
    let instruction = cut(&task.instruction, INSTRUCTION, None);
    let result = task.result.as_ref().map(|result| {
        let (name, text) = match result {
            TaskResult::Text(text) => ("result", text),
            TaskResult::Error(text) => ("error", text),
        };
        format!("\n<{name}>{}</{name}>", escaped(&cut(text, RESULT, None)))
    });
    format!(
        "<task id=\"{}\" status=\"{}\">\n<title>{}</title>\n<instruction>{}</instruction>{}\n</task>",
        task.id,
        task.status,
        escaped(&cut(&task.title, TITLE, None)),
        escaped(&instruction),
        result.unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_a_task_is_read_from_its_line() {
        assert_eq!(
            status("<task id=\"tsk_1\" status=\"failed\">\n<title> status=\"queued\"</title>"),
            Some(Status::Failed)
        );
        assert_eq!(status("<task id=\"tsk_1\"></task>"), None);
    }
}
