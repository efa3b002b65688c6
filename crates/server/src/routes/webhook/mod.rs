//! The webhooks with which other programs drive the engine: each delivers a document that was just written,
//! and makes the engine look for work. The engine does not repeat work that it has done, so a document may
//! arrive twice, late, or in any order.

mod agent_init;
mod agent_loop;
mod finalize;
mod notify;
mod orchestrator;
mod tool_runner;

use std::str::FromStr;

use axum::Json;
use entourage_api::schema;
use entourage_engine::{Client, Error, Posted};
use entourage_types::{AgentId, PostId, QuestionId};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use utoipa::{
    IntoParams, ToSchema,
    openapi::{
        Required,
        path::{Parameter, ParameterBuilder, ParameterIn},
        schema::{ObjectBuilder, Type},
    },
};

use super::{
    Routes,
    failures::{Conflict, Failures},
};
use crate::{Problem, views::chats::ChatMessageView, webhook::Signed};

/// What every handler returns.
type Answer = Result<Json<Outcome>, Problem>;

pub(crate) const ROUTES: &[Routes] = &[
    orchestrator::routes,
    agent_init::routes,
    agent_loop::routes,
    tool_runner::routes,
    finalize::routes,
    notify::routes,
];

/// The outcome of a webhook.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookOutcome)]
#[serde(tag = "outcome", rename_all = "snake_case")]
enum Outcome {
    /// The message was accepted, now or when it arrived before.
    Posted {
        /// The post that holds it until it is read.
        #[schema(value_type = schema::PostId)]
        post: PostId,
    },
    /// The agent was woken, to look for work.
    Woken {
        /// The agent.
        #[schema(value_type = schema::AgentId)]
        agent: AgentId,
    },
    /// The main chat shows these messages to the user.
    Notified {
        /// One for each open question of the task.
        notifications: Vec<ChatMessageView>,
    },
    /// There is nothing to do.
    Ignored {
        /// Why not.
        reason: String,
    },
}

/// A task document that was written.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = WebhookTask)]
#[serde(expecting = "an object")]
struct WrittenTask {
    /// Its id.
    #[serde(deserialize_with = "lenient")]
    id: String,
    /// Its status: `success` is reported to the user, `waiting` asks the user.
    #[serde(default, deserialize_with = "lenient")]
    #[schema(required = true)]
    status: String,
}

/// The headers of a webhook.
struct Headers;

impl IntoParams for Headers {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let header = |name: &str, what: &str| {
            let named = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Header);
            named
                .required(Required::True)
                .description(Some(what))
                .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
                .build()
        };
        vec![
            header("webhook-id", "The webhook's id, the same when it is sent again."),
            header("webhook-timestamp", "When it was signed, in seconds since 1970-01-01T00:00:00Z."),
            header(
                "webhook-signature",
                "`v1,` and, in base64, the HMAC-SHA256 of id, timestamp and body, joined by dots.",
            ),
        ]
    }
}

/// The answer for a message that was sent. A trigger reports a message again when it is changed, which is ignored.
fn posted(sent: Result<Posted, Error>) -> Answer {
    match sent {
        Ok(Posted { post, .. }) => Ok(Json(Outcome::Posted { post })),
        Err(Error::KeyReused) => {
            ignored("a message with this id was posted before; changes to it are ignored")
        }
        Err(error) => Err(error.into()),
    }
}

fn ignored(reason: impl Into<String>) -> Answer {
    Ok(Json(Outcome::Ignored { reason: reason.into() }))
}

/// Wakes an agent, once per webhook.
async fn wake(client: &Client, webhook: &str, agent: AgentId) -> Answer {
    match client.wake(agent, Some(&format!("webhook {webhook}"))).await? {
        true => Ok(Json(Outcome::Woken { agent })),
        false => ignored("the agent has nothing to do"),
    }
}

/// The longest id of a document, in bytes.
const LONGEST_ID: usize = 255;

/// The idempotency key of a document.
fn key_of(document: &str) -> Result<String, Problem> {
    if document.len() > LONGEST_ID {
        let length = document.len();
        return Err(Problem::bad_body(format!("`id` has {length} bytes; at most {LONGEST_ID} are taken")));
    }
    Ok(format!("document {document}"))
}

/// Parses a document's id; `None` if another program assigned it, whose documents this engine ignores.
fn ours<T: FromStr>(id: &str) -> Option<T> {
    id.parse().ok()
}

/// Reads a field that another program wrote: a text, or a number as text; anything else as an empty text.
fn lenient<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text,
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    })
}

/// The outcome for another program's document: there is nothing to do.
fn not_ours() -> Answer {
    ignored("the document is not one of this server")
}

/// Whether the engine itself wrote the message with this id, and so has handled it.
fn is_ours(id: &str) -> bool {
    let noun = id.split('.').next().unwrap_or_default();
    noun.parse::<AgentId>().is_ok() || noun.parse::<PostId>().is_ok() || noun.parse::<QuestionId>().is_ok()
}
