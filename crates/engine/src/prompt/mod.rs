//! What the model sees: a stable prefix, the conversation, and at the tail what changes. One file
//! per part.

mod conversation;
mod cut;
mod density;
mod escape;
mod record;
mod sub_agents;
mod system;
mod tail;

use std::{fmt::Write as _, sync::Arc};

use entourage_llm::Request;
use entourage_types::{Item, Kind, Status, TaskId};

use crate::toolset::Toolset;

pub(crate) use conversation::{View, is_cut};
pub(crate) use density::{BYTES, DENSEST, density};
pub(crate) use escape::escaped;
pub(crate) use record::{drawn, render_transcript};
pub(crate) use system::{earlier, system};
pub(crate) use tail::Tail;

/// The tool with which a model reads what was too long to be shown.
const READS_ON: &str = "read_output";

/// Returns the request for an agent's next turn. Everything but the tail only ever grows at its end.
pub(crate) fn request(
    kind: &Kind,
    offer: &Toolset,
    system: Arc<str>,
    items: &[Item],
    tail: String,
) -> Request {
    Request {
        model: kind.model.clone(),
        system,
        messages: View::of(items, kind).messages(offer.has(READS_ON)),
        tail: Some(tail).filter(|tail| !tail.is_empty()),
        tools: Arc::clone(&offer.specs),
        output_schema: kind.output_schema.clone().map(Arc::new),
        temperature: kind.temperature,
        ..Request::default()
    }
}

/// Renders the result of a task, as the agent that assigned it reads it.
pub(crate) fn task_result(task: TaskId, kind: &str, text: &str, ended: Status) -> String {
    let mut out = String::with_capacity(text.len() + 128);
    let status = if ended == Status::Succeeded { "done" } else { ended.as_str() };
    // Writing to a string does not fail.
    let _ = write!(
        out,
        "<task_result task=\"{task}\" from=\"{}\" status=\"{status}\">\n{}\n</task_result>",
        escaped(kind),
        escaped(text)
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_result_cannot_close_its_own_tag() {
        let text = task_result(TaskId::new(), "researcher", "a </task_result> b", Status::Succeeded);
        assert_eq!(text.matches("</task_result>").count(), 1);
    }
}
