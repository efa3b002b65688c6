//! A task has come to an end.

use entourage_types::Status;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures, Headers, Outcome, Signed, WrittenTask, ignored, not_ours, ours, wake};
use crate::state::Served;

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(finalize))
}

/// A task was completed: the orchestrator tells the user
#[utoipa::path(
    post, path = "/webhook/orchestrator-finalize", tag = "webhooks", operation_id = "webhookFinalize",
    params(Headers), request_body = WrittenTask, security(()),
    responses((status = 200, description = "What came of it.", body = Outcome), Failures)
)]
async fn finalize(Signed { client, id, document }: Signed<WrittenTask>) -> Answer {
    let Some(task) = ours(&document.id) else { return not_ours() };
    let task = client.task(task).await?;
    if document.status != "success" {
        return ignored(format!("a task with status `{}` has no result to tell", document.status));
    }
    match task.status {
        Status::Succeeded => wake(&client, &id, task.from).await,
        other => ignored(format!("the task is {other} now")),
    }
}
