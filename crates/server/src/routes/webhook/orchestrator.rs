//! A message was written in the main chat.

use entourage_types::AgentId;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Conflict, Failures, Headers, Outcome, Signed, ignored, is_ours, post, wake};
use crate::{Problem, state::Served, views::schema};

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(orchestrator))
}

/// A message of the main chat, as it was written.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = WebhookChatMessage)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Document {
    /// Its id: a message is taken once for each.
    id: String,
    /// The chat.
    #[schema(value_type = schema::AgentId)]
    chat_id: AgentId,
    /// Who speaks: only `user` is heard.
    role: String,
    /// The text.
    #[serde(default)]
    #[schema(required = false)]
    content: String,
}

/// A user's message was written in a chat: the orchestrator decides on it
#[utoipa::path(
    post, path = "/webhook/orchestrator", tag = "webhooks", operation_id = "webhookOrchestrator",
    params(Headers), request_body = Document, security(()),
    responses((status = 200, description = "What came of it.", body = Outcome), Failures, Conflict)
)]
async fn orchestrator(Signed { client, id, document }: Signed<Document>) -> Answer {
    if client.agent(document.chat_id).await?.parent.is_some() {
        return Err(Problem::not_found(format!("there is no chat `{}`", document.chat_id)));
    }
    match document.role.as_str() {
        "user" if is_ours(&document.id) => wake(&client, &id, document.chat_id).await,
        "user" => post(&client, document.chat_id, &document.id, &document.content).await,
        other => ignored(format!("a message of role `{other}` needs no decision")),
    }
}
