//! A message was written in a sub-agent's history.

use entourage_types::AgentId;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Conflict, Failures, Headers, Outcome, Signed, ignored, is_ours, post, wake};
use crate::{Problem, state::Served, views::schema};

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(agent_loop))
}

/// A message of a sub-agent's history, as it was written.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = WebhookSubAgentMessage)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Document {
    /// Its id: a user's message is taken once for each.
    id: String,
    /// The sub-agent.
    #[schema(value_type = schema::AgentId)]
    sub_agent_id: AgentId,
    /// Who speaks: `user` and `tool` have the sub-agent go on.
    role: String,
    /// The text.
    #[serde(default)]
    #[schema(required = false)]
    content: String,
}

/// A message was written in a sub-agent's history: it goes on
#[utoipa::path(
    post, path = "/webhook/agent-loop", tag = "webhooks", operation_id = "webhookAgentLoop",
    params(Headers), request_body = Document, security(()),
    responses((status = 200, description = "What came of it.", body = Outcome), Failures, Conflict)
)]
async fn agent_loop(Signed { client, id, document }: Signed<Document>) -> Answer {
    let agent = document.sub_agent_id;
    if client.agent(agent).await?.parent.is_none() {
        return Err(Problem::not_found(format!("there is no sub-agent `{agent}`")));
    }
    match document.role.as_str() {
        "user" if !is_ours(&document.id) => post(&client, agent, &document.id, &document.content).await,
        "user" | "tool" => wake(&client, &id, agent).await,
        other => ignored(format!("a message of role `{other}` sets nothing off")),
    }
}
