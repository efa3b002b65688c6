//! A question.

use entourage_types::{
    self as types, About, AgentId, Answer, CallId, Owner, QuestionId, QuestionStatus, RunId, TaskId, Time,
    Verdict,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::schema;

/// A question that only a person can answer, asked by an agent at any depth of the tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Question {
    /// Its id.
    #[schema(value_type = schema::QuestionId)]
    pub id: QuestionId,
    /// The owner, who may answer it.
    #[schema(value_type = String)]
    pub owner: Owner,
    /// The tree it was asked in, by its root.
    #[schema(value_type = schema::AgentId)]
    pub root: AgentId,
    /// The agent that asks.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// The kind of the agent that asks.
    pub kind: String,
    /// The run that waits.
    #[schema(value_type = schema::RunId)]
    pub run: RunId,
    /// The call that waits.
    #[schema(value_type = schema::CallId)]
    pub call: CallId,
    /// The task that the asking agent works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::TaskId>)]
    pub task: Option<TaskId>,
    /// What it is about, and so how it can be answered: `information` with a text; `approval` with a verdict,
    /// or with a text, which the agent reads instead of the call's result; `doubt` with a verdict, or with a
    /// text, which becomes the call's result.
    #[schema(value_type = schema::About)]
    pub about: About,
    /// The question.
    pub text: String,
    /// Suggested answers, left out when there are none; any other text is fine too.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[schema(required = false)]
    pub options: Vec<String>,
    /// The call in question, unless the agent only wants to know something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Proposal>,
    /// When it expires; left out if it never does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Time>)]
    pub due: Option<Time>,
    /// The verdict that applies when it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Verdict>)]
    pub otherwise: Option<Verdict>,
    /// Its status.
    #[schema(value_type = schema::QuestionStatus)]
    pub status: QuestionStatus,
    /// The answer, as text; for an expired question, what was done instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The titles of the agents from the root to the one that asks. Only where questions themselves are requested.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[schema(required = false)]
    pub path: Vec<String>,
    /// The text with which the agent asks, or its first 2,000 characters, if there is one and the question is
    /// open. As with `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// When it was asked.
    #[schema(value_type = schema::Time)]
    pub created: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    pub updated: Time,
}

/// A call that a person is asked about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Proposal {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// The JSON schema of the arguments.
    pub parameters: Value,
    /// SHA-256 of tool and arguments, in hex: an answer is valid for these and no others.
    pub digest: String,
    /// The version of the kind with which it was asked: an answer is valid for this version and no other.
    pub kind_version: String,
    /// The rule that holds the call back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

impl From<types::Proposal> for Proposal {
    fn from(proposal: types::Proposal) -> Self {
        let types::Proposal { tool, arguments, parameters, digest, kind_version, held_by } = proposal;
        let rule = held_by.map(|subject| subject.to_string());
        Self { tool, arguments, parameters, digest, kind_version, rule }
    }
}

impl From<types::Question> for Question {
    fn from(question: types::Question) -> Self {
        let answer = question.answer_in_words();
        let types::Question {
            id,
            owner,
            root,
            agent,
            kind,
            run,
            call,
            task,
            about,
            text,
            options,
            proposal,
            due,
            otherwise,
            status,
            answer: _,
            answered_by: _,
            created,
            updated,
        } = question;
        Self {
            id,
            owner,
            root,
            agent,
            kind,
            run,
            call,
            task,
            about,
            text,
            options,
            proposal: proposal.map(|proposal| (*proposal).into()),
            due,
            otherwise,
            status,
            answer,
            path: Vec::new(),
            because: None,
            created,
            updated,
        }
    }
}

/// One of: an answer, a verdict on the call in question, or a refusal to answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct AnswerQuestion {
    /// The answer as text, which the agent reads instead of the call's result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, pattern = r"\S")]
    pub answer: Option<String>,
    /// The verdict on the call in question: `approve`, `approve_always` (the rule no longer asks about this
    /// tool of this agent) or `reject` for a call that waits for approval, `retry` or `give_up` for one in
    /// doubt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Verdict>)]
    pub verdict: Option<Verdict>,
    /// With an approval: the arguments to call with, instead of the agent's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub arguments: Option<Value>,
    /// With an approval: the `digest` of the proposal that the person saw; the digest of another proposal is
    /// refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// With `reject`: why, for the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, pattern = r"\S")]
    pub reason: Option<String>,
    /// `true` if the person declines to answer.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    #[schema(required = false)]
    pub decline: bool,
}

impl TryFrom<Answer> for AnswerQuestion {
    type Error = String;

    fn try_from(answer: Answer) -> Result<Self, String> {
        let verdict = answer.verdict();
        Ok(match answer {
            Answer::Text(text) => Self { answer: Some(text), ..Self::default() },
            Answer::Declined => Self { decline: true, ..Self::default() },
            Answer::Approve { arguments, digest, .. } => {
                Self { verdict, arguments, digest, ..Self::default() }
            }
            Answer::Reject { reason } => Self { verdict, reason, ..Self::default() },
            Answer::Retry | Answer::GiveUp => Self { verdict, ..Self::default() },
            Answer::Granted | Answer::Expired => {
                return Err(
                    "only the engine closes a question by a grant or because it expired: answer it, or \
                            decline"
                        .to_owned(),
                );
            }
        })
    }
}

/// Which questions to list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListQuestions {
    /// Only questions in this status.
    #[param(value_type = Option<schema::QuestionStatus>)]
    pub status: Option<QuestionStatus>,
    /// Only questions of the tree with this root.
    #[param(value_type = Option<schema::AgentId>)]
    pub root: Option<AgentId>,
    /// Only questions that this agent asks.
    #[param(value_type = Option<schema::AgentId>)]
    pub agent: Option<AgentId>,
    /// Only questions about this.
    #[param(value_type = Option<schema::About>)]
    pub about: Option<About>,
    /// `created`, the default, for the newest first; `due` for open questions, those that are due soonest first,
    /// then the others, oldest first.
    #[param(value_type = Option<schema::QuestionOrder>)]
    pub order: Option<QuestionOrder>,
    /// How many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    pub cursor: Option<String>,
}

/// The order of a list of questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionOrder {
    /// The newest first.
    Created,
    /// Those that are due soonest first, then the others, oldest first.
    Due,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

    use serde_json::json;

    use super::*;

    #[test]
    fn only_an_answer_that_a_person_may_give_is_sent_as_one() {
        for (answer, sent) in [
            (Answer::Text("red".into()), json!({ "answer": "red" })),
            (Answer::Declined, json!({ "decline": true })),
            (Verdict::Approve.into(), json!({ "verdict": "approve" })),
            (Verdict::ApproveAlways.into(), json!({ "verdict": "approve_always" })),
            (
                Answer::Reject { reason: Some("too dear".into()) },
                json!({ "verdict": "reject", "reason": "too dear" }),
            ),
            (Answer::Retry, json!({ "verdict": "retry" })),
            (Answer::GiveUp, json!({ "verdict": "give_up" })),
        ] {
            let request = AnswerQuestion::try_from(answer).unwrap();
            assert_eq!(serde_json::to_value(request).unwrap(), sent);
        }
        for engines in [Answer::Granted, Answer::Expired] {
            assert!(AnswerQuestion::try_from(engines).unwrap_err().contains("only the engine"));
        }
    }
}
