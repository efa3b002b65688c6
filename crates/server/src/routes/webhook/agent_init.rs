//! A task was written.

use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures, Headers, Outcome, Signed, ignored, not_ours, ours, wake};
use crate::state::Served;

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(agent_init))
}

/// A task, as it was written.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = WebhookNewTask)]
#[serde(expecting = "an object")]
struct Document {
    /// Its id.
    #[serde(deserialize_with = "super::lenient")]
    id: String,
    /// What sort of task it is: only `agent` has a sub-agent.
    #[serde(rename = "type", deserialize_with = "super::lenient")]
    sort: String,
}

/// A task was written: its sub-agent begins
#[utoipa::path(
    post, path = "/webhook/agent-init", tag = "webhooks", operation_id = "webhookAgentInit",
    params(Headers), request_body = Document, security(()),
    responses((status = 200, description = "What came of it.", body = Outcome), Failures)
)]
async fn agent_init(Signed { client, id, document }: Signed<Document>) -> Answer {
    if document.sort != "agent" {
        return ignored(format!("a task of type `{}` is no agent's", document.sort));
    }
    let Some(task) = ours(&document.id) else { return not_ours() };
    let task = client.task(task).await?;
    wake(&client, &id, task.to).await
}
