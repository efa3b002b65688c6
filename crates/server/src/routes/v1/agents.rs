//! Agents: create, list and get them, read their tree and their transcript.

use axum::{
    Json,
    http::{StatusCode, header::LOCATION},
    response::{AppendHeaders, IntoResponse},
};
use entourage_api::{
    ActiveAgents, Agent, AgentOrder, Child, CreateAgent, Item, ItemPage, List, ListAgents, ListChildren,
    ListItems, ModelRequest, Page, ShowTimeline, ShowTree, ShownTree, TimelineBucket, Why, schema,
};
use entourage_engine::{AgentFilter, Client, Error, ItemQuery, NewAgent};
use entourage_types::AgentId;

use super::{Answer, Conflict, Failures, Gone};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IdempotencyKey, Names},
    page::{BYTES, Paging, checked_limit, checked_number},
    routes::api_router::{ApiRouter, routes},
    views,
};

type AgentPage = Page<Agent>;
type ChildPage = Page<Child>;
type Timeline = List<TimelineBucket>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(active))
        .routes(routes!(get))
        .routes(routes!(why))
        .routes(routes!(children))
        .routes(routes!(tree))
        .routes(routes!(timeline))
        .routes(routes!(items))
        .routes(routes!(request_of_item))
        .routes(routes!(forget))
}

/// Create an agent
///
/// Without a message the agent is idle until it gets one, and without a title, too, its title is empty: `{}` is
/// enough.
#[utoipa::path(
    post, path = "/v1/agents", tag = "agents", operation_id = "createAgent",
    params(IdempotencyKey),
    request_body = CreateAgent,
    responses(
        (status = 201, description = "The agent, at work if it has a message.", body = Agent,
         headers(("Location" = String, description = "The path of the agent."))),
        Failures,
        Conflict,
    )
)]
async fn create(
    caller: Caller,
    key: IdempotencyKey,
    Body(new): Body<CreateAgent>,
) -> Result<impl IntoResponse, Problem> {
    let agent = created(&caller, &key, new).await?;
    let location = format!("/v1/agents/{}", agent.id);
    Ok((StatusCode::CREATED, AppendHeaders([(LOCATION, location)]), Json(agent)))
}

/// Creates an agent.
pub(crate) async fn created(
    caller: &Caller,
    key: &IdempotencyKey,
    new: CreateAgent,
) -> Result<Agent, Problem> {
    let CreateAgent { kind, title, message, parent } = new;
    let agent = caller.client.create(NewAgent { kind, title, message, parent }, key.as_deref()).await?;
    Ok(Agent::from(agent))
}

/// List agents, newest first
///
/// With conditions that few of many agents fit, a page has fewer entries, or none; the next page goes on from
/// there.
#[utoipa::path(
    get, path = "/v1/agents", tag = "agents", operation_id = "listAgents", params(ListAgents),
    responses((status = 200, description = "A page of agents.", body = AgentPage), Failures)
)]
pub(crate) async fn list(caller: Caller, Filter(query): Filter<ListAgents>) -> Answer<AgentPage> {
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    if let Some(name) = &query.name {
        return named(&caller, name, &query).await.map(Json);
    }
    let ListAgents { roots, status, waiting_on, kind, text: title, tree: root, unread, order, .. } = query;
    let (parent, client) = (None, &caller.client);
    let of = |page| AgentFilter { roots, status, root, parent, kind, waiting_on, title, unread, page };
    let mut agents: AgentPage = match order.unwrap_or(AgentOrder::Created) {
        AgentOrder::Created => paging.narrowed(|page| client.find_agents(of(page))).await?,
        AgentOrder::Updated if unread => {
            return Err(Problem::bad_query("unread: cannot be combined with `order=updated`"));
        }
        AgentOrder::Updated => paging.narrowed(|page| client.latest_agents(of(page))).await?,
    };
    add_names(client, &mut agents.data).await?;
    Ok(Json(agents))
}

/// Adds the names that agents were given.
async fn add_names(client: &Client, agents: &mut [Agent]) -> Result<(), Problem> {
    let ids: Vec<AgentId> = agents.iter().map(|agent| agent.id).collect();
    for (agent, name) in agents.iter_mut().zip(client.given_names(&ids).await?) {
        agent.name = name;
    }
    Ok(())
}

/// The agent of this name, if there is one: a page with one entry at most.
async fn named(caller: &Caller, name: &str, query: &ListAgents) -> Result<AgentPage, Problem> {
    let alone = ListAgents {
        name: query.name.clone(),
        limit: query.limit,
        order: query.order,
        ..ListAgents::default()
    };
    if *query != alone {
        return Err(Problem::bad_query("name: cannot be combined with other conditions"));
    }
    let mut data = match caller.client.named_agent(name).await {
        Ok(agent) => vec![Agent::from(agent)],
        Err(Error::NotFound { .. }) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    add_names(&caller.client, &mut data).await?;
    Ok(Page { data, next_cursor: None })
}

/// List the agents that are active: at work, waiting, or with something to read
#[utoipa::path(
    get, path = "/v1/agents/active", tag = "agents", operation_id = "listActiveAgents",
    responses((status = 200, description = "All of them, oldest first.", body = ActiveAgents), Failures)
)]
async fn active(caller: Caller) -> Answer<ActiveAgents> {
    let tree = caller.client.active_tree(None).await?;
    let nodes = caller.client.active_nodes(tree.agents).await?;
    Ok(Json(ActiveAgents {
        data: nodes.into_iter().map(views::active).collect(),
        last_events: tree.last_events,
    }))
}

/// List the children of an agent, newest first, each with the sums of its branch
///
/// A page has fewer children, or none, where few of many fit; the next page goes on from there.
#[utoipa::path(
    get, path = "/v1/agents/{id}/children", tag = "agents", operation_id = "listChildren",
    params(("id" = schema::AgentId, Path, description = "The agent."), ListChildren),
    responses((status = 200, description = "A page of children.", body = ChildPage), Failures)
)]
pub(crate) async fn children(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(query): Filter<ListChildren>,
) -> Answer<ChildPage> {
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    let ListChildren { status, waiting_on, text: title, .. } = query;
    let of = |page| AgentFilter { status, waiting_on, title, page, ..AgentFilter::default() };
    let found = paging.narrowed(|page| caller.client.children(id, of(page))).await?;
    Ok(Json(Page {
        data: found.data.into_iter().map(views::child).collect(),
        next_cursor: found.next_cursor,
    }))
}

/// Get an agent
#[utoipa::path(
    get, path = "/v1/agents/{id}", tag = "agents", operation_id = "getAgent",
    params(("id" = schema::AgentId, Path, description = "The agent.")),
    responses((status = 200, description = "The agent.", body = Agent), Failures)
)]
pub(crate) async fn get(caller: Caller, Id(id): Id<AgentId>) -> Answer<Agent> {
    let agent = caller.client.agent(id).await?;
    Ok(Json(shown(&caller.client, agent).await?))
}

/// An agent with the name that it was given.
pub(super) async fn shown(client: &Client, agent: entourage_types::Agent) -> Result<Agent, Problem> {
    let mut agent = Agent::from(agent);
    add_names(client, std::slice::from_mut(&mut agent)).await?;
    Ok(agent)
}

/// Say why an agent does not go on: the last cause, through the agents that it waits for
#[utoipa::path(
    get, path = "/v1/agents/{id}/why", tag = "agents", operation_id = "getWhy",
    params(("id" = schema::AgentId, Path, description = "The agent.")),
    responses((status = 200, description = "The cause, and the chain that leads to it.", body = Why), Failures)
)]
pub(crate) async fn why(caller: Caller, Id(id): Id<AgentId>) -> Answer<Why> {
    Ok(Json(views::why(&caller.client.why(id).await?)))
}

/// Get the whole tree that an agent belongs to, with its usage
///
/// With `at`, the tree as it was after that event: the agents that there were, as events tell them.
#[utoipa::path(
    get, path = "/v1/agents/{id}/tree", tag = "agents", operation_id = "getTree",
    params(("id" = schema::AgentId, Path, description = "Any agent of the tree."), ShowTree),
    responses((status = 200, description = "The tree.", body = ShownTree), Gone, Failures)
)]
pub(crate) async fn tree(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(show): Filter<ShowTree>,
) -> Answer<ShownTree> {
    if let Some(at) = show.at {
        return Ok(Json(ShownTree::Then(views::past_tree(caller.client.tree_at(id, at).await?))));
    }
    let agents = caller.client.tree(id).await?;
    let root = agents.first().map_or(id, |agent| agent.root);
    let names = caller.client.names_in(root).await?;
    let tree = views::tree(agents, &caller.client.tree_usage(root).await?, &names);
    let tree = tree.ok_or_else(|| Problem::not_found(format!("there is no tree of agent `{id}`")))?;
    Ok(Json(ShownTree::Now(Box::new(tree))))
}

/// Divide the events that are kept of the tree that an agent belongs to into buckets, with about as many in each
#[utoipa::path(
    get, path = "/v1/agents/{id}/timeline", tag = "agents", operation_id = "getTimeline",
    params(("id" = schema::AgentId, Path, description = "Any agent of the tree."), ShowTimeline),
    responses((status = 200, description = "The buckets, oldest first.", body = Timeline), Failures)
)]
async fn timeline(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(show): Filter<ShowTimeline>,
) -> Answer<Timeline> {
    let buckets = caller.client.timeline(id, checked_number("buckets", show.buckets)?).await?;
    Ok(Json(List { data: buckets.into_iter().map(views::timeline_bucket).collect() }))
}

/// List the items of an agent's transcript, as the agent itself has them
#[utoipa::path(
    get, path = "/v1/agents/{id}/items", tag = "agents", operation_id = "listItems",
    params(("id" = schema::AgentId, Path, description = "The agent."), ListItems),
    responses((status = 200, description = "Items in their order.", body = ItemPage), Failures)
)]
pub(crate) async fn items(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(query): Filter<ListItems>,
) -> Answer<ItemPage> {
    let limit = checked_limit(query.limit)?;
    let from = checked_number("from", query.from)?;
    let items = ItemQuery { bytes: BYTES, ..ItemQuery::of(id, from, limit) };
    let found = caller.client.transcript_part(items).await?;
    let next_from = found.last().map_or(query.from, |last| last.seq + 1);
    Ok(Json(ItemPage { data: found.into_iter().map(Item::from).collect(), next_from }))
}

/// Get the request whose answer is an item of an agent's transcript
#[utoipa::path(
    get, path = "/v1/agents/{id}/items/{n}/request", tag = "agents", operation_id = "getRequestOfItem",
    params(
        ("id" = schema::AgentId, Path, description = "The agent."),
        ("n" = u64, Path, description = "The number of a turn, a decision or a summary.")
    ),
    responses((status = 200, description = "The request, rebuilt from what is stored; `exact` says whether the \
        digest of what was sent proves it.", body = ModelRequest), Failures)
)]
async fn request_of_item(caller: Caller, Names(id, number): Names) -> Answer<ModelRequest> {
    let unknown = || entourage_engine::Error::NotFound { noun: "request", id: format!("{id}/{number}") };
    let (id, number) = (id.parse().map_err(|_| unknown())?, number.parse().map_err(|_| unknown())?);
    Ok(Json(views::request(caller.client.request_of_item(id, number).await?)))
}

/// Forget an agent that has ended, and all below it, while its tree lives on
///
/// Their transcripts, runs and records are removed; the tree's events keep their numbers, without what was said, and
/// what the agent was asked for and answered stays with the agent above it. A repeated request does nothing more.
#[utoipa::path(
    post, path = "/v1/agents/{id}/forget", tag = "agents", operation_id = "forgetAgent",
    params(("id" = schema::AgentId, Path, description = "The agent.")),
    responses((status = 204, description = "They are forgotten."), Failures, Conflict)
)]
async fn forget(caller: Caller, Id(id): Id<AgentId>) -> Result<StatusCode, Problem> {
    caller.client.forget(id).await?;
    Ok(StatusCode::NO_CONTENT)
}
