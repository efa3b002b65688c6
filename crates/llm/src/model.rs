//! The [`Model`] trait.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage_types::{Cost, ModelUse, Owner, Usage};

use crate::{GateState, Profile, Reply, Request, Result};

/// A language model, or anything with the same interface.
///
/// An answer that is empty, cut off or does not decode is an error, never a reply: see [`crate::Error`] for
/// which errors are worth another attempt. An implementation makes one attempt; the caller retries. Dropping
/// the future cancels the request.
#[async_trait]
pub trait Model: Send + Sync + 'static {
    /// Answers one request. Text and calls go to `deltas` as they arrive; the reply repeats all of them,
    /// complete.
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Result<Reply>;

    /// Describes the model for logs and for `doctor`: one line without secrets.
    fn describe(&self) -> String;

    /// Returns the notice that must accompany every answer to a person, if there is one.
    fn disclaimer(&self) -> Option<&'static str> {
        None
    }

    /// Returns the cost of this usage of a model, the engine's default if none is named; none if no price is
    /// known.
    fn price(&self, _model: Option<&str>, _usage: &Usage) -> Option<Cost> {
        None
    }

    /// Returns the most that one call can use, in all requests to a provider that it makes; without the tokens of
    /// the answer if the request does not limit these.
    fn worst_case(&self, request: &Request) -> Usage {
        request.worst_case()
    }

    /// Returns the current state of the gates before the models that were used; empty if there are none.
    fn gates(&self) -> Vec<GateState> {
        Vec::new()
    }

    /// Returns for how long the gate before a model, the default if none is named, holds back this owner's calls;
    /// none if it lets them through.
    fn held_back(&self, _model: Option<&str>, _owner: &Owner) -> Option<Duration> {
        None
    }

    /// Checks whether a model of this name can be called, so that a wrong name is reported before the call.
    ///
    /// # Errors
    /// Says what is wrong with the name, or what is not configured for it.
    fn check(&self, _model: &str) -> Result<()> {
        Ok(())
    }

    /// The models to ask instead, in this order, when a request that names none fails permanently.
    fn fallback(&self) -> &[String] {
        &[]
    }

    /// The model for summaries, which may be a cheaper one; none for the model whose context is summarized.
    fn summary(&self) -> Option<&str> {
        None
    }

    /// Finds out what it can about a model, the default if none is named, by asking its server if that is
    /// self-hosted. Returns quickly if there is nothing to find out.
    async fn learn(&self, _model: Option<&str>) {}

    /// Returns what is known about a model, the default if none is named.
    fn profile(&self, model: Option<&str>) -> Profile {
        Profile::of(model.unwrap_or_default())
    }
}

#[async_trait]
impl<M: Model + ?Sized> Model for Arc<M> {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        (**self).call(request, deltas).await
    }

    fn describe(&self) -> String {
        (**self).describe()
    }

    fn disclaimer(&self) -> Option<&'static str> {
        (**self).disclaimer()
    }

    fn price(&self, model: Option<&str>, usage: &Usage) -> Option<Cost> {
        (**self).price(model, usage)
    }

    fn worst_case(&self, request: &Request) -> Usage {
        (**self).worst_case(request)
    }

    fn gates(&self) -> Vec<GateState> {
        (**self).gates()
    }

    fn held_back(&self, model: Option<&str>, owner: &Owner) -> Option<Duration> {
        (**self).held_back(model, owner)
    }

    fn check(&self, model: &str) -> Result<()> {
        (**self).check(model)
    }

    fn fallback(&self) -> &[String] {
        (**self).fallback()
    }

    fn summary(&self) -> Option<&str> {
        (**self).summary()
    }

    async fn learn(&self, model: Option<&str>) {
        (**self).learn(model).await;
    }

    fn profile(&self, model: Option<&str>) -> Profile {
        (**self).profile(model)
    }
}

/// A piece of an answer in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// The gate holds the request back, for a moment or longer.
    Queued,
    /// The gate has let the request pass; it is sent now.
    Sent,
    /// The provider has accepted the request: what it sends from now on is the answer.
    Taken,
    /// How many more requests the provider says it accepts now.
    RequestsRemaining(u32),
    /// The next piece of text.
    Text(String),
    /// The next piece of reasoning, where the provider shows it.
    Reasoning(String),
    /// A call has begun; its arguments arrive complete, with the reply.
    Call {
        /// The tool's name.
        tool: String,
    },
    /// The usage of an unusable answer: an error that says why follows, or another answer.
    DiscardedUsage(ModelUse),
    /// The usage, as far as the provider had reported it, of an answer that was cut off: it may bill more.
    PartialUsage(ModelUse),
}

/// Receives the pieces. It must not block: it is called between two reads of the stream.
pub trait Deltas: Send {
    /// Takes the next piece.
    fn delta(&mut self, delta: Delta);
}

/// For callers that only want the reply.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoDeltas;

impl Deltas for NoDeltas {
    fn delta(&mut self, _: Delta) {}
}

impl<F: FnMut(Delta) + Send> Deltas for F {
    fn delta(&mut self, delta: Delta) {
        self(delta);
    }
}
