//! What an answer, or a result, means for the call that waited for it.

use entourage_types::{
    About, Answer, OpenQuestion, Output, OutputEffect, Post, PostBody, TaskResult, ToolCall, Verdict,
};
use serde_json::Value;

use crate::run::tools::kept::output;

/// What becomes of a call that waited.
pub(in crate::run) enum Reply {
    /// It is answered.
    Output(Output),
    /// It is made, or made again; with these arguments, where a person gave some.
    Begin(Option<Value>),
}

/// What a post means for the open call that it is for, and that asked a person this, if it did.
pub(in crate::run) fn reply_of(call: &ToolCall, asked: Option<&OpenQuestion>, post: &Post) -> Reply {
    let (text, error) = match &post.body {
        PostBody::Answer { answer, .. } => return answered(call, asked, answer),
        PostBody::Done { task, result, .. } => {
            let (text, error) = match result {
                TaskResult::Text(text) => (text, false),
                TaskResult::Error(text) => (text, true),
            };
            // By it, whoever reads the transcript finds the work that was done for the call.
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
            // Words of the user are for the model to read, also instead of a verdict.
            let is_said = about == About::Information || matches!(answer, Answer::Text(_));
            let effect = question.filter(|_| is_said).map(OutputEffect::Asked);
            Reply::Output(Output { effect, ..output(call, text, error) })
        }
    }
}

/// What the model reads of a call that is not made, and whether that is an error.
fn read(about: About, answer: &Answer) -> (String, bool) {
    let (text, error) = match (about, answer) {
        (About::Approval, Answer::Text(text)) => {
            return (format!("The call was not made. The user answers instead: {text}"), false);
        }
        (About::Approval, Answer::Reject { reason: Some(reason) }) => {
            return (format!("The user rejected the call, and it was not made: {reason}"), true);
        }
        (About::Approval, Answer::Expired) => {
            ("Nobody approved the call in time, and it was not made. Go on without.", true)
        }
        (About::Approval, _) => ("The user rejected the call, and it was not made. Go on without.", true),
        (_, Answer::Text(text)) => (text.as_str(), false),
        (About::Doubt, Answer::Expired) => (
            "The call was interrupted, and nobody said in time whether it took effect. It was given up; it may \
             have taken effect.",
            true,
        ),
        (About::Doubt, _) => ("The call was interrupted and given up; it may have taken effect.", true),
        (About::Information, Answer::Expired) => {
            ("Nobody answered in time. Go on without, or end with what there is.", false)
        }
        (About::Information, _) => {
            ("The user declined to answer. Go on without, or end with what there is.", false)
        }
    };
    (text.to_owned(), error)
}
