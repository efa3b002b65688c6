//! The description of the API: OpenAPI 3.1, generated from the handlers.

use std::sync::OnceLock;

use axum::{
    http::{
        HeaderMap, HeaderName,
        header::{ACCEPT, CONTENT_TYPE},
    },
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use entourage_api::{
    CaughtUp, Delta, Hello, Problem,
    schema::{
        AgentOrder, DocumentNumber, EventName, ExplorerAgentId, ProjectChatNumber, ProjectNumber,
        QuestionOrder, Timeframe,
    },
};
use utoipa::{
    Modify, OpenApi,
    openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
};

use super::{
    acting::{ActProgress, ActText},
    document_agent, failures,
};
use crate::{
    problem::{Detail, ValidationDetail},
    router,
    views::{
        chats::{ChatDeltaView, ToolCallDocument},
        goals::{ThinkView, ToolCompleteView, ToolStartView},
    },
};

/// The description without its paths, which the routes add.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Entourage",
        description = "Durable LLM agents: talk to one, watch its tree at work, answer its questions, \
                       read what it did. Requests fail with problem documents (RFC 9457). Lists are newest \
                       first; `next_cursor` leads to the next page. A POST that takes an \
                       `Idempotency-Key` happens once, however often it is sent; a question takes one \
                       answer even without a key.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "chats", description = "An orchestrator that leads a chat, and its sub-agents."),
        (name = "document agent", description = "An agent that edits the documents of a project. Ids are integers, \
            requests fail with `{\"detail\": …}`, and lists are in the order of their ids."),
        (name = "goals", description = "Goals that an agent works towards for months, their tasks, and the one agent of \
            the user: threads of messages, streamed."),
        (name = "documents", description = "Projects, documents with versions, and messages about them."),
        (name = "explorations", description = "Agents that explore, in one tree: streamed, overridden, answered."),
        (name = "agencies", description = "Agencies: a chart of agents, asked as one, by response or stream."),
        (name = "agents", description = "Create agents, write to them, follow them."),
        (name = "runs", description = "What agents did, step by step, and what it used."),
        (name = "questions", description = "Questions that only a person can answer, and grants."),
        (name = "work", description = "Tasks that agents delegate to each other, and the notes that they write."),
        (name = "schedules", description = "Triggers, and the schedules that set agents to work by themselves."),
        (name = "memory", description = "What agents remember."),
        (name = "kinds", description = "The kinds of agents."),
        (name = "mcp servers", description = "The MCP servers that agents may use: switches, and the secrets that servers are given."),
        (name = "accounts", description = "Register and log in, on servers that allow it."),
        (name = "webhooks", description = "Webhooks to the server, signed after Standard Webhooks, and receivers of its own."),
        (name = "operations", description = "For the operator: health, metrics and maintenance."),
    ),
    components(schemas(Problem, CaughtUp, Delta, Hello, AgentOrder, ExplorerAgentId, QuestionOrder, EventName, ChatDeltaView, ToolCallDocument, ActProgress, ActText, Detail, ValidationDetail,
        ProjectNumber, DocumentNumber, ProjectChatNumber, Timeframe, ThinkView, ToolStartView, ToolCompleteView)),
    security(("token" = [])),
    modifiers(&Common),
)]
pub(crate) struct Description;

/// What all operations have in common: how callers authenticate, and how requests fail.
struct Common;

impl Modify for Common {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .description(Some("`sub` is the owner, `exp` is required. A server on loopback may need none."))
            .build();
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme));
        components.responses.extend(failures::described());
        components.responses.extend(document_agent::described());
    }
}

/// Returns the description of the whole API.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    let mut openapi = router::described();
    failures::describe_pages(&mut openapi);
    openapi
}

/// Returns the description as in `docs/openapi.json`: indented, with a newline at its end.
#[must_use]
pub fn openapi_json() -> String {
    // Only maps with keys other than strings fail to serialise, and there are none.
    let mut text = openapi().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> axum::Router<S> {
    axum::Router::new().route("/openapi.json", get(served)).route("/", get(home))
}

/// The text for whoever asks for the server's address without a browser.
const HOME: &str = concat!(
    "entourage ",
    env!("CARGO_PKG_VERSION"),
    ": durable LLM agents\n\n",
    "/console       see, answer and steer everything in a browser\n",
    "/openapi.json  describes the API: every path, what it takes and answers\n",
    "/v1/agents     agents; POST {\"message\": \"...\"} creates one\n",
    "/api/chats     chats with an orchestrator\n",
    "/api/goals     goals, each with an agent of its own\n",
    "/healthz       204 while the process is up\n",
    "/readyz        204 when the store answers\n",
    "/metrics       metrics for Prometheus\n\n",
    "Documentation: README.md and docs/ of the program's source; `entourage help` and `entourage settings`\n",
    "on the command line. What needs a token says so with 401: `entourage token` makes one.\n",
);

/// Leads a browser to the console.
async fn home(headers: HeaderMap) -> Response {
    let is_browser = headers.get(ACCEPT).is_some_and(|types| types.as_bytes().starts_with(b"text/html"));
    if is_browser {
        return Redirect::temporary("/console").into_response();
    }
    ([(CONTENT_TYPE, "text/plain; charset=utf-8")], HOME).into_response()
}

async fn served() -> ([(HeaderName, &'static str); 1], &'static str) {
    static TEXT: OnceLock<String> = OnceLock::new();
    ([(CONTENT_TYPE, "application/json")], TEXT.get_or_init(openapi_json))
}
