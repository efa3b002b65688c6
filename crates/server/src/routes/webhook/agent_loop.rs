//! A message was written in a sub-agent's history.

use axum::Json;
use entourage_types::AgentId;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    Answer, Conflict, Failures, Headers, Outcome, Signed, ignored, is_ours, key_of, not_ours, ours, wake,
};
use crate::{Problem, state::Served};

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(agent_loop))
}

/// A message of a sub-agent's history, as it was written.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = WebhookSubAgentMessage)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Document {
    /// Its id: a user's message is taken once for each.
    #[serde(deserialize_with = "super::lenient")]
    id: String,
    /// The sub-agent.
    #[serde(deserialize_with = "super::lenient")]
    sub_agent_id: String,
    /// Who speaks: `user` and `tool` have the sub-agent go on.
    #[serde(deserialize_with = "super::lenient")]
    role: String,
    /// The text.
    #[serde(default, deserialize_with = "super::lenient")]
    #[schema(required = false)]
    content: String,
}

/// A message was written in a sub-agent's history: it goes on
///
/// A user's message to a sub-agent that waits for an answer of theirs, and for one alone, is that answer.
#[utoipa::path(
    post, path = "/webhook/agent-loop", tag = "webhooks", operation_id = "webhookAgentLoop",
    params(Headers), request_body = Document, security(()),
    responses((status = 200, description = "What came of it.", body = Outcome), Failures, Conflict)
)]
async fn agent_loop(Signed { client, id, document }: Signed<Document>) -> Answer {
    let Some(agent) = ours::<AgentId>(&document.sub_agent_id) else { return not_ours() };
    if client.agent(agent).await?.parent.is_none() {
        return Err(Problem::not_found(format!("there is no sub-agent `{agent}`")));
    }
    match document.role.as_str() {
        "user" if !is_ours(&document.id) => {
            // One that waits for its user's words has them with this.
            let posted = client.tell(agent, &document.content, Some(&key_of(&document.id)?)).await?;
            Ok(Json(Outcome::Posted { post: posted.post }))
        }
        "user" | "tool" => wake(&client, &id, agent).await,
        _ => ignored("a message of this role sets nothing off"),
    }
}
