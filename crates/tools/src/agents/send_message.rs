//! `send_message`: one tool for writing to a peer and for messages to the user.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_types::{Kind, OnEnd, Reply, ResultSource, ToolSpec, WorksFor, tool_names};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{directory, filled};
use crate::{Caller, Context, Delegate, Done, Effect, Error, Outcome, Result, Target, Tool, parse, spec_of};

const NAME: &str = tool_names::SEND_MESSAGE;
const USER: &str = "user";
/// Names that models use for its arguments, with the schema's names.
const ALIASES: [(&str, &str); 2] = [("recipient_agent", "recipient"), ("text", "message")];

/// Writes to a peer and waits for its answer, or sends the user a message. The offer depends on the caller's
/// possible recipients; without any there is no offer.
#[derive(Debug, Clone, Copy, Default)]
pub struct SendMessage;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Who gets the message. Always give it.
    #[serde(default, alias = "recipient_agent")]
    recipient: Option<String>,
    /// What to say. The recipient sees nothing but this text.
    #[serde(alias = "text")]
    message: String,
}

/// Whether an agent of this kind may talk to the user. An agent that works for its parent has no user: the parent
/// gets the final text.
fn talks_to_user(kind: &Kind, works_for: WorksFor) -> bool {
    works_for.is_person() && (kind.conversational || kind.reply == Reply::SendMessage)
}

#[async_trait]
impl Tool for SendMessage {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        let to_user = talks_to_user(caller.kind, caller.works_for);
        // An agent that people talk to is the one that its kind's name reaches: it cannot write to itself.
        let is_itself = |peer: &Kind| caller.works_for.is_person() && peer.name == caller.kind.name;
        let peers: Vec<Arc<Kind>> = caller.peers.iter().filter(|peer| !is_itself(peer)).cloned().collect();
        let description = match (&peers[..], to_user) {
            ([], false) => return None,
            ([], true) => "Say something to the user.".to_owned(),
            (peers, false) => {
                format!("Write to another agent and wait for its answer. Agents:{}", directory(peers))
            }
            (peers, true) => format!(
                "Write to another agent and wait for its answer, or say something to the user \
                 (recipient `{USER}`). Agents:{}",
                directory(peers)
            ),
        };
        let mut spec = spec_of::<Arguments>(NAME, description);
        // An agent that can only write to the user may still pass a recipient.
        if let Some(schema) = spec.parameters.as_object_mut() {
            schema.remove("additionalProperties");
        }
        let properties = &mut spec.parameters["properties"];
        if peers.is_empty() {
            *properties = json!({ "message": { "type": "string", "description": "What to say." } });
        } else {
            let recipients = peers.iter().map(|kind| kind.name.as_str()).chain(to_user.then_some(USER));
            let description = properties["recipient"]["description"].take();
            properties["recipient"] = json!({
                "type": "string",
                "enum": recipients.collect::<Vec<_>>(),
                "description": description,
            });
            spec.parameters["required"] = json!(["recipient", "message"]);
        }
        Some(spec)
    }

    fn renamed(&self, arguments: &Value) -> Option<Value> {
        let mut named = arguments.as_object()?.clone();
        let mut any = false;
        for (alias, name) in ALIASES {
            if !named.contains_key(name)
                && let Some(value) = named.remove(alias)
            {
                named.insert(name.to_owned(), value);
                any = true;
            }
        }
        any.then_some(Value::Object(named))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Agents
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { recipient, message } = parse(NAME, arguments)?;
        let message = filled(NAME, "message", message)?;
        let recipient = addressee(context, recipient)?;
        if recipient == USER {
            return Ok(Outcome::Done(Done {
                text: "delivered".to_owned(),
                said: Some(message),
                ..Done::default()
            }));
        }
        Ok(Outcome::Delegate(Delegate { to: Target::Peer(recipient), text: message, on_end: OnEnd::Answer }))
    }
}

/// Returns the recipient that the caller named. Only a caller whose sole recipient is the user may omit it.
fn addressee(context: &Context, named: Option<String>) -> Result<String> {
    let to_user = talks_to_user(&context.kind, context.works_for).then_some(USER);
    let allowed: Vec<&str> = context.kind.peers.iter().map(String::as_str).chain(to_user).collect();
    let choice = || allowed.join(", ");
    match (named, allowed.as_slice()) {
        (None, [USER]) => Ok(USER.to_owned()),
        (None, _) => {
            let why = format!("`recipient` is missing. Give one of: {}", choice());
            Err(Error::Arguments { tool: NAME.to_owned(), why })
        }
        (Some(name), _) if allowed.contains(&name.as_str()) => Ok(name),
        (Some(name), []) => Err(Error::NotAllowed(format!("you cannot write to `{name}` or to anyone else"))),
        (Some(name), _) => {
            Err(Error::NotAllowed(format!("you cannot write to `{name}`. Recipients: {}", choice())))
        }
    }
}
