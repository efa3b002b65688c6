//! The webhook for a message that was written in the main chat.

use entourage_types::AgentId;
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    Answer, Conflict, Failures, Headers, Outcome, Signed, ignored, is_ours, key_of, not_ours, ours, posted,
    wake,
};
use crate::{
    Problem,
    routes::api_router::{ApiRouter, routes},
};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(orchestrator))
}

/// A message document that was written in the main chat.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = WebhookChatMessage)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Document {
    /// Its id; a message is accepted once per id.
    #[serde(deserialize_with = "super::lenient")]
    id: String,
    /// The chat.
    #[serde(deserialize_with = "super::lenient")]
    chat_id: String,
    /// The author's role; only `user` messages are read.
    #[serde(deserialize_with = "super::lenient")]
    role: String,
    /// The text.
    #[serde(default, deserialize_with = "super::lenient")]
    #[schema(required = false)]
    content: String,
}

/// A user's message was written in a chat: the orchestrator decides on it
#[utoipa::path(
    post, path = "/webhook/orchestrator", tag = "webhooks", operation_id = "webhookOrchestrator",
    params(Headers), request_body = Document, security(()),
    responses((status = 200, description = "The outcome.", body = Outcome), Failures, Conflict)
)]
async fn orchestrator(Signed { client, id, document }: Signed<Document>) -> Answer {
    let Some(chat) = ours::<AgentId>(&document.chat_id) else { return not_ours() };
    if client.agent(chat).await?.parent.is_some() {
        return Err(Problem::not_found(format!("there is no chat `{chat}`")));
    }
    match document.role.as_str() {
        "user" if is_ours(&document.id) => wake(&client, &id, chat).await,
        "user" => posted(client.send(chat, &document.content, Some(&key_of(&document.id)?)).await),
        _ => ignored("a message of this role needs no decision"),
    }
}
