//! The description of the API: OpenAPI 3.1, made from the handlers themselves.

use std::sync::OnceLock;

use axum::{
    http::{HeaderName, header::CONTENT_TYPE},
    routing::get,
};
use utoipa::{
    Modify, OpenApi,
    openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
};

use super::failures;
use crate::{
    Problem, router,
    views::{
        CaughtUpView, DeltaView,
        chats::{ChatDeltaView, ToolCallDocument},
    },
};

/// The description without its paths, which the routes bring.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Entourage",
        description = "Durable LLM agents: talk to one, watch its tree at work, answer its questions, \
                       read what it did. Requests fail with problem documents (RFC 9457). Lists are newest \
                       first; `next_cursor` leads to the next page. A POST that takes an \
                       `Idempotency-Key` happens once, however often it is sent; a question is answered \
                       once by itself.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "chats", description = "An orchestrator that leads a chat, and its sub-agents."),
        (name = "agents", description = "Make agents, talk to them, watch them."),
        (name = "runs", description = "What agents did, step by step, and what it used."),
        (name = "questions", description = "What only a person can answer."),
        (name = "work", description = "What agents gave each other to do, and wrote down."),
        (name = "memory", description = "What agents remember."),
        (name = "kinds", description = "What sorts of agents there are."),
        (name = "webhooks", description = "What other programs tell the engine, signed after Standard Webhooks."),
        (name = "operations", description = "For whoever runs the engine."),
    ),
    components(schemas(Problem, CaughtUpView, DeltaView, ChatDeltaView, ToolCallDocument)),
    security(("token" = [])),
    modifiers(&Common),
)]
pub(crate) struct Description;

/// What the operations have in common: how to say who asks, and how requests fail.
struct Common;

impl Modify for Common {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .description(Some("`sub` is the owner, `exp` is required. A engine on loopback may need none."))
            .build();
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme));
        components.responses.extend(failures::described());
    }
}

/// The description of the whole API.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    router::described().into_openapi()
}

/// The description as `docs/openapi.json` holds it: indented, with a newline at its end.
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

/// For whoever opens the address of a server in a browser.
const HOME: &str = concat!(
    "entourage ",
    env!("CARGO_PKG_VERSION"),
    ": durable LLM agents\n\n",
    "/openapi.json  describes the API: every path, what it takes and answers\n",
    "/v1/agents     agents; POST {\"message\": \"...\"} makes one\n",
    "/api/chats     chats with an orchestrator\n",
    "/healthz       204 while the process is up\n",
    "/readyz        204 when the store answers\n",
    "/metrics       what was measured, for Prometheus\n\n",
    "Documentation: README.md and docs/ of the program's source; `entourage help` and `entourage settings`\n",
    "on the command line. What needs a token says so with 401: `entourage token` makes one.\n",
);

async fn home() -> ([(HeaderName, &'static str); 1], &'static str) {
    ([(CONTENT_TYPE, "text/plain; charset=utf-8")], HOME)
}

async fn served() -> ([(HeaderName, &'static str); 1], &'static str) {
    static TEXT: OnceLock<String> = OnceLock::new();
    ([(CONTENT_TYPE, "application/json")], TEXT.get_or_init(openapi_json))
}
