//! The section that says what is to be reached, and how.

use entourage_types::Goal;

use super::{cut::cut, escape::without_controls, escaped, sections::Line};

/// How many characters are shown of a description, and of instructions.
const TEXT: usize = 8_000;

/// Returns the lines of the section: each part of a goal is a line, so that a part that changes is read alone.
pub(super) fn lines(goal: &Goal) -> Vec<Line> {
    let Goal { title, description, instructions, .. } = goal;
    let parts = [("title", title), ("description", description), ("instructions", instructions)];
    let is_said = |(_, text): &(&str, &String)| !text.trim().is_empty();
    let line = |(part, text): (&str, &String)| {
        let text = cut(text.trim(), TEXT, None);
        Line::new(part.to_owned(), vec![format!("<{part}>{}</{part}>", escaped(&without_controls(&text)))])
    };
    parts.into_iter().filter(is_said).map(line).collect()
}

/// Returns the line about a part that says nothing any more.
pub(super) fn gone(part: &str) -> String {
    format!("<{part}></{part}>")
}

#[cfg(test)]
mod tests {
    use entourage_types::{AgentId, GoalStatus, Owner, Time};

    use super::*;

    #[test]
    fn what_only_a_terminal_obeys_is_left_out() {
        let at = Time::from_micros(1);
        let goal = Goal {
            agent: AgentId::new(),
            owner: Owner::local(),
            title: "Rome\u{1b}[2J\u{202e}".into(),
            description: "Line\n\tby\u{9b} line\r\n\u{2066}ü".into(),
            instructions: "\u{7}".into(),
            status: GoalStatus::Open,
            created: at,
            updated: at,
        };
        let shown: Vec<String> = lines(&goal).into_iter().map(|line| line.forms[0].clone()).collect();
        assert_eq!(
            shown,
            [
                "<title>Rome[2J</title>",
                "<description>Line\n\tby line\nü</description>",
                "<instructions></instructions>"
            ]
        );
    }
}
