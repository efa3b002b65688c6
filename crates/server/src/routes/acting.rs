//! Waiting for what a message about documents comes to: in one response, or as a stream of events.

use std::sync::Arc;

use axum::{
    Json,
    extract::FromRequestParts,
    http::{header::ACCEPT, request::Parts},
    response::{IntoResponse, Response},
};
use entourage_engine::{
    AcceptedAct, ActResult, Client,
    responses::{Follow, RunItem, RunResult, StreamEvent},
};
use entourage_types::{QuestionId, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::sse::{EventSource, ended, frame, streamed};
use crate::{Problem, state::AppState, streams::Opened};

/// Whether a caller wants a stream of events: `Accept` names their type.
pub(super) struct WantsEvents(bool);

impl<S: Send + Sync> FromRequestParts<S> for WantsEvents {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let named = |value: &str| {
            value
                .split(',')
                .any(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == "text/event-stream"))
        };
        Ok(Self(parts.headers.get_all(ACCEPT).iter().any(|value| value.to_str().is_ok_and(named))))
    }
}

/// How a surface shows what a message came to.
pub(super) trait ActRendering: Send + Sync + 'static {
    /// The document that it shows.
    type View: Serialize + Send;

    /// Renders it.
    fn view(
        &self,
        client: &Client,
        result: ActResult,
    ) -> impl Future<Output = entourage_engine::Result<Self::View>> + Send;

    /// Renders why there is none.
    fn refusal(&self, problem: &Problem) -> serde_json::Value;
}

/// A place among the long responses of a caller, taken before its message is: a refusal leaves no message behind.
pub(super) struct Waiting {
    /// The client to send the message with.
    pub(super) client: Client,
    opened: Opened,
    served: AppState,
    until: Option<Time>,
}

impl Waiting {
    pub(super) fn begin(client: &Client, until: Option<Time>, served: AppState) -> Result<Self, Problem> {
        let (client, opened) = served.streams.open(client)?;
        Ok(Self { client, opened, served, until })
    }

    /// Answers once the message is answered, or with the events on the way there. A client that stops waiting loses nothing:
    /// the answer is in the chat, and the same request under the same key gets it.
    pub(super) async fn respond(
        self,
        accepted: AcceptedAct,
        WantsEvents(events): WantsEvents,
        rendering: impl ActRendering,
    ) -> Result<Response, Problem> {
        let Self { client, opened, served, until } = self;
        let follow = client.follow_act(accepted).await?;
        let answer = ActAnswer { follow, client, rendering: Arc::new(rendering) };
        if events {
            let heartbeat = served.heartbeat;
            return Ok(streamed(answer, opened, heartbeat, ended(until, served)));
        }
        let shutdown = served.shutdown.clone();
        tokio::select! {
            view = answer.whole() => Ok(Json(view?).into_response()),
            () = shutdown.cancelled() => Err(Problem::stopping(
                "the message is on record and is answered after the next start: read the chat then, or send the same \
                 request with the same `Idempotency-Key`",
            )),
        }
    }
}

/// How far a message has come.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub(crate) enum ActProgress {
    /// The model decides what is to be done.
    Deciding,
    /// The web is searched.
    Searching,
    /// The search has ended.
    Searched,
    /// A person must answer first, at `/v1/questions/{id}/answer`.
    Waiting {
        /// The question.
        #[schema(value_type = entourage_api::schema::QuestionId)]
        question: QuestionId,
    },
}

/// A piece of an answer under way; null takes back what came before.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ActText {
    /// The piece.
    text: Option<String>,
}

/// An answer that a client waits for.
struct ActAnswer<R> {
    follow: Follow,
    client: Client,
    rendering: Arc<R>,
}

impl<R: ActRendering> ActAnswer<R> {
    async fn whole(mut self) -> Result<R::View, Problem> {
        while let Some(event) = self.follow.next().await.transpose()? {
            if let StreamEvent::Done(result) | StreamEvent::Error(result) = event {
                return self.view_of(&result).await;
            }
        }
        Err(Problem::internal("the answer broke off; the server's log may have the cause"))
    }

    async fn view_of(&self, result: &RunResult) -> Result<R::View, Problem> {
        match self.client.act_result(result.run_id).await? {
            Some(found) => Ok(self.rendering.view(&self.client, found).await?),
            None => Err(Problem::unanswered(result.error.as_ref().map_or_else(
                || "the run ended without an answer; send the message again".to_owned(),
                |error| {
                    format!(
                        "{}. Nothing was changed; the message is in the chat",
                        error.text.trim_end_matches('.')
                    )
                },
            ))),
        }
    }
}

impl<R: ActRendering> EventSource for ActAnswer<R> {
    type Input = StreamEvent;

    async fn next(&mut self) -> entourage_engine::Result<Option<StreamEvent>> {
        self.follow.next().await.transpose()
    }

    async fn encode(&mut self, event: StreamEvent, frames: &mut Vec<u8>) -> entourage_engine::Result<()> {
        let progress = |frames: &mut Vec<u8>, stage| frame(frames, None, "progress", &stage);
        match event {
            StreamEvent::Item(RunItem::MessageInput(_)) => progress(frames, ActProgress::Deciding)?,
            StreamEvent::Item(RunItem::ToolCall(_)) => progress(frames, ActProgress::Searching)?,
            StreamEvent::Item(RunItem::ToolCallOutput(_)) => progress(frames, ActProgress::Searched)?,
            StreamEvent::Item(RunItem::MessageOutput(_) | RunItem::Notice(_)) => {}
            StreamEvent::Question(question) => {
                progress(frames, ActProgress::Waiting { question: question.id })?;
            }
            StreamEvent::Text { text, .. } => frame(frames, None, "text", &ActText { text: Some(text) })?,
            StreamEvent::Void { .. } => frame(frames, None, "text", &ActText { text: None })?,
            StreamEvent::Done(result) | StreamEvent::Error(result) => match self.view_of(&result).await {
                Ok(view) => frame(frames, None, "done", &view)?,
                Err(problem) => frame(frames, None, "error", &self.rendering.refusal(&problem))?,
            },
        }
        Ok(())
    }
}
