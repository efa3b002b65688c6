//! The section that lists the agents that an agent has made.

use entourage_types::{About, TaskResult};

use super::{cut::cut, escaped, tail::section};
use crate::sub_agents::SubAgent;

/// How much is shown of an instruction, a result or a question, in characters.
const INSTRUCTION: usize = 300;
const RESULT: usize = 1_000;
const QUESTION: usize = 1_000;

pub(super) fn list(known: &[SubAgent]) -> Option<String> {
    section("sub_agents", known.iter().map(line))
}

fn line(known: &SubAgent) -> String {
    let SubAgent { agent, task, questions } = known;
    let status = match (questions.is_empty(), task.status.is_terminal()) {
        (_, true) => task.status.as_str(),
        (false, false) => "waiting",
        (true, false) => "running",
    };
    let mut out = format!(
        "<sub_agent id=\"{}\" role=\"{}\" status=\"{status}\" task=\"{}\">\n<instruction>{}</instruction>",
        agent.id,
        escaped(&agent.kind),
        task.id,
        escaped(&cut(&task.instruction, INSTRUCTION, None)),
    );
    if let Some(result) = &task.result {
        let (name, text) = match result {
            TaskResult::Text(text) => ("result", text),
            TaskResult::Error(text) => ("error", text),
        };
        out.push_str(&format!("\n<{name}>{}</{name}>", escaped(&cut(text, RESULT, None))));
    }
    for question in questions {
        let text = cut(&question.text, QUESTION, None);
        out.push_str(&match question.about {
            About::Information => format!("\n<question>{}</question>", escaped(&text)),
            // Nobody but the user gives leave, and not through an agent.
            About::Approval | About::Doubt => {
                format!("\n<waits_for_leave>{}</waits_for_leave>", escaped(&text))
            }
        });
    }
    out + "\n</sub_agent>"
}
