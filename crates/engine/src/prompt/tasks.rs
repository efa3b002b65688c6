//! The section that lists the tasks that an agent created, and what they came to.

use entourage_types::{Task, TaskResult};

use super::{cut::cut, escaped, sections::Line};

/// How many characters are shown of a title, an instruction or a result.
const TITLE: usize = 100;
const INSTRUCTION: usize = 200;
const RESULT: usize = 1_000;

/// Returns the lines of the section, those of the latest tasks first.
pub(super) fn lines(tasks: &[Task]) -> Vec<Line> {
    tasks.iter().map(|task| Line::new(task.id.to_string(), vec![line(task)])).collect()
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
