//! A message about documents, and what it comes to.

use axum::{extract::State, response::Response};
use entourage_engine::{self as engine, ActResult, Client, NewAct};
use entourage_types::ProjectChat;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::failures::{Details, InConflict, NoProject};
use crate::{
    Problem,
    extract::{Body, Caller, IdempotencyKey},
    routes::acting::{ActRendering, Waiting, WantsEvents},
    routes::api_router::{ApiRouter, routes},
    state::AppState,
    views::document_agent::ActView,
};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(act))
}

/// A message to act upon (S5-R002).
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct ActRequest {
    /// What is to be done, or a question.
    #[schema(min_length = 1, pattern = r"\S")]
    message: String,
    /// The project; needed to begin a chat.
    project_id: Option<u64>,
    /// The document that the user has open: a hint.
    document_id: Option<u64>,
    /// The chat that it continues, if it is one of this project; a new chat otherwise.
    chat_id: Option<u64>,
}

/// The documents of this surface, for the chat with this number.
struct OfChat(u64);

impl ActRendering for OfChat {
    type View = ActView;

    async fn view(&self, client: &Client, result: ActResult) -> engine::Result<ActView> {
        ActView::of(client, self.0, result).await
    }

    fn refusal(&self, problem: &Problem) -> Value {
        json!({ "detail": problem.document.detail })
    }
}

/// Act upon a message: answer it, ask, edit a document, or create one
///
/// With `Accept: text/event-stream`, server-sent events: `progress` (an `ActProgress`), `text` (an `ActText`, a piece of
/// the answer), and at the end `done` (the same as the response otherwise) or `error` (a `Detail`). A client that hangs up
/// loses nothing: the answer is in the chat, and the same request under the same `Idempotency-Key` gets it.
#[utoipa::path(
    post, path = "/api/agent/act", tag = "document agent", operation_id = "actOnMessage", params(IdempotencyKey),
    request_body = ActRequest,
    responses(
        (status = 200, description = "What it came to; a stream, if that was requested.",
         content((ActView = "application/json"), (ActView = "text/event-stream"))),
        Details, NoProject, InConflict,
    )
)]
async fn act(
    caller: Caller,
    key: IdempotencyKey,
    events: WantsEvents,
    State(served): State<AppState>,
    Body(request): Body<ActRequest>,
) -> Result<Response, Problem> {
    if request.message.trim().is_empty() {
        return Err(Problem::invalid("the message is blank; say what is to be done").at("message"));
    }
    let waiting = Waiting::begin(&caller.client, caller.until, served)?;
    let client = &waiting.client;
    let whole = json!(request).to_string();
    let once = key.once(&whole);
    let before = match once {
        Some(once) => client.accepted_act(once).await?,
        None => None,
    };
    let accepted = match before {
        Some(accepted) => accepted,
        None => client.act(found(client, request).await?, once).await?,
    };
    let chat = client.record::<ProjectChat>(accepted.chat).await?;
    waiting.respond(accepted, events, OfChat(chat.number)).await
}

/// The message, with what its numbers stand for.
async fn found(client: &Client, request: ActRequest) -> engine::Result<NewAct> {
    let ActRequest { message, project_id, document_id, chat_id } = request;
    let project = match project_id {
        Some(number) => Some(client.project_numbered(number).await?.id),
        None => None,
    };
    let chat = match chat_id {
        Some(number) => known(client.project_chat_numbered(number).await)?.map(|chat| chat.agent),
        None => None,
    };
    let open = match document_id {
        Some(number) => known(client.document_numbered(number).await)?.map(|document| document.id),
        None => None,
    };
    Ok(NewAct { message, project, chat, open })
}

/// What is missing is not there: an unknown chat begins a new one, an unknown document is no hint.
fn known<T>(found: engine::Result<T>) -> engine::Result<Option<T>> {
    match found {
        Err(engine::Error::NotFound { .. }) => Ok(None),
        found => found.map(Some),
    }
}
