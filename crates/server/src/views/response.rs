//! Answers of agencies, in the terms of the library that they came from.

use entourage_api::{AgencyResponse, NestedRun, Origin, RunError, RunItem, RunItemBody, RunText};
use entourage_engine::responses::{self, RunResult};
use entourage_types::{Question, Tally};

use crate::Problem;

/// The response for a run that ended.
pub(crate) fn ended(chat_id: String, result: RunResult) -> AgencyResponse {
    AgencyResponse {
        nested: result.nested.iter().map(nested_run).collect(),
        final_output: result.final_output,
        error: result.error.map(run_error),
        agent: result.agent,
        chat_id,
        run_id: Some(result.run_id),
        generated_items: result.generated_items.into_iter().map(run_item).collect(),
        usage: result.usage.into(),
        questions: Vec::new(),
    }
}

/// The response for a run that continues once a question is answered.
pub(crate) fn asking(chat_id: String, question: Question, usage: Tally) -> AgencyResponse {
    AgencyResponse {
        final_output: None,
        error: None,
        agent: question.kind.clone(),
        chat_id,
        run_id: None,
        generated_items: Vec::new(),
        nested: Vec::new(),
        usage: usage.into(),
        questions: vec![question.into()],
    }
}

/// Returns the answer alone; a problem if there is none.
pub(crate) fn final_text(response: AgencyResponse) -> Result<String, Problem> {
    let why = |error: RunError| Problem::no_answer(format!("{}: {}", error.code, error.text));
    response.error.map_or(Ok(response.final_output.unwrap_or_default()), |error| Err(why(error)))
}

// The cause is the original error message: the run (`GET /v1/runs/{id}`) and the log have it.
fn run_error(responses::RunError { code, text, cause: _ }: responses::RunError) -> RunError {
    RunError { code, text }
}

fn nested_run(nested: &responses::NestedRun) -> NestedRun {
    NestedRun {
        origin: origin(nested.origin.clone()),
        generated_items: nested.generated_items.iter().cloned().map(run_item).collect(),
        usage: nested.usage.into(),
        final_output: nested.final_output.clone(),
        error: nested.error.clone().map(run_error),
    }
}

fn origin(origin: responses::Origin) -> Origin {
    let responses::Origin { agent, caller, depth, run, parent_run, thread } = origin;
    Origin { agent, caller, depth, run_id: run, parent_run_id: parent_run, thread }
}

/// A piece of an answer under way; none if all pieces since the last item are void.
pub(crate) fn run_text(of: responses::Origin, text: Option<String>) -> RunText {
    RunText { origin: origin(of), text }
}

pub(crate) fn run_item(item: responses::RunItem) -> RunItem {
    let (of, at, body) = match item {
        responses::RunItem::MessageInput(item) => {
            (item.origin, item.at, RunItemBody::MessageInputItem { text: item.text })
        }
        responses::RunItem::MessageOutput(item) => {
            (item.origin, item.at, RunItemBody::MessageOutputItem { text: item.text })
        }
        responses::RunItem::ToolCall(item) => {
            let body = RunItemBody::ToolCallItem {
                call_id: item.call_id,
                tool: item.tool,
                arguments: item.arguments,
            };
            (item.origin, item.at, body)
        }
        responses::RunItem::ToolCallOutput(item) => {
            let body = RunItemBody::ToolCallOutputItem {
                call_id: item.call_id,
                tool: item.tool,
                output: item.output,
                is_error: item.is_error,
            };
            (item.origin, item.at, body)
        }
        responses::RunItem::Notice(item) => {
            let responses::NoticeItem { origin, level, code, reason, text, at } = item;
            (origin, at, RunItemBody::NoticeItem { level: level.into(), code, reason, text })
        }
    };
    RunItem { origin: origin(of), at, body }
}
