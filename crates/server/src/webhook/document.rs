//! The bodies of webhooks to receivers: documents of the design with an orchestrator and its sub-agents, and the event of
//! the design with a document agent.

use entourage_types::{Delivery, Occasion, Question, Subject, Task};
use serde_json::{Value, json};

use crate::views::chats::{ChatTaskView, TaskStatus};

/// The body of a webhook.
pub(super) fn body(delivery: &Delivery) -> serde_json::Result<Value> {
    let data = match &delivery.subject {
        Subject::Task(task) => of_task(Task::clone(task), delivery.occasion)?,
        Subject::Question(question) if delivery.occasion == Occasion::TaskWaiting => waiting(question),
        Subject::Question(question) => of_question(question),
        Subject::Act(act) => serde_json::to_value(act.completed())?,
    };
    Ok(json!({ "type": delivery.occasion, "timestamp": delivery.created, "data": data }))
}

/// A task as it was at that event.
fn of_task(task: Task, occasion: Occasion) -> serde_json::Result<Value> {
    let status = match occasion {
        Occasion::TaskCreated => TaskStatus::Pending,
        Occasion::TaskReactivated => TaskStatus::Running,
        Occasion::TaskCompleted => TaskStatus::Success,
        Occasion::TaskFailed | Occasion::TaskCancelled => TaskStatus::Failed,
        Occasion::TaskWaiting
        | Occasion::QuestionOpened
        | Occasion::QuestionClosed
        | Occasion::AgentActionCompleted => TaskStatus::Waiting,
    };
    serde_json::to_value(ChatTaskView::then(task, status))
}

/// A task whose agent asks, with what the question knows of it.
fn waiting(question: &Question) -> Value {
    json!({
        "id": question.task,
        "chatId": question.root,
        "type": "agent",
        "name": format!("agent:{}", question.kind),
        "subAgentId": question.agent,
        "status": TaskStatus::Waiting,
        "questionId": question.id,
        "question": question.text,
        "updatedAt": question.updated,
    })
}

fn of_question(question: &Question) -> Value {
    let mut document = json!({
        "id": question.id,
        "chatId": question.root,
        "subAgentId": question.agent,
        "about": question.about,
        "question": question.text,
        "options": question.options,
        "status": question.status,
        "createdAt": question.created,
        "updatedAt": question.updated,
    });
    if let Some(task) = question.task {
        document["taskId"] = json!(task);
    }
    if let Some(answer) = question.answer_in_words() {
        document["answer"] = json!(answer);
    }
    document
}
