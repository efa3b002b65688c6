//! A question, as the API shows it.

use entourage_types::{
    About, AgentId, CallId, Owner, Proposal, Question, QuestionId, QuestionStatus, RunId, TaskId, Time,
    Verdict,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::schema;

/// A question that only a person can answer, asked by an agent at any depth of the tree.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Question)]
pub(crate) struct QuestionView {
    /// Its id.
    #[schema(value_type = schema::QuestionId)]
    id: QuestionId,
    /// The owner, who may answer it.
    #[schema(value_type = String)]
    owner: Owner,
    /// The tree it was asked in, by its root.
    #[schema(value_type = schema::AgentId)]
    root: AgentId,
    /// The agent that asks.
    #[schema(value_type = schema::AgentId)]
    agent: AgentId,
    /// The kind of the agent that asks.
    kind: String,
    /// The run that waits.
    #[schema(value_type = schema::RunId)]
    run: RunId,
    /// The call that waits.
    #[schema(value_type = schema::CallId)]
    call: CallId,
    /// The task that the asking agent works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::TaskId>)]
    task: Option<TaskId>,
    /// What it is about, and so how it can be answered: `information` with a text; `approval` with a verdict,
    /// or with a text, which the agent reads instead of the call's result; `doubt` with a verdict, or with a
    /// text, which becomes the call's result.
    #[schema(value_type = schema::About)]
    about: About,
    /// The question.
    text: String,
    /// Suggested answers, left out when there are none; any other text is fine too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    options: Vec<String>,
    /// The call in question, unless the agent only wants to know something.
    #[serde(skip_serializing_if = "Option::is_none")]
    proposal: Option<ProposalView>,
    /// When it expires; left out if it never does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Time>)]
    due: Option<Time>,
    /// The verdict that applies when it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Verdict>)]
    otherwise: Option<Verdict>,
    /// Its status.
    #[schema(value_type = schema::QuestionStatus)]
    status: QuestionStatus,
    /// The answer, as text; for an expired question, what was done instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    /// When it was asked.
    #[schema(value_type = schema::Time)]
    created: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    updated: Time,
}

/// A call that a person is asked about.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Proposal)]
pub(crate) struct ProposalView {
    /// The tool.
    tool: String,
    /// Its arguments.
    arguments: Value,
    /// The JSON schema of the arguments.
    parameters: Value,
    /// SHA-256 of tool and arguments, in hex: an answer is valid for these and no others.
    digest: String,
    /// The version of the kind with which it was asked: an answer is valid for this version and no other.
    kind_version: String,
    /// The rule that holds the call back.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
}

impl From<Proposal> for ProposalView {
    fn from(proposal: Proposal) -> Self {
        let Proposal { tool, arguments, parameters, digest, kind_version, rule } = proposal;
        Self { tool, arguments, parameters, digest, kind_version, rule }
    }
}

impl From<Question> for QuestionView {
    fn from(question: Question) -> Self {
        let Question {
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
            answer,
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
            created,
            updated,
        }
    }
}
