//! One message to an agent, with the options of the run that answers it.

use std::{future::IntoFuture, marker::PhantomData, sync::Arc};

use entourage_engine::{ChatMessage, responses::Follow};
use entourage_types::{CallId, RunOptions};
use futures::future::BoxFuture;

use super::{RunError, RunResult, RunStream};
use crate::{Error, Result, embedded::AtWork};

/// A message to an agent. Await it for the answer.
#[must_use = "nothing is sent until it is awaited"]
pub struct Ask<As> {
    home: Result<Arc<AtWork>>,
    speech: ChatMessage,
    /// Whether the chat was named.
    named: bool,
    key: Option<String>,
    detached: bool,
    answer: PhantomData<As>,
}

/// The answer is a [`RunResult`].
#[derive(Debug)]
pub enum Whole {}
/// The answer is the final text.
#[derive(Debug)]
pub enum Text {}
/// The answer is a [`RunStream`].
#[derive(Debug)]
pub enum Streamed {}

impl<As> Ask<As> {
    pub(super) fn new(home: Result<Arc<AtWork>>, to: String, text: String) -> Self {
        let speech = ChatMessage { to, text, ..ChatMessage::default() };
        Self { home, speech, named: false, key: None, detached: false, answer: PhantomData }
    }

    /// Sets the chat of the message; any name will do. The next message in the same chat continues it, also
    /// from another process. By default each message starts a new chat.
    pub fn chat_id(mut self, chat: impl Into<String>) -> Self {
        self.speech.chat = chat.into();
        self.named = true;
        self
    }

    /// Sets the sender's name; the user's by default. Another name means another thread.
    pub fn sender_name(mut self, name: impl Into<String>) -> Self {
        self.speech.from = Some(name.into());
        self
    }

    /// Limits the model calls of this run; the agent's own limit holds where it is lower.
    pub fn max_steps(mut self, steps: u32) -> Self {
        self.speech.options.max_steps = Some(steps);
        self
    }

    /// Sets how many agents are between this run and the user who started it all, for a caller that is an
    /// agent itself; 0 by default.
    pub fn current_depth(mut self, depth: u16) -> Self {
        self.speech.options.depth = depth;
        self
    }

    /// Limits how many times the work may be delegated from agent to agent; the agent's limit, 5, by default.
    pub fn max_recursion_depth(mut self, depth: u16) -> Self {
        self.speech.options.max_depth = Some(depth);
        self
    }

    /// Adds a guardrail that the answer must pass in addition to the agent's own, by its name in the agency:
    /// [`AgencyBuilder::guardrail`](super::AgencyBuilder::guardrail), or one of an agent's. It is a name
    /// because the answer may be given after a restart.
    pub fn response_validator(mut self, name: impl Into<String>) -> Self {
        self.speech.options.validator = Some(name.into());
        self
    }

    /// Makes sending idempotent: the engine accepts the message once, however often it is sent under this
    /// key. A caller that does not know whether its message arrived sends it again and gets the same answer.
    /// The key is also the name of the chat where no chat is named.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Lets the run continue after the caller stops waiting. By default, dropping the future or the stream
    /// stops it.
    pub fn detached(mut self) -> Self {
        self.detached = true;
        self
    }

    async fn follow(mut self) -> Result<RunStream> {
        let home = self.home?;
        if !self.named {
            // A random name for one message; the result returns it to callers that want to continue the chat.
            self.speech.chat = self.key.clone().unwrap_or_else(|| CallId::new().to_string());
        }
        let stays = home.stays();
        if self.detached {
            stays.cancel();
        }
        let follow = Follow::begin(&home.client, self.speech, self.key.as_deref(), stays.clone()).await?;
        Ok(RunStream::new(home, follow, stays))
    }
}

impl Ask<Whole> {
    /// Returns only the final text.
    pub fn text_only(self) -> Ask<Text> {
        let Self { home, speech, named, key, detached, .. } = self;
        Ask { home, speech, named, key, detached, answer: PhantomData }
    }
}

impl IntoFuture for Ask<Whole> {
    type Output = Result<RunResult>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async { self.follow().await?.result().await })
    }
}

impl IntoFuture for Ask<Text> {
    type Output = Result<String>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async {
            let result = self.follow().await?.result().await?;
            match result.error {
                Some(RunError { code, text, cause }) => Err(Error::Run { code, text, cause }),
                None => Ok(result.final_output.unwrap_or_default()),
            }
        })
    }
}

impl IntoFuture for Ask<Streamed> {
    type Output = Result<RunStream>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.follow())
    }
}

impl<As> Ask<As> {
    /// Returns the options of the run that answers it.
    #[must_use]
    pub fn options(&self) -> &RunOptions {
        &self.speech.options
    }
}
