//! The webhook for a task that was written.

use serde::Deserialize;
use utoipa::ToSchema;

use super::{Answer, Failures, Headers, Outcome, Signed, ignored, not_ours, ours, wake};
use crate::routes::api_router::{ApiRouter, routes};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(agent_init))
}

/// A task document that was written.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = WebhookNewTask)]
#[serde(expecting = "an object")]
struct Document {
    /// Its id.
    #[serde(deserialize_with = "super::lenient")]
    id: String,
    /// The type of the task; only `agent` tasks have a sub-agent.
    #[serde(rename = "type", deserialize_with = "super::lenient")]
    sort: String,
}

/// A task was written: its sub-agent begins its work
#[utoipa::path(
    post, path = "/webhook/agent-init", tag = "webhooks", operation_id = "webhookAgentInit",
    params(Headers), request_body = Document, security(()),
    responses((status = 200, description = "The outcome.", body = Outcome), Failures)
)]
async fn agent_init(Signed { client, id, document }: Signed<Document>) -> Answer {
    if document.sort != "agent" {
        return ignored(format!("a task of type `{}` has no sub-agent", document.sort));
    }
    let Some(task) = ours(&document.id) else { return not_ours() };
    let task = client.task(task).await?;
    wake(&client, &id, task.to).await
}
