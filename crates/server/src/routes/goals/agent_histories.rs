//! Conversations that were archived: list them, find them by their words, get one whole.

use axum::Json;
use entourage_api::{Page, schema};
use entourage_engine::{Client, ItemQuery};
use entourage_types::{AgentId, Session, SessionId, Timeframe};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{Answer, Failures, goal, user_agent};
use crate::{
    Problem,
    extract::{Caller, Filter, Id, Ids, NoQuery},
    page::{BYTES, Paging},
    routes::api_router::{ApiRouter, routes},
    views::goals::AgentHistoryView,
};

type AgentHistoryPage = Page<AgentHistoryView>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(list_of_goal))
        .routes(routes!(get_of_goal))
        .routes(routes!(list_of_user_agent))
        .routes(routes!(get_of_user_agent))
}

/// Which archived conversations, newest first.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct FindHistories {
    /// Only those with all of these words in them; the last one may be the beginning of a word.
    query: Option<String>,
    /// Only those that were archived within the last day, week, month or year.
    #[param(value_type = Option<schema::Timeframe>)]
    timeframe: Option<Timeframe>,
    /// How many to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    cursor: Option<String>,
}

/// List or search the archived conversations about a goal, newest first
///
/// Each with its summary.
#[utoipa::path(
    get, path = "/api/goals/{id}/agent_histories", tag = "goals", operation_id = "listGoalHistories",
    params(("id" = schema::GoalId, Path, description = "The goal."), FindHistories),
    responses((status = 200, description = "A page of conversations.", body = AgentHistoryPage), Failures)
)]
async fn list_of_goal(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(query): Filter<FindHistories>,
) -> Answer<AgentHistoryPage> {
    goal(&caller.client, id).await?;
    list(&caller.client, id, query).await
}

/// Get an archived conversation about a goal; for the operator, with all that the model read and answered
#[utoipa::path(
    get, path = "/api/goals/{id}/agent_histories/{history}", tag = "goals", operation_id = "getGoalHistory",
    params(
        ("id" = schema::GoalId, Path, description = "The goal."),
        ("history" = schema::SessionId, Path, description = "The conversation."),
    ),
    responses((status = 200, description = "The conversation.", body = AgentHistoryView), Failures)
)]
async fn get_of_goal(
    caller: Caller,
    Ids(id, history): Ids<AgentId, SessionId>,
    _: NoQuery,
) -> Answer<AgentHistoryView> {
    goal(&caller.client, id).await?;
    get(&caller.client, id, history).await
}

/// List or search the archived conversations with the user agent, its feeds among them, newest first
#[utoipa::path(
    get, path = "/api/user_agent/agent_histories", tag = "goals", operation_id = "listUserAgentHistories",
    params(FindHistories),
    responses((status = 200, description = "A page of conversations.", body = AgentHistoryPage), Failures)
)]
async fn list_of_user_agent(
    caller: Caller,
    Filter(query): Filter<FindHistories>,
) -> Answer<AgentHistoryPage> {
    let of = user_agent(&caller.client).await?;
    list(&caller.client, of.agent, query).await
}

/// Get an archived conversation with the user agent; for the operator, with all that the model read and answered
#[utoipa::path(
    get, path = "/api/user_agent/agent_histories/{history}", tag = "goals",
    operation_id = "getUserAgentHistory",
    params(("history" = schema::SessionId, Path, description = "The conversation.")),
    responses((status = 200, description = "The conversation.", body = AgentHistoryView), Failures)
)]
async fn get_of_user_agent(
    caller: Caller,
    Id(history): Id<SessionId>,
    _: NoQuery,
) -> Answer<AgentHistoryView> {
    let of = user_agent(&caller.client).await?;
    get(&caller.client, of.agent, history).await
}

async fn list(client: &Client, agent: AgentId, query: FindHistories) -> Answer<AgentHistoryPage> {
    let FindHistories { query, timeframe, limit, cursor } = query;
    let paging = Paging::new(limit, cursor.as_deref())?;
    let (words, within) = (query.filter(|words| !words.trim().is_empty()), timeframe.unwrap_or_default());
    Ok(Json(paging.narrowed(|rows| client.sessions_within(agent, words, within, rows)).await?))
}

async fn get(client: &Client, agent: AgentId, history: SessionId) -> Answer<AgentHistoryView> {
    let session: Session = client.record(history).await?;
    if session.agent != agent {
        return Err(Problem::not_found(format!("there is no conversation `{history}`")));
    }
    // Users see messages, and never what a model has read, here as in inspections.
    if client.check_operator("read what a model has read").is_err() {
        return Ok(Json(AgentHistoryView::from(session)));
    }
    let (first, last) = session.items;
    let (mut items, mut from) = (Vec::new(), first);
    while from <= last {
        let query = ItemQuery { before: None, bytes: BYTES, ..ItemQuery::of(agent, from, u32::MAX) };
        let part = client.transcript_part(query).await?;
        let Some(end) = part.last().map(|item| item.seq) else { break };
        from = end + 1;
        items.extend(part.into_iter().take_while(|item| item.seq <= last));
    }
    Ok(Json(AgentHistoryView::whole(session, &items)))
}
