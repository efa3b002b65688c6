//! The protocols that go through the `genai` crate: Anthropic's Messages, OpenAI's Responses and Ollama's
//! chat.
//!
//! What this adapter corrects, and why, is explained where it is corrected: [`outgoing`] for requests,
//! [`incoming`] for answers.

mod frames;
mod incoming;
mod outgoing;

use std::{future::poll_fn, sync::Arc, task::Poll};

use futures::StreamExt;
use genai::{
    ModelIden, ServiceTarget,
    adapter::AdapterKind,
    chat::ChatFrameSink,
    resolver::{AuthData, Endpoint},
};
use secrecy::ExposeSecret;

use crate::{
    Connection, Delta, Deltas, Error, Provider, Request, Result, http,
    remote::{answer::Answer, failure::Failure},
};
use frames::Frames;
use incoming::Incoming;

/// A client of one provider.
pub(super) struct Client {
    kind: AdapterKind,
    endpoint: Endpoint,
    auth: AuthData,
    connection: Connection,
    client: genai::Client,
}

impl Client {
    pub(super) fn new(provider: Provider, base_url: &str, connection: &Connection) -> Result<Self> {
        let client = genai::Client::builder()
            .with_reqwest(http::client(base_url)?)
            .build()
            .map_err(|error| Error::Configuration(format!("no client for {provider}: {error}")))?;
        let kind = match provider {
            Provider::Anthropic => AdapterKind::Anthropic,
            Provider::OpenAiResp => AdapterKind::OpenAIResp,
            Provider::Ollama => AdapterKind::Ollama,
            Provider::OpenAi | Provider::OpenRouter | Provider::Compatible => AdapterKind::OpenAI,
        };
        let key = connection.key.as_ref().map_or("", ExposeSecret::expose_secret);
        Ok(Self {
            kind,
            endpoint: Endpoint::from_owned(base_url),
            auth: AuthData::from_single(key),
            connection: connection.clone(),
            client,
        })
    }

    pub(super) async fn call(
        &self,
        request: Request,
        failure: &Failure<'_>,
        deltas: &mut dyn Deltas,
    ) -> Result<Answer> {
        // The target is complete, so that `genai` does not guess the provider from the model's name: it would
        // send requests for unknown names to Ollama.
        let target = ServiceTarget {
            endpoint: self.endpoint.clone(),
            auth: self.auth.clone(),
            model: ModelIden::new(self.kind, failure.model),
        };
        // `genai` skips events that are not JSON, and an answer with a gap is not usable.
        let frames = Arc::new(Frames::default());
        let options = outgoing::options(self.kind, &self.connection, &request)
            .with_raw_frame_sink_arc(Arc::clone(&frames) as Arc<dyn ChatFrameSink>);
        let chat = outgoing::chat(self.kind, request);
        let response = self.client.exec_chat_stream(target, chat, Some(&options)).await;
        let mut stream = response.map_err(|error| incoming::error(error, failure))?.stream;
        let mut incoming = Incoming::new(self.kind);
        let mut taken = false;
        let (headers, silence) = (self.connection.header_timeout(), self.connection.silence_timeout());
        loop {
            // `genai` buffers until an event, or the message of a refusal, is complete. Data that never
            // completes could otherwise arrive forever without counting as silence.
            let seen = frames.count();
            let limit = if seen == 0 { headers + silence } else { silence };
            // `genai` may withhold the first event, which still means that the request was accepted. It skips
            // other events, which still count as received.
            let next = poll_fn(|context| {
                let next = stream.poll_next_unpin(context);
                if !taken && frames.count() > 0 {
                    taken = true;
                    deltas.delta(Delta::Taken);
                }
                match failure.unless_too_long(incoming.said(), frames.received()) {
                    Ok(()) => next.map(Ok),
                    Err(error) => Poll::Ready(Err(error)),
                }
            });
            let event = match tokio::time::timeout(limit, next).await {
                Ok(next) => match next? {
                    Some(event) => event,
                    None => break,
                },
                // Events without content are signs of life.
                Err(_) if frames.count() > seen => continue,
                Err(_) => return Err(failure.timed_out(limit)),
            };
            if frames.broken() {
                return Err(failure.bad("not JSON where JSON was due"));
            }
            let event = event.map_err(|error| incoming::error(error, failure))?;
            if let Some(answer) = incoming.take(event, deltas) {
                return Ok(answer);
            }
        }
        Err(failure.bad("cut off: the stream ended before the answer did"))
    }
}
