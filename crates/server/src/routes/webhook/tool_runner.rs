//! The webhook for a tool call that was written.

use serde::Deserialize;
use utoipa::ToSchema;

use super::{Answer, Failures, Headers, Outcome, Signed, ignored, not_ours, ours, wake};
use crate::routes::api_router::{ApiRouter, routes};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(tool_runner))
}

/// A tool call document that was written.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = WebhookToolCall)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Document {
    /// Its id.
    #[serde(deserialize_with = "super::lenient")]
    id: String,
    /// The sub-agent.
    #[serde(deserialize_with = "super::lenient")]
    sub_agent_id: String,
    /// Its status; only a `pending` call is carried out.
    #[serde(default, deserialize_with = "super::lenient")]
    #[schema(required = true)]
    status: String,
}

/// A tool call was written: it is carried out, unless that was done already
#[utoipa::path(
    post, path = "/webhook/tool-runner", tag = "webhooks", operation_id = "webhookToolRunner",
    params(Headers), request_body = Document, security(()),
    responses((status = 200, description = "The outcome.", body = Outcome), Failures)
)]
async fn tool_runner(Signed { client, id, document }: Signed<Document>) -> Answer {
    let Document { id: call, sub_agent_id: agent, status } = document;
    let (Some(call), Some(agent)) = (ours(&call), ours(&agent)) else { return not_ours() };
    let pending = client.call_is_pending(agent, call).await?;
    if status != "pending" {
        return ignored(format!("a call with status `{status}` is not carried out"));
    }
    match pending {
        true => wake(&client, &id, agent).await,
        false => ignored("the call is not pending any more"),
    }
}
