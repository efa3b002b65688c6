//! The section that lists the sub-agents of an agent.

use entourage_types::{About, OnEnd, TaskResult};

use super::{cut::cut, escaped, sections::Line};
use crate::sub_agents::SubAgent;

/// How many characters are shown of an instruction, a result or a question.
const INSTRUCTION: usize = 300;
const BRIEF: usize = 40;
const RESULT: usize = 1_000;
const QUESTION: usize = 1_000;

/// How many agents are shown in full, those with the latest tasks; the others are shown in brief.
const WHOLE: usize = 20;

/// Returns the lines of the section. An agent that was shown in full and has not changed since says the same
/// in brief.
pub(super) fn lines(known: &[SubAgent]) -> Vec<Line> {
    let (latest, older) = known.split_at(known.len().min(WHOLE));
    let latest = latest.iter().map(|known| Line::new(known.agent.id.to_string(), vec![line(known)]));
    let older = older.iter().map(|known| {
        let forms = vec![brief(known), line(known)];
        Line::new(known.agent.id.to_string(), forms)
    });
    latest.chain(older).collect()
}

/// Returns the status of an agent as its parent sees it.
fn status(SubAgent { task, questions, .. }: &SubAgent) -> &'static str {
    match (questions.is_empty(), task.status.is_terminal()) {
        (_, true) => task.status.as_str(),
        (false, false) => "waiting",
        (true, false) => "running",
    }
}

fn brief(known: &SubAgent) -> String {
    let SubAgent { agent, task, .. } = known;
    format!(
        "<sub_agent id=\"{}\" role=\"{}\" status=\"{}\">{}</sub_agent>",
        agent.id,
        escaped(&agent.kind),
        status(known),
        escaped(&cut(&task.instruction, BRIEF, None)),
    )
}

fn line(known: &SubAgent) -> String {
    let SubAgent { agent, task, questions } = known;
    let status = status(known);
    let mut out = format!(
        "<sub_agent id=\"{}\" role=\"{}\" status=\"{status}\" task=\"{}\">\n<instruction>{}</instruction>",
        agent.id,
        escaped(&agent.kind),
        task.id,
        escaped(&cut(&task.instruction, INSTRUCTION, None)),
    );
    // What will be joined is withheld until then.
    if let Some(result) = task.result.as_ref().filter(|_| task.on_end != OnEnd::Join) {
        let (name, text) = match result {
            TaskResult::Text(text) => ("result", text),
            TaskResult::Error(text) => ("error", text),
        };
        out.push_str(&format!("\n<{name}>{}</{name}>", escaped(&cut(text, RESULT, None))));
    }
    for question in questions {
        let text = cut(&question.text, QUESTION, None);
        out.push_str(&match question.about {
            About::Information => {
                format!("\n<question id=\"{}\">{}</question>", question.id, escaped(&text))
            }
            // Only the user gives approval, and not through an agent.
            About::Approval | About::Doubt => {
                format!("\n<waits_for_approval>{}</waits_for_approval>", escaped(&text))
            }
        });
    }
    out + "\n</sub_agent>"
}
