//! The webhook for a message that was written in a sub-agent's history.

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
    ApiRouter::new().routes(routes!(agent_loop))
}

/// A message document that was written in a sub-agent's history.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = WebhookSubAgentMessage)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Document {
    /// Its id; a user's message is accepted once per id.
    #[serde(deserialize_with = "super::lenient")]
    id: String,
    /// The sub-agent.
    #[serde(deserialize_with = "super::lenient")]
    sub_agent_id: String,
    /// The author's role; `user` and `tool` make the sub-agent continue.
    #[serde(deserialize_with = "super::lenient")]
    role: String,
    /// The text.
    #[serde(default, deserialize_with = "super::lenient")]
    #[schema(required = false)]
    content: String,
}

/// A message was written in a sub-agent's history: the sub-agent continues
///
/// A user's message to a sub-agent that waits for exactly one answer from the user is that answer.
#[utoipa::path(
    post, path = "/webhook/agent-loop", tag = "webhooks", operation_id = "webhookAgentLoop",
    params(Headers), request_body = Document, security(()),
    responses((status = 200, description = "The outcome.", body = Outcome), Failures, Conflict)
)]
async fn agent_loop(Signed { client, id, document }: Signed<Document>) -> Answer {
    let Some(agent) = ours::<AgentId>(&document.sub_agent_id) else { return not_ours() };
    if client.agent(agent).await?.parent.is_none() {
        return Err(Problem::not_found(format!("there is no sub-agent `{agent}`")));
    }
    match document.role.as_str() {
        "user" if !is_ours(&document.id) => {
            // If the sub-agent waits for one answer from its user, this message is the answer.
            posted(client.tell(agent, &document.content, Some(&key_of(&document.id)?)).await)
        }
        "user" | "tool" => wake(&client, &id, agent).await,
        _ => ignored("a message of this role starts nothing"),
    }
}
