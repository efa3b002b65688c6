//! The document of a message of a sub-agent's own history.

use std::collections::HashMap;

use entourage_api::schema;
use entourage_types::{
    Agent, AgentId, Author, CallId, Item, ItemBody, Output, Question, QuestionStatus, SubOutput, Time,
    ToolCall, tool_names,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{is_work, of_item};

/// A message of a sub-agent's own history, as its model sees it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SubAgentMessage)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SubAgentMessageView {
    /// Its id.
    id: String,
    /// The sub-agent.
    #[schema(value_type = schema::SubAgentId)]
    sub_agent_id: AgentId,
    /// The author.
    role: SubAgentRole,
    /// The text; empty if there are only calls.
    content: String,
    /// The calls that an assistant's message asks for.
    #[serde(rename = "tool_calls", skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    tool_calls: Vec<Asked>,
    /// The call that a tool's message answers.
    #[serde(rename = "tool_call_id", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::CallId>)]
    tool_call_id: Option<CallId>,
    /// When it was written.
    #[schema(value_type = schema::Time)]
    created_at: Time,
}

/// The author of a message of a sub-agent's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum SubAgentRole {
    /// The server: the agent's instructions, and failures.
    System,
    /// The agent that assigns work to it, and the user who answers it.
    User,
    /// The sub-agent.
    Assistant,
    /// A tool.
    Tool,
}

/// A call that a message asks for.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AskedCall)]
struct Asked {
    /// Its id.
    #[schema(value_type = schema::CallId)]
    id: CallId,
    /// Always `function`.
    #[serde(rename = "type")]
    sort: &'static str,
    /// The tool and its arguments.
    function: Function,
}

/// A tool and the arguments it is called with.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AskedFunction)]
struct Function {
    /// The tool.
    name: String,
    /// The arguments, as JSON text.
    arguments: String,
}

impl SubAgentMessageView {
    /// The first message of an agent's history, which is these instructions.
    pub(crate) fn system(agent: &Agent, instructions: &str) -> Self {
        Draft::new(SubAgentRole::System, instructions).at(agent.id, "system".into(), agent.created)
    }
}

/// The messages of these items of a history, oldest first.
pub(crate) fn documents(items: &[Item], questions: &[Question]) -> Vec<SubAgentMessageView> {
    let asked: HashMap<CallId, &Question> =
        questions.iter().map(|question| (question.call, question)).collect();
    items.iter().flat_map(|item| views_of(item, &asked)).collect()
}

struct Draft {
    role: SubAgentRole,
    content: String,
    tool_calls: Vec<Asked>,
    tool_call_id: Option<CallId>,
}

impl Draft {
    fn new(role: SubAgentRole, content: impl Into<String>) -> Self {
        Self { role, content: content.into(), tool_calls: Vec::new(), tool_call_id: None }
    }

    fn at(self, agent: AgentId, place: String, created_at: Time) -> SubAgentMessageView {
        let Self { role, content, tool_calls, tool_call_id } = self;
        let id = format!("{agent}.{place}");
        SubAgentMessageView { id, sub_agent_id: agent, role, content, tool_calls, tool_call_id, created_at }
    }
}

/// The messages of one item; a question is a message of its own.
fn views_of(item: &Item, asked: &HashMap<CallId, &Question>) -> Vec<SubAgentMessageView> {
    let drafts = match &item.body {
        ItemBody::Message(message) => vec![Draft::new(
            SubAgentRole::User,
            match &message.from {
                Author::Agent { kind, .. } if message.is_result() => {
                    let how = if message.is_failure() { "failed" } else { "is done" };
                    format!("[{kind} {how}] {}", message.text)
                }
                _ => message.text.clone(),
            },
        )],
        ItemBody::Turn(turn) => turn_drafts(&turn.text, &turn.calls, asked),
        ItemBody::SubCalls(made) => turn_drafts("", &made.calls, asked),
        ItemBody::Output(output) | ItemBody::SubOutput(SubOutput { output, .. }) => returned(output, asked),
        ItemBody::Decision(decision) => {
            vec![Draft::new(SubAgentRole::Assistant, decision.outcome.to_string())]
        }
        ItemBody::Notice(notice) => vec![Draft::new(SubAgentRole::System, &notice.text)],
        ItemBody::Digest(_) | ItemBody::Context(_) => Vec::new(),
    };
    let base = of_item(item.agent, item.seq);
    let mut documents: Vec<SubAgentMessageView> =
        drafts.into_iter().map(|draft| draft.at(item.agent, item.seq.to_string(), item.at)).collect();
    for (nth, document) in documents.iter_mut().enumerate().skip(1) {
        document.id = format!("{base}.{nth}");
    }
    documents
}

/// The messages of a turn, or of calls that code makes.
fn turn_drafts(text: &str, calls: &[ToolCall], asked: &HashMap<CallId, &Question>) -> Vec<Draft> {
    let work: Vec<Asked> = calls.iter().filter(|call| is_work(&call.tool)).map(Asked::from).collect();
    let mut drafts = Vec::new();
    if !text.is_empty() || !work.is_empty() {
        drafts.push(Draft { tool_calls: work, ..Draft::new(SubAgentRole::Assistant, text) });
    }
    let questions = calls.iter().filter_map(|call| asked.get(&call.id));
    let questions = questions.filter(|question| question.proposal.is_none());
    drafts.extend(questions.map(|question| Draft::new(SubAgentRole::Assistant, &question.text)));
    drafts
}

fn returned(output: &Output, asked: &HashMap<CallId, &Question>) -> Vec<Draft> {
    vec![match (output.tool.as_str(), output.answer(), asked.get(&output.call)) {
        (tool_names::FINAL_ANSWER, Some(answer), _) => Draft::new(SubAgentRole::Assistant, answer),
        (tool_names::ASK_USER, _, Some(question)) if question.status == QuestionStatus::Answered => {
            Draft::new(SubAgentRole::User, question.answer_in_words().as_deref().unwrap_or(&output.text))
        }
        // A question that was not answered, or a final answer that was not accepted.
        (tool_names::ASK_USER | tool_names::FINAL_ANSWER, ..) => {
            Draft::new(SubAgentRole::System, &output.text)
        }
        _ => Draft { tool_call_id: Some(output.call), ..Draft::new(SubAgentRole::Tool, &output.text) },
    }]
}

impl From<&ToolCall> for Asked {
    fn from(call: &ToolCall) -> Self {
        let function = Function { name: call.tool.clone(), arguments: call.arguments.to_string() };
        Self { id: call.id, sort: "function", function }
    }
}
