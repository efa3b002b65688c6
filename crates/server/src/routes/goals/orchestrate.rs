//! Setting an agent to work by hand: with what it has to read, or with a trigger. For the operator only.

use axum::{Json, http::StatusCode};
use entourage_api::schema;
use entourage_engine::{Client, Error};
use entourage_types::{AgentId, Status, TaskId, Trigger};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{Conflict, Failures, Reserved};
use crate::{
    Problem,
    extract::{Body, Caller, IdempotencyKey},
    routes::api_router::{ApiRouter, routes},
    views::goals::AgentableType,
};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(orchestrate))
}

/// Which agent is to work, and on what.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct Orchestrate {
    /// What it is.
    r#type: AgentableType,
    /// Its id: that of the goal, of the task, or of the user agent.
    id: String,
    /// On what it is to work.
    #[serde(default)]
    context: OrchestrateContext,
}

/// On what an agent is to work.
#[derive(Debug, Default, Deserialize, ToSchema)]
struct OrchestrateContext {
    /// The trigger, of those that its kind knows, such as `feed_generation` or `agent_check_in`; without it, what it has
    /// to read.
    r#type: Option<String>,
    /// What comes with the trigger.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    rest: Map<String, Value>,
}

/// What came of it.
#[derive(Debug, Serialize, ToSchema)]
struct Orchestrated {
    /// Whether the agent was set to work.
    outcome: Outcome,
    /// Why it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::AgentId>)]
    agent: Option<AgentId>,
}

/// Whether an agent was set to work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    /// It was, and works in the background.
    Scheduled,
    /// It was not, and nothing was changed.
    Ignored,
}

/// Set an agent to work
///
/// An agent that does not exist, was deleted or has nothing to do is left alone, and the response says so.
#[utoipa::path(
    post, path = "/api/orchestrate", tag = "goals", operation_id = "orchestrate",
    params(IdempotencyKey), request_body = Orchestrate,
    responses((status = 202, description = "What came of it.", body = Orchestrated), Failures, Conflict, Reserved)
)]
async fn orchestrate(
    caller: Caller,
    key: IdempotencyKey,
    Body(asked): Body<Orchestrate>,
) -> Result<(StatusCode, Json<Orchestrated>), Problem> {
    let client = &caller.client.of_all_owners("set agents to work by hand")?;
    let Orchestrate { r#type, id, context } = asked;
    let outcome = match agent_of(client, r#type, &id).await? {
        None => ignored("there is no such agent"),
        Some(agent) => match start(client, agent, context, &key).await {
            Ok(true) => Orchestrated { outcome: Outcome::Scheduled, reason: None, agent: Some(agent) },
            Ok(false) => ignored("it has nothing to do"),
            Err(Error::Gone(_) | Error::NotFound { .. }) => ignored("it was deleted"),
            Err(error) => return Err(error.into()),
        },
    };
    Ok((StatusCode::ACCEPTED, Json(outcome)))
}

async fn start(
    client: &Client,
    agent: AgentId,
    context: OrchestrateContext,
    key: &IdempotencyKey,
) -> Result<bool, Error> {
    let OrchestrateContext { r#type, rest } = context;
    let Some(name) = r#type else { return client.wake(agent, key.as_deref()).await };
    let payload = if rest.is_empty() { Value::Null } else { Value::Object(rest) };
    let trigger = Trigger { name, payload, schedule: None };
    client.trigger(agent, trigger, "", key.as_deref()).await.map(|_| true)
}

/// The agent with this id of this API; none if it does not exist.
async fn agent_of(client: &Client, sort: AgentableType, id: &str) -> Result<Option<AgentId>, Problem> {
    let found = match sort {
        AgentableType::AgentTask => match id.parse::<TaskId>() {
            Ok(id) => client.task(id).await.map(|task| task.to),
            Err(_) => return Ok(None),
        },
        AgentableType::Goal => match id.parse::<AgentId>() {
            Ok(id) => client.goal(id).await.map(|goal| goal.agent),
            Err(_) => return Ok(None),
        },
        AgentableType::UserAgent => match id.parse::<AgentId>() {
            Ok(id) => match client.agent(id).await {
                Ok(agent) if !Client::is_user_agent(&agent) => return Ok(None),
                found => found.map(|agent| agent.id),
            },
            Err(_) => return Ok(None),
        },
    };
    match found {
        Ok(agent) if client.agent(agent).await?.status == Status::Cancelled => Ok(None),
        Ok(agent) => Ok(Some(agent)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn ignored(reason: &'static str) -> Orchestrated {
    Orchestrated { outcome: Outcome::Ignored, reason: Some(reason), agent: None }
}
