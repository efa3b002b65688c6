//! What a client says over the WebSocket of an exploration, and what it is answered.

use std::fmt::Display;

use entourage_engine::{Client, Error};
use entourage_types::{Agent, AgentId, QuestionId};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use axum::http::StatusCode;

use super::agents::{AnswerAgent, OverrideAgent, set};
use crate::{Problem, views::explorer::Done};

/// What is answered to a message.
#[derive(Serialize)]
#[serde(tag = "type", rename = "reply")]
pub(super) struct Reply {
    #[serde(flatten)]
    done: Done,
    /// The message's `id`, if it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Value>,
}

/// Does what a message says, and returns what came of it. A message can be about the agent that its stream follows and
/// about those below it: another one is unknown here.
pub(super) async fn heard(client: &Client, followed: AgentId, text: &str) -> Reply {
    let mut message = match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(message) => message,
        Err(error) => return Reply { done: malformed(format!("send a JSON object: {error}")), to: None },
    };
    let to = match message.remove("id") {
        Some(id) if !id.is_string() && !id.is_number() => {
            return Reply { done: malformed("`id` is a text or a number"), to: None };
        }
        id => id,
    };
    let done = match Message::read(message) {
        Ok(message) => message.done(client, followed).await,
        Err(why) => Ok(malformed(why)),
    };
    // A failure is nothing that the client could have avoided; it is told as much as in a response.
    let failed = |problem: Problem| Done::refused(StatusCode::INTERNAL_SERVER_ERROR, problem.document.detail);
    Reply { done: done.unwrap_or_else(failed), to }
}

/// What is answered to a message that is no text.
pub(super) fn not_a_text() -> Reply {
    Reply { done: malformed("send a JSON object as a text message"), to: None }
}

fn malformed(why: impl Into<String>) -> Done {
    Done::refused(StatusCode::UNPROCESSABLE_ENTITY, why.into())
}

/// A message of a client.
enum Message {
    /// Answers a question.
    UserAnswer(QuestionId, AnswerAgent),
    /// Sets comment, content and state of the agent of this name or id.
    Intervene(String, OverrideAgent),
}

impl Message {
    fn read(mut fields: Map<String, Value>) -> Result<Self, String> {
        match fields.remove("type").as_ref().and_then(Value::as_str) {
            Some("user-answer") => {
                Ok(Self::UserAnswer(taken(&mut fields, "queryId")?, rest("user-answer", fields)?))
            }
            Some("intervene") => {
                Ok(Self::Intervene(taken(&mut fields, "agentId")?, rest("intervene", fields)?))
            }
            _ => Err("`type` is `user-answer` or `intervene`".to_owned()),
        }
    }

    async fn done(self, client: &Client, followed: AgentId) -> Result<Done, Problem> {
        let done = match self {
            Self::UserAnswer(question, answer) => answered(client, followed, question, answer).await,
            Self::Intervene(name, wanted) => match named(client, followed, &name).await {
                Ok(agent) => return set(client, &agent.id.to_string(), wanted).await,
                Err(error) => Err(error),
            },
        };
        done.map_or_else(Done::unless, |()| Ok(Done::success()))
    }
}

fn taken<T: DeserializeOwned>(fields: &mut Map<String, Value>, name: &str) -> Result<T, String> {
    let value = fields.remove(name).ok_or_else(|| format!("`{name}` is missing"))?;
    serde_json::from_value(value).map_err(|error| format!("`{name}`: {error}"))
}

fn rest<T: DeserializeOwned>(kind: &str, fields: Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(fields)).map_err(|error| format!("`{kind}`: {error}"))
}

async fn answered(
    client: &Client,
    followed: AgentId,
    question: QuestionId,
    AnswerAgent { response }: AnswerAgent,
) -> Result<(), Error> {
    let asked = client.question(question).await?;
    let agent = client.agent(asked.agent).await?;
    if !is_below(client, followed, agent).await? {
        return Err(unknown("question", question));
    }
    client.answer_agent(&asked.agent.to_string(), Some(question), response.as_deref()).await.map(drop)
}

async fn named(client: &Client, followed: AgentId, name: &str) -> Result<Agent, Error> {
    let agent = client.named_agent(name).await?;
    if is_below(client, followed, agent.clone()).await? { Ok(agent) } else { Err(unknown("agent", name)) }
}

/// Whether an agent is the followed one, or below it.
async fn is_below(client: &Client, followed: AgentId, mut agent: Agent) -> Result<bool, Error> {
    while agent.id != followed {
        let Some(parent) = agent.parent else { return Ok(false) };
        agent = client.agent(parent).await?;
    }
    Ok(true)
}

fn unknown(noun: &'static str, id: impl Display) -> Error {
    Error::NotFound { noun, id: id.to_string() }
}
