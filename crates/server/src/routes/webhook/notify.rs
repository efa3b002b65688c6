//! The webhook for a task that waits for the user.

use axum::Json;
use entourage_engine::{Page, TranscriptRenderer};
use entourage_types::{Question, QuestionStatus};

use super::{Answer, Failures, Headers, Outcome, Signed, WrittenTask, ignored, not_ours, ours};
use crate::{
    routes::api_router::{ApiRouter, routes},
    views::chats::{ChatMessageView, TreeIndex},
};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(notify))
}

/// A task waits for the user: what the main chat shows
#[utoipa::path(
    post, path = "/webhook/orchestrator-notify", tag = "webhooks", operation_id = "webhookNotify",
    params(Headers), request_body = WrittenTask, security(()),
    responses((status = 200, description = "The outcome.", body = Outcome), Failures)
)]
async fn notify(Signed { client, document, .. }: Signed<WrittenTask>) -> Answer {
    let Some(task) = ours(&document.id) else { return not_ours() };
    let task = client.task(task).await?;
    if document.status != "waiting" {
        return ignored(format!("a task with status `{}` does not wait for the user", document.status));
    }
    let open = client.questions(Some(task.root), Some(QuestionStatus::Open), Page::all()).await?;
    let tree = TreeIndex::read(&client, task.root).await?;
    // The asking agent may be deeper in the tree; the user knows only the task of the chat's own sub-agent.
    let is_of_task = |question: &Question| {
        let own = tree.own(question.agent).is_some_and(|own| own.id == task.to);
        own || question.task == Some(task.id)
    };
    // The chat shows a question as long as it is open, so there is nothing to write.
    let notifications: Vec<ChatMessageView> = open
        .into_iter()
        .filter(is_of_task)
        .map(|question| ChatMessageView::of(task.root, TranscriptRenderer::question(question), &tree))
        .collect();
    match notifications.is_empty() {
        true => ignored("the task does not wait for the user any more"),
        false => Ok(Json(Outcome::Notified { notifications })),
    }
}
