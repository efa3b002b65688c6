//! What an answer, or a result, means for the call that waited for it.

use entourage_types::{
    About, Answer, OpenQuestion, Output, OutputEffect, Post, PostBody, TaskResult, ToolCall, Verdict,
};
use serde_json::Value;

use crate::run::tools::output_limits::output;

/// What becomes of a call that waited.
pub(in crate::run) enum Reply {
    /// The call gets this output.
    Output(Output),
    /// The same: a person's words in place of the call, which is not made. A model reads them; code would take them for what
    /// its call returned, so for code the call has failed.
    Instead(Output),
    /// The call is made, or made again; with these arguments, if a person gave some.
    Begin(Option<Value>),
}

/// Returns what a post means for the open call that waits for it; `asked` is the question that the call asked
/// a person, if any.
pub(in crate::run) fn reply_of(call: &ToolCall, asked: Option<&OpenQuestion>, post: &Post) -> Reply {
    let (text, error) = match &post.body {
        PostBody::Answer { answer, .. } => return answered(call, asked, answer),
        PostBody::Done { task, result, .. } => {
            let (text, error) = match result {
                TaskResult::Text(text) => (text, false),
                TaskResult::Error(text) => (text, true),
            };
            // The effect links the output to the work that was done for the call, for readers of the
            // transcript.
            let effect = Some(OutputEffect::Delegated(*task));
            return Reply::Output(Output { effect, ..output(call, text, error) });
        }
        // Neither is for a call.
        PostBody::Message { .. } | PostBody::Intervention { .. } => ("not answered", true),
    };
    Reply::Output(output(call, text, error))
}

fn answered(call: &ToolCall, asked: Option<&OpenQuestion>, answer: &Answer) -> Reply {
    let about = asked.map_or(About::Information, |asked| asked.about);
    let question = asked.map(|asked| asked.question);
    let otherwise = asked.and_then(|asked| asked.otherwise).filter(|_| *answer == Answer::Expired);
    match (about, answer.verdict().or(otherwise)) {
        (About::Approval, Some(Verdict::Approve | Verdict::ApproveAlways)) => Reply::Begin(match answer {
            Answer::Approve { arguments, .. } => arguments.clone(),
            _ => None,
        }),
        (About::Doubt, Some(Verdict::Retry)) => Reply::Begin(None),
        _ => {
            let (text, error) = read(about, answer);
            // The model must read a text of the user, also one that was given instead of a verdict.
            let is_said = about == About::Information || matches!(answer, Answer::Text(_));
            let effect = question.filter(|_| is_said).map(match answer {
                Answer::Declined => OutputEffect::Declined,
                Answer::Expired => OutputEffect::Expired,
                _ => OutputEffect::Asked,
            });
            let output = Output { effect, ..output(call, text, error) };
            match (about, answer) {
                (About::Approval, Answer::Text(_)) => Reply::Instead(output),
                _ => Reply::Output(output),
            }
        }
    }
}

/// Returns the output text of a call that is not made, and whether it is an error.
fn read(about: About, answer: &Answer) -> (String, bool) {
    let (text, error) = match (about, answer) {
        (About::Approval, Answer::Text(text)) => {
            return (format!("The call was not made. The user answers instead: {text}"), false);
        }
        (About::Approval, Answer::Reject { reason: Some(reason) }) => {
            return (format!("The user rejected the call, so it was not made: {reason}"), true);
        }
        (About::Approval, Answer::Expired) => {
            ("The call was not approved in time, so it was not made. Continue without it.", true)
        }
        (About::Approval, _) => {
            ("The user rejected the call, so it was not made. Continue without it.", true)
        }
        (_, Answer::Text(text)) => (text.as_str(), false),
        (About::Doubt, Answer::Expired) => (
            "The call was interrupted, and no answer about its effect came in time. It was given up; it may \
             have taken effect.",
            true,
        ),
        (About::Doubt, _) => ("The call was interrupted and given up; it may have taken effect.", true),
        (About::Information, Answer::Expired) => {
            ("There was no answer in time. Continue without it, or end with what you have.", false)
        }
        (About::Information, _) => {
            ("The user declined to answer. Continue without it, or end with what you have.", false)
        }
    };
    (text.to_owned(), error)
}
