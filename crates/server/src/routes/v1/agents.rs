//! Agents: create, list and get them, read their tree and their transcript.

use axum::{
    Json,
    http::{StatusCode, header::LOCATION},
    response::{AppendHeaders, IntoResponse},
};
use entourage_api::{Agent, CreateAgent, Item, ItemPage, ListAgents, ListItems, Page, Tree, schema};
use entourage_engine::{AgentFilter, ItemQuery, NewAgent};
use entourage_types::AgentId;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IdempotencyKey},
    page::{BYTES, Paging, checked_limit},
    state::AppState,
    views,
};

type AgentPage = Page<Agent>;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get))
        .routes(routes!(tree))
        .routes(routes!(items))
}

/// Create an agent
#[utoipa::path(
    post, path = "/v1/agents", tag = "agents", operation_id = "createAgent",
    params(IdempotencyKey),
    request_body = CreateAgent,
    responses(
        (status = 201, description = "The agent, at work if it has a message.", body = Agent,
         headers(("Location" = String, description = "The path of the agent."))),
        Failures,
    )
)]
async fn create(
    caller: Caller,
    key: IdempotencyKey,
    Body(new): Body<CreateAgent>,
) -> Result<impl IntoResponse, Problem> {
    let CreateAgent { kind, title, message, parent } = new;
    let agent = caller.client.create(NewAgent { kind, title, message, parent }, key.as_deref()).await?;
    let location = format!("/v1/agents/{}", agent.id);
    Ok((StatusCode::CREATED, AppendHeaders([(LOCATION, location)]), Json(Agent::from(agent))))
}

/// List agents, newest first
#[utoipa::path(
    get, path = "/v1/agents", tag = "agents", operation_id = "listAgents", params(ListAgents),
    responses((status = 200, description = "A page of agents.", body = AgentPage), Failures)
)]
async fn list(caller: Caller, Filter(query): Filter<ListAgents>) -> Answer<AgentPage> {
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    let ListAgents { roots, status, tree, unread, .. } = query;
    let read = |page| caller.client.select_agents(AgentFilter { roots, status, root: tree, unread, page });
    Ok(Json(paging.read(read, |agent| agent.id.to_string()).await?))
}

/// Get an agent
#[utoipa::path(
    get, path = "/v1/agents/{id}", tag = "agents", operation_id = "getAgent",
    params(("id" = schema::AgentId, Path, description = "The agent.")),
    responses((status = 200, description = "The agent.", body = Agent), Failures)
)]
async fn get(caller: Caller, Id(id): Id<AgentId>) -> Answer<Agent> {
    Ok(Json(caller.client.agent(id).await?.into()))
}

/// Get the whole tree that an agent belongs to, with its usage
#[utoipa::path(
    get, path = "/v1/agents/{id}/tree", tag = "agents", operation_id = "getTree",
    params(("id" = schema::AgentId, Path, description = "Any agent of the tree.")),
    responses((status = 200, description = "The tree.", body = Tree), Failures)
)]
async fn tree(caller: Caller, Id(id): Id<AgentId>) -> Answer<Tree> {
    let agents = caller.client.tree(id).await?;
    let root = agents.first().map_or(id, |agent| agent.root);
    let tree = views::tree(agents, &caller.client.tree_usage(root).await?);
    Ok(Json(tree.ok_or_else(|| Problem::not_found(format!("there is no tree of agent `{id}`")))?))
}

/// List the items of an agent's transcript, as the agent itself has them
#[utoipa::path(
    get, path = "/v1/agents/{id}/items", tag = "agents", operation_id = "listItems",
    params(("id" = schema::AgentId, Path, description = "The agent."), ListItems),
    responses((status = 200, description = "Items in their order.", body = ItemPage), Failures)
)]
async fn items(caller: Caller, Id(id): Id<AgentId>, Filter(query): Filter<ListItems>) -> Answer<ItemPage> {
    let limit = checked_limit(query.limit)?;
    if i64::try_from(query.from).is_err() {
        return Err(Problem::bad_query(format!("from: {} is not within 0 to {}", query.from, i64::MAX)));
    }
    let items = ItemQuery { bytes: BYTES, ..ItemQuery::of(id, query.from, limit) };
    let found = caller.client.transcript_part(items).await?;
    let next_from = found.last().map_or(query.from, |last| last.seq + 1);
    Ok(Json(ItemPage { data: found.into_iter().map(Item::from).collect(), next_from }))
}
