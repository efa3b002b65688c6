//! The webhooks that other programs drive the engine by: each brings a document that was just written,
//! and has the engine look. What the engine has seen to already it does not do again, so a document may
//! come twice, late, or in any order.

mod agent_init;
mod agent_loop;
mod finalize;
mod notify;
mod orchestrator;
mod tool_runner;

use std::str::FromStr;

use axum::Json;
use entourage_engine::Client;
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
use utoipa_axum::router::OpenApiRouter;

use super::failures::{Conflict, Failures};
use crate::{
    Problem,
    state::Served,
    views::{chats::ChatMessageView, schema},
    webhook::Signed,
};

/// What every handler returns.
type Answer = Result<Json<Outcome>, Problem>;

pub(crate) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new()
        .merge(orchestrator::routes())
        .merge(agent_init::routes())
        .merge(agent_loop::routes())
        .merge(tool_runner::routes())
        .merge(finalize::routes())
        .merge(notify::routes())
}

/// What came of a webhook.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookOutcome)]
#[serde(tag = "outcome", rename_all = "snake_case")]
enum Outcome {
    /// The message was taken, now or when it came before.
    Posted {
        /// The post by which it waits to be read.
        #[schema(value_type = schema::PostId)]
        post: PostId,
    },
    /// The agent looks whether there is something for it.
    Woken {
        /// Which agent.
        #[schema(value_type = schema::AgentId)]
        agent: AgentId,
    },
    /// What the main chat shows to the user.
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

/// A task, as it was written.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = WebhookTask)]
#[serde(expecting = "an object")]
struct WrittenTask {
    /// Its id.
    #[serde(deserialize_with = "lenient")]
    id: String,
    /// Where it stood: `success` is told to the user, `waiting` asks them.
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
            header("webhook-id", "The id by which the same webhook is known when it comes again."),
            header("webhook-timestamp", "When it was signed, in seconds since 1970-01-01T00:00:00Z."),
            header(
                "webhook-signature",
                "`v1,` and, in base64, the HMAC-SHA256 of id, time and body, dots between.",
            ),
        ]
    }
}

fn ignored(reason: impl Into<String>) -> Answer {
    Ok(Json(Outcome::Ignored { reason: reason.into() }))
}

/// Wakes an agent once for each webhook.
async fn wake(client: &Client, webhook: &str, agent: AgentId) -> Answer {
    match client.wake(agent, Some(&format!("webhook {webhook}"))).await? {
        true => Ok(Json(Outcome::Woken { agent })),
        false => ignored("the agent has nothing to do"),
    }
}

/// The longest id of a document, in bytes.
const LONGEST_ID: usize = 255;

/// The key under which a document is taken once.
fn key_of(document: &str) -> Result<String, Problem> {
    if document.len() > LONGEST_ID {
        let length = document.len();
        return Err(Problem::bad_body(format!("`id` has {length} bytes; at most {LONGEST_ID} are taken")));
    }
    Ok(format!("document {document}"))
}

/// What a document's id stands for here; none where another program gave it, whose documents are no
/// business of this engine.
fn ours<T: FromStr>(id: &str) -> Option<T> {
    id.parse().ok()
}

/// A field as another program may have written it: text, or a number that stands for one; anything else
/// reads as none.
fn lenient<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text,
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    })
}

/// There is nothing to do about a document of another program.
fn not_ours() -> Answer {
    ignored("the document is not one of this engine")
}

/// Whether the engine itself wrote the message with this id, and so has seen to it.
fn is_ours(id: &str) -> bool {
    let noun = id.split('.').next().unwrap_or_default();
    noun.parse::<AgentId>().is_ok() || noun.parse::<PostId>().is_ok() || noun.parse::<QuestionId>().is_ok()
}
