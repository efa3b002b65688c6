//! Agencies: agents that write to each other along a chart. A message to one is answered in one response or
//! as a stream.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use entourage_api::{
    Agency, AgencyChat, AgencyResponse, List, Page, PageQuery, Question, Respond, RunItem, Thread,
};
use entourage_engine::{
    ChatMessage,
    responses::{Follow, RunResult, StreamEvent},
};
use entourage_types::{CallId, RunOptions};
use tokio_util::sync::CancellationToken;

use super::{Answer, Conflict, Failures};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IdempotencyKey, Names},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
    routes::sse::{EventSource, ended, frame, streamed},
    state::AppState,
    views,
};

type AgencyList = List<Agency>;
type ThreadList = List<Thread>;
type AgencyChatPage = Page<AgencyChat>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(respond))
        .routes(routes!(threads))
        .routes(routes!(chats))
        .routes(routes!(delete_chat))
}

/// List agencies, by name
#[utoipa::path(
    get, path = "/v1/agencies", tag = "agencies", operation_id = "listAgencies",
    responses((status = 200, description = "All agencies.", body = AgencyList), Failures)
)]
pub(crate) async fn list(caller: Caller) -> Json<AgencyList> {
    Json(caller.client.agencies().into_iter().map(views::agency).collect())
}

/// Get an agency: its agents, its chart
#[utoipa::path(
    get, path = "/v1/agencies/{name}", tag = "agencies", operation_id = "getAgency",
    params(("name" = String, Path, description = "Its name.", max_length = 255)),
    responses((status = 200, description = "The agency.", body = Agency), Failures)
)]
pub(crate) async fn get(caller: Caller, Id(name): Id<String>) -> Answer<Agency> {
    Ok(Json(views::agency(caller.client.agency(&name)?)))
}

/// Send a message to an agency and get the answer
///
/// With `stream`, server-sent events: `item` (a `RunItem`, of the agent that was asked or of one that works
/// for it), `text` (a `RunText`, a piece of an answer under way), `question` (a `Question` that must be
/// answered before the run continues), and at the end `done` or `error` (an `AgencyResponse`). The same
/// message under the same `Idempotency-Key` is delivered once; sending it again follows the same run.
#[utoipa::path(
    post, path = "/v1/agencies/{name}/responses", tag = "agencies", operation_id = "createAgencyResponse",
    params(("name" = String, Path, description = "The agency's name.", max_length = 255), IdempotencyKey),
    request_body = Respond,
    responses(
        (status = 200, description = "The answer, or why there is none; the text alone, or a stream, if that \
            was requested.", content(
                (AgencyResponse = "application/json"),
                (String = "text/plain"),
                (RunItem = "text/event-stream"),
            )),
        (status = 202, description = "The run continues once its questions are answered.", body = AgencyResponse),
        Failures,
        Conflict,
    )
)]
pub(crate) async fn respond(
    caller: Caller,
    Id(name): Id<String>,
    key: IdempotencyKey,
    axum::extract::State(served): axum::extract::State<AppState>,
    Body(said): Body<Respond>,
) -> Result<Response, Problem> {
    // First, so that a refusal leaves no message behind.
    let (client, opened) = served.streams.open(&caller.client)?;
    // The same message under the same key is in the same chat.
    let new_chat = || key.as_deref().map_or_else(|| CallId::new().to_string(), str::to_owned);
    let chat_id = addressable(said.chat_id.unwrap_or_else(new_chat))?;
    let speech = ChatMessage {
        chat: chat_id.clone(),
        to: said.agent.unwrap_or_default(),
        from: said.sender_name,
        text: said.message,
        options: RunOptions {
            about: None,
            depth: said.current_depth,
            max_steps: said.max_steps,
            max_depth: said.max_recursion_depth,
            validator: said.response_validator,
        },
    };
    let stays = served.shutdown.child_token();
    if said.detached.unwrap_or(key.as_deref().is_some()) {
        stays.cancel();
    }
    let follow = client.respond(&name, speech, key.as_deref(), stays.clone()).await?;
    let heard = AgencyAnswer { follow, stays: stays.clone(), chat_id };
    let (heartbeat, shutdown) = (served.heartbeat, served.shutdown.clone());
    if said.stream {
        let ended = ended(caller.until, served);
        // The server disconnects here, not the client, so the run must continue.
        let ended = async move {
            ended.await;
            stays.cancel();
        };
        return Ok(streamed(heard, opened, heartbeat, ended));
    }
    let answer = tokio::select! {
        answer = whole(heard) => answer?,
        () = shutdown.cancelled() => {
            return Err(Problem::stopping("the message is answered after the next start; ask again then"));
        }
    };
    match answer {
        (status, response) if said.text_only && status == StatusCode::OK => {
            views::final_text(response).map(IntoResponse::into_response)
        }
        answer => Ok((answer.0, Json(answer.1)).into_response()),
    }
}

/// Refuses the name of a chat that has no path of its own: clients resolve such a segment before they ask.
fn addressable(chat_id: String) -> Result<String, Problem> {
    match chat_id.as_str() {
        "." | ".." => Err(Problem::invalid(format!(
            "no chat can be called `{chat_id}`: clients leave it out of a path. Give another `chat_id`"
        ))),
        _ => Ok(chat_id),
    }
}

/// An answer that a client waits for.
struct AgencyAnswer {
    follow: Follow,
    /// Cancelled once the run continues even if no client waits.
    stays: CancellationToken,
    chat_id: String,
}

impl EventSource for AgencyAnswer {
    type Input = StreamEvent;

    async fn next(&mut self) -> entourage_engine::Result<Option<StreamEvent>> {
        let event = self.follow.next().await.transpose()?;
        // A question waits for a person, who may take longer than any connection.
        if let Some(StreamEvent::Question(_)) = event {
            self.stays.cancel();
        }
        Ok(event)
    }

    async fn encode(&mut self, event: StreamEvent, frames: &mut Vec<u8>) -> entourage_engine::Result<()> {
        let ended = |result: Box<RunResult>| views::ended(self.chat_id.clone(), *result);
        match event {
            StreamEvent::Item(item) => frame(frames, None, "item", &views::run_item(item))?,
            StreamEvent::Text { origin, text } => {
                frame(frames, None, "text", &views::run_text(origin, Some(text)))?
            }
            StreamEvent::Void { origin } => frame(frames, None, "text", &views::run_text(origin, None))?,
            StreamEvent::Question(question) => {
                frame(frames, None, "question", &Question::from(*question))?;
            }
            StreamEvent::Done(result) => frame(frames, None, "done", &ended(result))?,
            StreamEvent::Error(result) => frame(frames, None, "error", &ended(result))?,
        }
        Ok(())
    }
}

/// Waits for the end, or for a question.
async fn whole(mut heard: AgencyAnswer) -> Result<(StatusCode, AgencyResponse), Problem> {
    while let Some(event) = heard.next().await? {
        match event {
            StreamEvent::Done(result) | StreamEvent::Error(result) => {
                return Ok((StatusCode::OK, views::ended(heard.chat_id, *result)));
            }
            StreamEvent::Question(question) => {
                let usage = heard.follow.usage().await?;
                return Ok((StatusCode::ACCEPTED, views::asking(heard.chat_id, *question, usage)));
            }
            StreamEvent::Item(_) | StreamEvent::Text { .. } | StreamEvent::Void { .. } => {}
        }
    }
    Err(Problem::internal("the answer broke off; the server's log may have the cause"))
}

/// List the chats of an agency that were not deleted, in no particular order
///
/// Where few of many chats are of this agency, a page has fewer entries, or none; the next page goes on from there.
#[utoipa::path(
    get, path = "/v1/agencies/{name}/chats", tag = "agencies", operation_id = "listAgencyChats",
    params(("name" = String, Path, description = "The agency's name.", max_length = 255), PageQuery),
    responses((status = 200, description = "A page of chats.", body = AgencyChatPage), Failures)
)]
pub(crate) async fn chats(
    caller: Caller,
    Id(name): Id<String>,
    Filter(query): Filter<PageQuery>,
) -> Answer<AgencyChatPage> {
    Ok(Json(Paging::of(&query)?.narrowed(|page| caller.client.agency_chats(&name, page)).await?))
}

/// Delete a chat of an agency
///
/// Its agents end for good; their transcripts stay readable. The next message under its name begins a new
/// chat.
#[utoipa::path(
    delete, path = "/v1/agencies/{name}/chats/{chat}", tag = "agencies", operation_id = "deleteAgencyChat",
    params(
        ("name" = String, Path, description = "The agency's name.", max_length = 255),
        ("chat" = String, Path, description = "The chat's name.", max_length = 255),
    ),
    responses((status = 204, description = "The chat is deleted."), Failures)
)]
async fn delete_chat(caller: Caller, Names(name, chat): Names) -> Result<StatusCode, Problem> {
    caller.client.delete_agency_chat(&name, &chat).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the threads of a chat of an agency, oldest first
#[utoipa::path(
    get, path = "/v1/agencies/{name}/chats/{chat}/threads", tag = "agencies", operation_id = "listThreads",
    params(
        ("name" = String, Path, description = "The agency's name.", max_length = 255),
        ("chat" = String, Path, description = "The chat's name.", max_length = 255),
    ),
    responses((status = 200, description = "All threads; none if the chat has no message yet.", body = ThreadList), Failures)
)]
pub(crate) async fn threads(caller: Caller, Names(name, chat): Names) -> Answer<ThreadList> {
    Ok(Json(caller.client.threads(&name, &chat).await?.into_iter().map(views::thread).collect()))
}
