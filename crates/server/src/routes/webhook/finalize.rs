//! The webhook for a task that ended.

use entourage_types::Status;

use super::{Answer, Failures, Headers, Outcome, Signed, WrittenTask, ignored, not_ours, ours, wake};
use crate::routes::api_router::{ApiRouter, routes};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(finalize))
}

/// A task was completed: the orchestrator reports the result to the user
#[utoipa::path(
    post, path = "/webhook/orchestrator-finalize", tag = "webhooks", operation_id = "webhookFinalize",
    params(Headers), request_body = WrittenTask, security(()),
    responses((status = 200, description = "The outcome.", body = Outcome), Failures)
)]
async fn finalize(Signed { client, id, document }: Signed<WrittenTask>) -> Answer {
    let Some(task) = ours(&document.id) else { return not_ours() };
    let task = client.task(task).await?;
    if document.status != "success" {
        return ignored(format!("a task with status `{}` has no result to report", document.status));
    }
    match task.status {
        Status::Succeeded => wake(&client, &id, task.from).await,
        other => ignored(format!("the task is {other} now")),
    }
}
