//! MCP servers: list those that the caller's agents may use, and switch them and their tools on and off.

use axum::{Json, http::StatusCode};
use entourage_api::{List, McpServer, McpTool, SetSwitch, schema};
use entourage_engine::{ServerRecord, ServerTool};
use entourage_types::AgentId;

use super::{Answer, Conflict, Failures};
use crate::{
    Problem,
    extract::{Body, Caller, Id, Ids},
    routes::api_router::{ApiRouter, routes},
};

type McpServerList = List<McpServer>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(set, reset))
        .routes(routes!(list_of_agent))
        .routes(routes!(set_for_agent, reset_for_agent))
}

/// List the MCP servers that your agents may use, with their switches for all of them
#[utoipa::path(
    get, path = "/v1/mcp_servers", tag = "mcp servers", operation_id = "listMcpServers",
    responses((status = 200, description = "The servers.", body = McpServerList), Failures)
)]
async fn list(caller: Caller) -> Answer<McpServerList> {
    listed(&caller, None).await
}

/// Switch an MCP server, or one of its tools, on or off for all your agents
///
/// It takes effect in runs that begin from now on. What is switched for an agent takes precedence there.
#[utoipa::path(
    put, path = "/v1/mcp_servers/{name}/switch", tag = "mcp servers", operation_id = "switchMcpServer",
    params(("name" = String, Path, description = "The server, or a tool: `server__tool`.")),
    request_body = SetSwitch,
    responses((status = 200, description = "The server.", body = McpServer), Failures, Conflict)
)]
async fn set(caller: Caller, Id(name): Id<String>, Body(to): Body<SetSwitch>) -> Answer<McpServer> {
    Ok(Json(shown(caller.client.switch(None, &name, Some(to.switch)).await?)))
}

/// Remove the switch of an MCP server, or of one of its tools, for all your agents
#[utoipa::path(
    delete, path = "/v1/mcp_servers/{name}/switch", tag = "mcp servers", operation_id = "resetMcpServer",
    params(("name" = String, Path, description = "The server, or a tool: `server__tool`.")),
    responses((status = 204, description = "It has no switch."), Failures, Conflict)
)]
async fn reset(caller: Caller, Id(name): Id<String>) -> Result<StatusCode, Problem> {
    caller.client.switch(None, &name, None).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the MCP servers that an agent may use, with their switches for it and for its tasks
#[utoipa::path(
    get, path = "/v1/agents/{id}/mcp_servers", tag = "mcp servers", operation_id = "listMcpServersOfAgent",
    params(("id" = schema::AgentId, Path, description = "The agent at the root of a tree, such as that of a goal.")),
    responses((status = 200, description = "The servers.", body = McpServerList), Failures)
)]
async fn list_of_agent(caller: Caller, Id(id): Id<AgentId>) -> Answer<McpServerList> {
    listed(&caller, Some(id)).await
}

/// Switch an MCP server, or one of its tools, on or off for an agent and for its tasks
///
/// It takes effect in runs that begin from now on, and takes precedence over what is switched for all your agents.
#[utoipa::path(
    put, path = "/v1/agents/{id}/mcp_servers/{name}/switch", tag = "mcp servers",
    operation_id = "switchMcpServerOfAgent",
    params(
        ("id" = schema::AgentId, Path, description = "The agent at the root of a tree, such as that of a goal."),
        ("name" = String, Path, description = "The server, or a tool: `server__tool`."),
    ),
    request_body = SetSwitch,
    responses((status = 200, description = "The server.", body = McpServer), Failures, Conflict)
)]
async fn set_for_agent(
    caller: Caller,
    Ids(id, name): Ids<AgentId, String>,
    Body(to): Body<SetSwitch>,
) -> Answer<McpServer> {
    Ok(Json(shown(caller.client.switch(Some(id), &name, Some(to.switch)).await?)))
}

/// Remove the switch of an MCP server, or of one of its tools, for an agent and for its tasks
#[utoipa::path(
    delete, path = "/v1/agents/{id}/mcp_servers/{name}/switch", tag = "mcp servers",
    operation_id = "resetMcpServerOfAgent",
    params(
        ("id" = schema::AgentId, Path, description = "The agent at the root of a tree, such as that of a goal."),
        ("name" = String, Path, description = "The server, or a tool: `server__tool`."),
    ),
    responses((status = 204, description = "It has no switch."), Failures, Conflict)
)]
async fn reset_for_agent(caller: Caller, Ids(id, name): Ids<AgentId, String>) -> Result<StatusCode, Problem> {
    caller.client.switch(Some(id), &name, None).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn listed(caller: &Caller, tree: Option<AgentId>) -> Answer<McpServerList> {
    let servers = caller.client.servers(tree).await?;
    Ok(Json(List { data: servers.into_iter().map(shown).collect() }))
}

fn shown(server: ServerRecord) -> McpServer {
    let ServerRecord { name, is_connected, problem, secrets, switch, effective, tools } = server;
    let tool = |ServerTool { name, switch, effective }| McpTool { name, switch, effective };
    let tools = tools.into_iter().map(tool).collect();
    McpServer { name, connected: is_connected, problem, secrets, switch, effective, tools }
}
