//! Messages about the documents of a project, each answered by what was done.

use axum::{
    extract::State,
    http::{HeaderValue, header::LINK},
    response::Response,
};
use entourage_api::{Act, NewAct, schema};
use entourage_engine::{self as engine, ActResult, Client};
use entourage_types::{AgentId, ProjectId};
use serde_json::{Value, json};

use super::{Conflict, Failures};
use crate::{
    Problem,
    extract::{Body, Caller, Id, IdempotencyKey},
    routes::acting::{ActRendering, Waiting, WantsEvents},
    routes::api_router::{ApiRouter, routes},
    state::AppState,
    views,
};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(act))
}

/// The documents of `/v1`, for the chat of this agent.
struct OfChat(AgentId);

impl ActRendering for OfChat {
    type View = Act;

    async fn view(&self, _: &Client, result: ActResult) -> engine::Result<Act> {
        Ok(views::act(self.0, result))
    }

    fn refusal(&self, problem: &Problem) -> Value {
        json!(problem.document)
    }
}

/// Say something about the documents of a project, and get the answer once it is done
///
/// The agent decides whether it answers, asks, edits a document or creates one. With `Accept: text/event-stream`,
/// server-sent events: `progress` (an `ActProgress`), `text` (an `ActText`, a piece of the answer), and at the end `done`
/// (an `Act`) or `error` (a `Problem`). A client that hangs up loses nothing: the answer is in the chat, and the same request
/// under the same `Idempotency-Key` gets it.
#[utoipa::path(
    post, path = "/v1/projects/{id}/acts", tag = "documents", operation_id = "act",
    params(("id" = schema::ProjectId, Path, description = "The project."), IdempotencyKey),
    request_body = NewAct,
    responses(
        (status = 200, description = "What it came to; a stream, if that was requested.",
         content((Act = "application/json"), (Act = "text/event-stream")),
         headers(("Link" = String, description = "The path of the chat's agent, with `rel=\"related\"`: known before the \
            answer."))),
        Failures, Conflict,
    )
)]
async fn act(
    caller: Caller,
    Id(project): Id<ProjectId>,
    key: IdempotencyKey,
    events: WantsEvents,
    State(served): State<AppState>,
    Body(new): Body<NewAct>,
) -> Result<Response, Problem> {
    let request = json!({ "project": project, "act": new }).to_string();
    let NewAct { message, chat, document } = new;
    let waiting = Waiting::begin(&caller.client, caller.until, served)?;
    let new = engine::NewAct { message, project: Some(project), chat, open: document };
    let accepted = waiting.client.act(new, key.once(&request)).await?;
    let mut response = waiting.respond(accepted, events, OfChat(accepted.chat)).await?;
    if let Ok(link) = HeaderValue::try_from(link(accepted.chat)) {
        response.headers_mut().insert(LINK, link);
    }
    Ok(response)
}

/// The value of the header that says which chat it is before there is an answer (RFC 8288).
fn link(chat: AgentId) -> String {
    format!("</v1/agents/{chat}>; rel=\"related\"")
}
