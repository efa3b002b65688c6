//! The tree of active agents, one agent, and what a person does to it.

use std::collections::BTreeMap;

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use entourage_api::{Problem as ProblemDocument, schema};
use entourage_engine::{Client, Error, Overrides};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    Problem,
    extract::{Body, Caller, Id},
    routes::api_router::{ApiRouter, routes},
    routes::failures::Failures,
    views::explorer::{Done, ExplorerAgent, ExplorerEntry, NoAgent, messages},
};

/// The active agents by their ids.
#[derive(Serialize, ToSchema)]
struct ExplorerTree(BTreeMap<String, ExplorerEntry>);

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(tree))
        .routes(routes!(get))
        .routes(routes!(intervene))
        .routes(routes!(answer))
}

/// Get the tree of active agents
///
/// All agents that are at work, wait, or have something to read, by their ids; `{}` if there is none. Without what they
/// said; long contents and comments are cut, and whole under `GET /agent/{id}`. `GET /v1/agents/active` has the same with the numbers of the last events.
#[utoipa::path(
    get, path = "/agent/tree", tag = "explorations", operation_id = "getAgentTree",
    responses((status = 200, description = "The agents by their ids.", body = ExplorerTree), Failures)
)]
async fn tree(caller: Caller) -> Result<Json<ExplorerTree>, Problem> {
    let tree = caller.client.active_tree(None).await?;
    let entries = tree.agents.into_iter().map(|active| (active.name.clone(), ExplorerEntry::from(active)));
    Ok(Json(ExplorerTree(entries.collect())))
}

/// Get an agent, active or not, with what was said
#[utoipa::path(
    get, path = "/agent/{id}", tag = "explorations", operation_id = "getExplorerAgent",
    params(("id" = schema::ExplorerAgentId, Path, description = "The id that its caller gave it, or its own.")),
    responses(
        Failures,
        (status = 200, description = "The agent.", body = ExplorerAgent),
        (status = 404, description = "There is none.", body = NoAgent),
    )
)]
async fn get(caller: Caller, Id(name): Id<String>) -> Result<Response, Problem> {
    let agent = match caller.client.shown_agent(&name).await {
        Err(Error::NotFound { .. }) => {
            return Ok((StatusCode::NOT_FOUND, Json(NoAgent::default())).into_response());
        }
        agent => agent?,
    };
    let (messages, earlier_items) = messages(&caller.client, &agent.agent).await?;
    Ok(Json(ExplorerAgent { entry: agent.into(), messages, earlier_items }).into_response())
}

/// What is to be set; what is left out stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
pub(super) struct OverrideAgent {
    /// `delete` ends the agent for good, with all below it. `modify` has it drop its work in progress and work on its
    /// content. Any other text is an annotation.
    #[schema(min_length = 1, max_length = 1_048_576)]
    user_comment: Option<String>,
    /// What the agent is to work on: from this `modify` on, or from a later one.
    #[schema(min_length = 1, max_length = 1_048_576)]
    user_content: Option<String>,
    /// `running`, `completed`, `deleted`, `modified`, `error` or `awaiting_user`: what is shown of the agent until it
    /// next begins, sleeps or ends; `deleted` deletes it.
    status: Option<String>,
}

/// Set comment, content and state of an active agent, together or any of them
#[utoipa::path(
    post, path = "/agent/{id}/intervene", tag = "explorations", operation_id = "userIntervention",
    params(("id" = schema::ExplorerAgentId, Path, description = "The id that its caller gave it, or its own.")),
    request_body = OverrideAgent,
    responses(
        Failures,
        (status = 200, description = "All of it is set.", body = Done),
        (status = 404, description = "There is no such agent.", body = Done),
        (status = 409, description = "The agent has finished; nothing was changed.", body = Done),
        (status = 422, description = "It makes no sense; nothing was changed.",
         content((Done = "application/json"), (ProblemDocument = "application/problem+json"))),
    )
)]
async fn intervene(
    caller: Caller,
    Id(name): Id<String>,
    Body(wanted): Body<OverrideAgent>,
) -> Result<Done, Problem> {
    set(&caller.client, &name, wanted).await
}

/// Sets these of an active agent, by its name or id.
pub(super) async fn set(client: &Client, name: &str, wanted: OverrideAgent) -> Result<Done, Problem> {
    let OverrideAgent { user_comment: comment, user_content: content, status } = wanted;
    let state = match status.map(|status| status.parse()).transpose() {
        Ok(state) => state,
        Err(why) => return Ok(Done::refused(StatusCode::UNPROCESSABLE_ENTITY, why)),
    };
    match client.user_intervention(name, &Overrides { comment, content, state }).await {
        Ok(true) => Ok(Done::success()),
        Ok(false) => Ok(match client.named_agent(name).await {
            Ok(_) => Done::refused(StatusCode::CONFLICT, "the agent has finished"),
            Err(error) => Done::unless(error)?,
        }),
        Err(error) => Done::unless(error),
    }
}

/// An answer to what an agent asks.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub(super) struct AnswerAgent {
    /// The answer; null declines to give one.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required, min_length = 1, max_length = 1_048_576)]
    pub(super) response: Option<String>,
}

/// Answer the question that an agent waits for
#[utoipa::path(
    post, path = "/agent/{id}/answer", tag = "explorations", operation_id = "answerUserQuery",
    params(("id" = schema::ExplorerAgentId, Path, description = "The id that its caller gave it, or its own.")),
    request_body = AnswerAgent,
    responses(
        Failures,
        (status = 200, description = "The agent goes on with it.", body = Done),
        (status = 404, description = "There is no such agent.", body = Done),
        (status = 409, description = "No question of it is open.", body = Done),
        (status = 422, description = "It is no answer.",
         content((Done = "application/json"), (ProblemDocument = "application/problem+json"))),
    )
)]
async fn answer(
    caller: Caller,
    Id(name): Id<String>,
    Body(AnswerAgent { response }): Body<AnswerAgent>,
) -> Result<Done, Problem> {
    match caller.client.answer_agent(&name, None, response.as_deref()).await {
        Ok(_) => Ok(Done::success()),
        Err(error) => Done::unless(error),
    }
}
