//! A question, as the API shows it.

use entourage_types::{AgentId, CallId, Owner, Question, QuestionId, QuestionStatus, RunId, TaskId, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;

/// Something only a person can answer, asked by an agent at any depth of the tree.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Question)]
pub(crate) struct QuestionView {
    /// Its id.
    #[schema(value_type = schema::QuestionId)]
    id: QuestionId,
    /// Who may answer.
    #[schema(value_type = String)]
    owner: Owner,
    /// The tree it was asked in, by its root.
    #[schema(value_type = schema::AgentId)]
    root: AgentId,
    /// Who asks.
    #[schema(value_type = schema::AgentId)]
    agent: AgentId,
    /// The kind of who asks.
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
    /// The question.
    text: String,
    /// Suggested answers, left out when there are none; any other text is fine too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    options: Vec<String>,
    /// Where it stands.
    #[schema(value_type = schema::QuestionStatus)]
    status: QuestionStatus,
    /// What was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    /// When it was asked.
    #[schema(value_type = schema::Time)]
    created: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    updated: Time,
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
            text,
            options,
            status,
            answer,
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
            text,
            options,
            status,
            answer,
            created,
            updated,
        }
    }
}
