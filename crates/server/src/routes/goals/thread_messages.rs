//! The messages of a thread: send one, list them.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    str::FromStr,
};

use axum::{Json, extract::State, http::StatusCode};
use entourage_api::{Page, PageQuery, schema};
use entourage_engine::{Client, Entry, Error, ItemQuery, Page as Rows};
use entourage_types::{Agent, AgentId, Item, ItemBody, PostId, Step, StepState, TaskId, WaitingOn};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{Answer, Conflict, Failures, agent_task, goal, user_agent};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IdempotencyKey},
    page::{BYTES, Paging, page_of},
    routes::api_router::{ApiRouter, routes},
    state::AppState,
    views::goals::{Agentable, Change, Failing, ThreadMessageView, ThreadRenderer},
};

type ThreadMessagePage = Page<ThreadMessageView>;

/// How many items after a page are read at once for what the calls on it returned.
const AFTER: u32 = 64;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(send_to_goal, list_of_goal))
        .routes(routes!(list_of_task))
        .routes(routes!(send_to_user_agent, list_of_user_agent))
}

/// A message to send.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct SendThreadMessage {
    /// The text.
    #[schema(min_length = 1, pattern = r"\S")]
    content: String,
}

/// Send a message to the agent of a goal, which works on it in the background
#[utoipa::path(
    post, path = "/api/goals/{id}/thread_messages", tag = "goals", operation_id = "sendToGoal",
    params(("id" = schema::GoalId, Path, description = "The goal."), IdempotencyKey),
    request_body = SendThreadMessage,
    responses(
        (status = 201, description = "The message, which the agent reads in the background.", body = ThreadMessageView),
        Failures, Conflict,
    )
)]
async fn send_to_goal(
    caller: Caller,
    Id(id): Id<AgentId>,
    key: IdempotencyKey,
    State(served): State<AppState>,
    Body(message): Body<SendThreadMessage>,
) -> Result<(StatusCode, Json<ThreadMessageView>), Problem> {
    let (_, of) = goal(&caller.client, id).await?;
    send(&caller.client, &of, &key, &served, message).await
}

/// Send a message to the user agent, which works on it in the background
#[utoipa::path(
    post, path = "/api/user_agent/thread_messages", tag = "goals", operation_id = "sendToUserAgent",
    params(IdempotencyKey),
    request_body = SendThreadMessage,
    responses(
        (status = 201, description = "The message, which the agent reads in the background.", body = ThreadMessageView),
        Failures, Conflict,
    )
)]
async fn send_to_user_agent(
    caller: Caller,
    key: IdempotencyKey,
    State(served): State<AppState>,
    Body(message): Body<SendThreadMessage>,
) -> Result<(StatusCode, Json<ThreadMessageView>), Problem> {
    let of = user_agent(&caller.client).await?;
    send(&caller.client, &of, &key, &served, message).await
}

/// List the messages of a goal: the latest ones, oldest first
///
/// A page is made of at most `limit` entries of the transcript, so it may have fewer messages, or none; earlier ones are
/// on the next page. The first pages also have the messages that the agent has not read yet, which come after all others:
/// at most `limit` on a page.
#[utoipa::path(
    get, path = "/api/goals/{id}/thread_messages", tag = "goals", operation_id = "listGoalMessages",
    params(("id" = schema::GoalId, Path, description = "The goal."), PageQuery),
    responses((status = 200, description = "A page of messages.", body = ThreadMessagePage), Failures)
)]
async fn list_of_goal(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(query): Filter<PageQuery>,
) -> Answer<ThreadMessagePage> {
    let (_, of) = goal(&caller.client, id).await?;
    Ok(Json(page(&caller.client, &of, &Paging::of(&query)?).await?))
}

/// List the messages of a task: which tools its agent used, and what failed
#[utoipa::path(
    get, path = "/api/agent_tasks/{id}/thread_messages", tag = "goals", operation_id = "listAgentTaskMessages",
    params(("id" = schema::TaskId, Path, description = "The task."), PageQuery),
    responses((status = 200, description = "A page of messages.", body = ThreadMessagePage), Failures)
)]
async fn list_of_task(
    caller: Caller,
    Id(id): Id<TaskId>,
    Filter(query): Filter<PageQuery>,
) -> Answer<ThreadMessagePage> {
    let (_, of) = agent_task(&caller.client, id).await?;
    Ok(Json(page(&caller.client, &of, &Paging::of(&query)?).await?))
}

/// List the messages of the user agent: the latest ones, oldest first
#[utoipa::path(
    get, path = "/api/user_agent/thread_messages", tag = "goals", operation_id = "listUserAgentMessages",
    params(PageQuery),
    responses((status = 200, description = "A page of messages.", body = ThreadMessagePage), Failures)
)]
async fn list_of_user_agent(caller: Caller, Filter(query): Filter<PageQuery>) -> Answer<ThreadMessagePage> {
    let of = user_agent(&caller.client).await?;
    Ok(Json(page(&caller.client, &of, &Paging::of(&query)?).await?))
}

async fn send(
    client: &Client,
    of: &Agentable,
    key: &IdempotencyKey,
    served: &AppState,
    message: SendThreadMessage,
) -> Result<(StatusCode, Json<ThreadMessageView>), Problem> {
    let posted = client.send(of.agent, &message.content, key.as_deref()).await?;
    // With a key it may have come before, and have been read since.
    let processed = match key.as_deref() {
        Some(_) => client.unread(of.agent).await?.iter().all(|entry| entry.post != Some(posted.post)),
        None => false,
    };
    let now = served.engine.clock().now();
    let view = ThreadMessageView::taken(of, posted, message.content, processed, now);
    Ok((StatusCode::CREATED, Json(view)))
}

/// A page of a thread.
pub(super) async fn page(
    client: &Client,
    of: &Agentable,
    paging: &Paging,
) -> Result<ThreadMessagePage, Problem> {
    let (before, limit) = paging.items::<Before>()?;
    // The inbox before the items: a message that the agent reads meanwhile is found twice, and never missing.
    let (unread, item) = match before {
        None => (client.unread(of.agent).await?, None),
        Some(Before::Unread(post)) => {
            let unread = client.unread(of.agent).await?;
            // Once the agent has read it, it has read those before it, and they are in the transcript.
            let end = unread.iter().position(|entry| entry.post == Some(post)).unwrap_or(0);
            (unread.into_iter().take(end).collect(), None)
        }
        Some(Before::Item(number)) => (Vec::new(), Some(number)),
    };
    let (unread, is_all) = last_of(unread, limit);
    if let Some(first) = unread.first().and_then(|first| first.post).filter(|_| !is_all) {
        return Ok(page_of(unread_views(of, unread), Some(Before::Unread(first))));
    }
    let (messages, from) = items_page(client, of, (item, limit), unread).await?;
    Ok(page_of(messages, (from > 0).then_some(Before::Item(from))))
}

/// The latest messages of a thread, with the latest of those that the agent has not read yet, and which it has not read in
/// all.
pub(super) async fn latest(
    client: &Client,
    of: &Agentable,
    paging: &Paging,
) -> Result<(Vec<ThreadMessageView>, HashSet<PostId>), Problem> {
    let (_, limit) = paging.items::<u64>()?;
    let unread = client.unread(of.agent).await?;
    let ids = unread.iter().filter_map(|entry| entry.post).collect();
    let (unread, _) = last_of(unread, limit);
    Ok((items_page(client, of, (None, limit), unread).await?.0, ids))
}

/// Where a page of a thread ended: the messages that the agent has not read come last, after those of its transcript.
#[derive(Debug, Clone, Copy)]
enum Before {
    /// Before the item with this number.
    Item(u64),
    /// Before this message, which the agent had not read.
    Unread(PostId),
}

impl fmt::Display for Before {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Item(number) => number.fmt(f),
            Self::Unread(post) => post.fmt(f),
        }
    }
}

impl FromStr for Before {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let item = text.parse().ok().map(Self::Item);
        item.or_else(|| text.parse().ok().map(Self::Unread)).ok_or(())
    }
}

/// The last of these entries that fit on a page, and whether these are all.
fn last_of(mut entries: Vec<Entry>, limit: u32) -> (Vec<Entry>, bool) {
    let (mut bytes, all) = (0, entries.len());
    let fits = |entry: &&Entry| {
        let is_first = bytes == 0;
        bytes += entry.text.len();
        is_first || bytes <= BYTES
    };
    let shown = entries.iter().rev().take(limit as usize).take_while(fits).count();
    (entries.split_off(all - shown), shown == all)
}

/// The messages of the items of a page, before the item with this number, and those that are not read yet; with the number
/// of the page's first item.
async fn items_page(
    client: &Client,
    of: &Agentable,
    (before, limit): (Option<u64>, u32),
    unread: Vec<Entry>,
) -> Result<(Vec<ThreadMessageView>, u64), Problem> {
    let agent = client.agent(of.agent).await?;
    let part = ItemQuery {
        before: Some(before.unwrap_or(u64::MAX)),
        bytes: BYTES,
        ..ItemQuery::of(of.agent, 0, limit)
    };
    let items = client.transcript_part(part).await?;
    let from = items.first().map_or(0, |first| first.seq);
    let mut renderer = ThreadRenderer::new(of.clone());
    let mut shown = Shown::default();
    items.iter().flat_map(|item| renderer.item(item)).for_each(|change| shown.put(change));
    if let Some(mut next) = before.filter(|_| renderer.has_open()) {
        // What the calls on this page returned: before the next turn each call has its output.
        loop {
            let after = client.items(of.agent, next, AFTER).await?;
            let outputs = after.iter().take_while(|item| !is_turn(item));
            outputs.flat_map(|item| renderer.item(item)).for_each(|change| shown.update(change));
            match after.last() {
                Some(last) if !after.iter().any(is_turn) => next = last.seq + 1,
                _ => break,
            }
        }
    }
    if renderer.has_open() {
        let asked = client.questions_of(of.agent).await?;
        asked
            .iter()
            .filter_map(|question| renderer.question(question))
            .for_each(|change| shown.update(change));
        // Those that have ended before the others of their turn.
        let run = items.iter().rfind(|item| is_turn(item)).map(|turn| turn.run);
        let ahead = match run {
            Some(run) => client.calls_ahead(run).await?,
            None => Vec::new(),
        };
        let ended = ahead.iter().filter_map(|step| Some(renderer.ended(step.output()?, step.updated)));
        ended.flatten().for_each(|change| shown.update(change));
    }
    if before.is_none() {
        if let Some(failing) = failing(client, &agent, &renderer).await? {
            shown.put(Change::Message(failing));
        }
        unread_views(of, unread).into_iter().for_each(|message| shown.add(message));
    }
    Ok((shown.messages, from))
}

/// Messages that the agent has not read yet.
pub(super) fn unread_views(of: &Agentable, unread: Vec<Entry>) -> Vec<ThreadMessageView> {
    let view = |entry: Entry| Some(ThreadMessageView::unread(of, entry.post?, entry.text, entry.at));
    unread.into_iter().filter_map(view).collect()
}

/// Whether an item is an answer of the model, before which each call of earlier ones has its output.
pub(super) const fn is_turn(item: &Item) -> bool {
    matches!(item.body, ItemBody::Turn(_))
}

/// The message about the attempt that failed last, while the next one is waited for.
async fn failing(
    client: &Client,
    agent: &Agent,
    renderer: &ThreadRenderer,
) -> Result<Option<ThreadMessageView>, Error> {
    if agent.waiting_on != Some(WaitingOn::Retry) {
        return Ok(None);
    }
    let last = Rows { newest_first: true, limit: 1, ..Rows::default() };
    let Some(run) = client.runs(agent.id, last).await?.pop() else { return Ok(None) };
    let step = client.retried_turn(run.id).await?;
    Ok(step.as_ref().and_then(failed).map(|failing| renderer.failing(&failing)))
}

/// The attempt that failed last, if a step is followed by another one. A call that waits for room in a budget has not
/// failed.
fn failed(step: &Step) -> Option<Failing<'_>> {
    let StepState::Retry(retry) = &step.state else { return None };
    if retry.shortage.is_some() {
        return None;
    }
    Some(Failing {
        run: step.run,
        attempt: step.attempt,
        error: &retry.error,
        class: retry.failed.last().and_then(|failed| failed.class),
        due: retry.due,
        at: step.updated,
    })
}

/// The messages of a page, each once, as it is in the end.
#[derive(Default)]
struct Shown {
    messages: Vec<ThreadMessageView>,
    at: HashMap<String, usize>,
}

impl Shown {
    /// Adds or replaces a message.
    fn put(&mut self, change: Change) {
        let Change::Message(message) = change else { return };
        match self.at.get(&message.id) {
            Some(at) => self.messages[*at] = message,
            // A failure that was overcome is not shown.
            None if message.metadata.resolved.is_some() => {}
            None => self.add(message),
        }
    }

    /// Replaces a message that is on the page.
    fn update(&mut self, change: Change) {
        if matches!(&change, Change::Message(message) if self.at.contains_key(&message.id)) {
            self.put(change);
        }
    }

    /// Adds a message, unless it is there already.
    fn add(&mut self, message: ThreadMessageView) {
        if !self.at.contains_key(&message.id) {
            self.at.insert(message.id.clone(), self.messages.len());
            self.messages.push(message);
        }
    }
}
