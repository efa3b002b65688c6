//! Messages about the documents of a project, through the HTTP API: each is on record before its answer is awaited.

use entourage_api::{Act, NewAct, Problem};
use entourage_types::{AgentId, PostId, ProjectId};
use futures::StreamExt;
use reqwest::{
    Method, Response,
    header::{ACCEPT, LINK},
};
use serde::de::DeserializeOwned;

use super::{
    Backend, Result,
    connection::KEY,
    sse::{Message, Parser},
    target::Target,
};
use crate::cli::failure::Failure;

/// Where a server says that an agent is.
const AGENTS: &str = "/v1/agents/";

/// A message that is on record, and the answer to come.
pub(crate) struct OpenAct {
    /// The agent of the chat in which it is answered.
    pub(crate) chat: AgentId,
    backend: Backend,
    path: String,
    new: NewAct,
    /// The key under which the message is the same one if it is sent again.
    key: String,
    response: Response,
}

impl Backend {
    /// Sends a message about the documents of a project. Returns once it is on record.
    pub(crate) async fn act(&self, project: ProjectId, new: NewAct) -> Result<OpenAct> {
        // A command that works on one tree begins no other.
        if let Target::There(running) = &self.place
            && !running.is_server()
            && new.chat.is_none()
        {
            return Err(running.busy());
        }
        let (path, key) = (format!("projects/{project}/acts"), PostId::new().to_string());
        let request = self.request(Method::POST, &path).header(KEY, &key).json(&new);
        let sent = self.answered(request.header(ACCEPT, "text/event-stream"));
        let look = format!("entourage projects chats {project}");
        let response = self.place.waits_for(sent).await.map_err(|failure| failure.look_first(&look))?;
        let chat = chat_of(&response).ok_or_else(|| {
            Failure::failed(format!(
                "the message was sent, and the server does not say in which chat; `{look}` lists them. Is it the same \
                 version as this program?"
            ))
        })?;
        Ok(OpenAct { chat, backend: self.clone(), path, new, key, response })
    }
}

impl OpenAct {
    /// Waits for what it comes to. If the connection breaks, asks again: the message is not sent twice.
    pub(crate) async fn answer(self) -> Result<Act> {
        let Self { backend, path, new, key, response, .. } = self;
        if let Some(act) = streamed(response).await? {
            return Ok(act);
        }
        let again = backend.post_once(&path, &new, Some(&key), "entourage projects chats").await;
        // Nothing about the command is wrong: the message was accepted.
        again.map_err(
            |failure| {
                if failure.is_usage() { Failure::failed(failure.text().to_owned()) } else { failure }
            },
        )
    }
}

/// The answer at the end of a stream; none if the stream breaks off before.
async fn streamed(response: Response) -> Result<Option<Act>> {
    let (mut pieces, mut parser) = (response.bytes_stream(), Parser::default());
    while let Some(Ok(piece)) = pieces.next().await {
        for message in parser.take(&piece) {
            match message.event.as_str() {
                "done" => return read(&message).map(Some),
                "error" => return Err(Failure::failed(read::<Problem>(&message)?.detail)),
                _ => {}
            }
        }
    }
    Ok(None)
}

fn read<T: DeserializeOwned>(message: &Message) -> Result<T> {
    serde_json::from_str(&message.data).map_err(|error| {
        Failure::failed(format!(
            "the server sent an unknown answer: {error}. Is it the same version as this program?"
        ))
    })
}

/// The chat that a response is about.
fn chat_of(response: &Response) -> Option<AgentId> {
    let link = response.headers().get(LINK)?.to_str().ok()?;
    link.strip_prefix('<')?.split_once('>')?.0.strip_prefix(AGENTS)?.parse().ok()
}
