//! What the model sees: a stable prefix, and the conversation with what the model reads beside it, which only
//! grows at its end. One file per part.

mod conversation;
mod cut;
mod decision;
mod density;
mod escape;
mod goal;
mod record;
mod request_digest;
mod sections;
mod sub_agents;
mod summary;
mod system;
mod tasks;

use std::{fmt::Write as _, sync::Arc};

use entourage_llm::{Request, ToolChoice};
use entourage_types::{Item, Kind, Status, TaskId, ToolSpec};

pub(crate) use conversation::{View, is_cut};
pub(crate) use cut::{cut, is_longer};
pub(crate) use decision::{RenderedDecision, refuse, refused};
pub(crate) use density::{BYTES, DENSEST, density};
pub(crate) use escape::escaped;
pub(crate) use record::{PerItem, drawn, render_transcript};
pub(crate) use request_digest::{Chain, of_request, of_single_request, of_tools};
pub(crate) use sections::Sections;
pub(crate) use summary::{RenderedSummary, SummaryOf};
pub(crate) use system::{earlier, system};
pub(crate) use tasks::EndedTasks;

/// What a request is rendered from: nothing else determines what a provider receives.
pub(crate) struct Rendered<'a> {
    pub(crate) kind: &'a Kind,
    /// The model that is asked.
    pub(crate) model: Option<String>,
    pub(crate) system: Arc<str>,
    pub(crate) tools: Arc<[ToolSpec]>,
    /// The items of the session.
    pub(crate) items: &'a [Item],
    /// Whether the program handles one call of a turn.
    pub(crate) one_call: bool,
    /// Whether it is the run's last call, without tools.
    pub(crate) is_last: bool,
    /// The most tokens of the answer, if they are limited.
    pub(crate) max_tokens: Option<u32>,
}

impl Rendered<'_> {
    /// Returns the request for an agent's next turn, and its messages as a chain, which goes on from the chain
    /// of an earlier request. Within a session a request only ever grows at its end.
    pub(crate) fn request(self, before: Option<Chain>) -> (Request, Chain) {
        let Self { kind, model, system, tools, items, one_call, is_last, max_tokens } = self;
        let view = View::of(items, kind);
        let messages = view.messages(request_digest::reads_on(&tools));
        let chain = Chain::over(before, &view, &tools, &messages);
        let has_cuts = view.has_cuts();
        let request = Request {
            model,
            system,
            messages,
            has_cuts,
            tools,
            tool_choice: if is_last { ToolChoice::None } else { ToolChoice::Auto },
            one_call,
            output_schema: kind.output_schema.clone().map(Arc::new),
            temperature: kind.temperature,
            max_tokens,
            ..Request::default()
        };
        (request, chain)
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
