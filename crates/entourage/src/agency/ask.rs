//! One thing said to an agent, with what holds for the answer.

use std::{future::IntoFuture, marker::PhantomData, sync::Arc};

use entourage_engine::{Speech, responses::Follow};
use entourage_types::{CallId, Terms};
use futures::future::BoxFuture;

use super::{RunError, RunResult, RunStream, home::Home};
use crate::{Error, Result};

/// Something said to an agent. Await it for the answer.
#[must_use = "nothing is said until it is awaited"]
pub struct Ask<As> {
    home: Result<Arc<Home>>,
    speech: Speech,
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
    pub(super) fn new(home: Result<Arc<Home>>, to: String, text: String) -> Self {
        let speech = Speech { to, text, ..Speech::default() };
        Self { home, speech, named: false, key: None, detached: false, answer: PhantomData }
    }

    /// The chat that it is said in, by whatever name. The next message in the same chat goes on there,
    /// also in another process. Unless given, each message is a chat of its own.
    pub fn chat_id(mut self, chat: impl Into<String>) -> Self {
        self.speech.chat = chat.into();
        self.named = true;
        self
    }

    /// In whose name it is said; the person's unless given. Another name is another thread.
    pub fn sender_name(mut self, name: impl Into<String>) -> Self {
        self.speech.from = Some(name.into());
        self
    }

    /// Model calls of this run, where the agent may not make fewer.
    pub fn max_steps(mut self, steps: u32) -> Self {
        self.speech.terms.max_steps = Some(steps);
        self
    }

    /// How many agents stand between this run and the person who began it all, where the caller is an
    /// agent itself; none unless given.
    pub fn current_depth(mut self, depth: u16) -> Self {
        self.speech.terms.depth = depth;
        self
    }

    /// How deep it may be handed on from agent to agent; five times unless given.
    pub fn max_recursion_depth(mut self, depth: u16) -> Self {
        self.speech.terms.max_depth = Some(depth);
        self
    }

    /// A guardrail that the answer must pass beside those of the agent, by the name that it has in the
    /// agency: [`AgencyBuilder::guardrail`](super::AgencyBuilder::guardrail), or one of an agent's. By
    /// name, because the answer may be given after a restart.
    pub fn response_validator(mut self, name: impl Into<String>) -> Self {
        self.speech.terms.validator = Some(name.into());
        self
    }

    /// Says it once, however often it is said under this key: a caller that does not know whether it was
    /// heard says it again, and gets the same answer. The key names the chat, too, where no chat is named.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// What it sets off goes on though nobody waits for it any more. Otherwise it is stopped when the
    /// future, or the stream, is dropped.
    pub fn detached(mut self) -> Self {
        self.detached = true;
        self
    }

    async fn follow(mut self) -> Result<RunStream> {
        let home = self.home?;
        if !self.named {
            // A random name for one message; the result has it for those who want to go on.
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
    /// Only the final text is wanted.
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
    /// What holds for the run that answers it.
    #[must_use]
    pub fn terms(&self) -> &Terms {
        &self.speech.terms
    }
}
