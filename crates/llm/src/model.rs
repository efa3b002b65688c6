//! The one trait.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_types::{Cost, ModelUse, Usage};

use crate::{GateState, Profile, Reply, Request, Result};

/// A language model, or whatever speaks like one.
///
/// An answer that is empty, cut off or does not decode is an error, never a reply: see
/// [`crate::Error`] for which errors are worth another attempt. An implementation makes one
/// attempt; retries are the caller's. Dropping the future cuts the request off.
#[async_trait]
pub trait Model: Send + Sync + 'static {
    /// Answers one request. Text and calls go to `deltas` as they arrive; the reply holds all of
    /// them once more, whole.
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Result<Reply>;

    /// What this is, for logs and for `doctor`: one line without secrets.
    fn describe(&self) -> String;

    /// What every answer to a person must say beside itself, when there is something to say.
    fn disclaimer(&self) -> Option<&'static str> {
        None
    }

    /// What tokens of a model cost, the engine's where none is named; none when no price is known.
    fn price(&self, _model: Option<&str>, _usage: &Usage) -> Option<Cost> {
        None
    }

    /// The gates before the models that were asked for, as they stand; none where there are none.
    fn gates(&self) -> Vec<GateState> {
        Vec::new()
    }

    /// Whether a model of this name can be asked for: a wrong name is said before it is called.
    ///
    /// # Errors
    /// What is wrong with the name, or what is not set up for it.
    fn check(&self, _model: &str) -> Result<()> {
        Ok(())
    }

    /// The models to ask instead, in this order, when a request that names none fails for good.
    fn fallback(&self) -> &[String] {
        &[]
    }

    /// The model for summaries, which may be a cheaper one; the one that is summed up otherwise.
    fn summary(&self) -> Option<&str> {
        None
    }

    /// Finds out what can be about a model, the default when none is named: asks its server, where it
    /// has one of its own, once. Quick where nothing is to be found out.
    async fn learn(&self, _model: Option<&str>) {}

    /// What is known about a model, the default when none is named.
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

    fn gates(&self) -> Vec<GateState> {
        (**self).gates()
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

/// A piece of an answer under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// The provider has taken the request: what it sends from now on is the answer.
    Taken,
    /// The provider says how many more requests it takes now.
    Allows(u32),
    /// The next piece of text.
    Text(String),
    /// The next piece of reasoning, where the provider shows it.
    Reasoning(String),
    /// A call has begun; its arguments come whole, with the reply.
    Call {
        /// The tool's name.
        tool: String,
    },
    /// An answer of no use, and what it used: an error follows that says why, or another answer.
    Wasted(ModelUse),
}

/// Where the pieces go. It must not block: it is called between two reads of the stream.
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
