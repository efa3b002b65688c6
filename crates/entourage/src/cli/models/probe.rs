//! Asks providers what they offer, and tests whether a model answers.

use std::time::Duration;

use entourage_llm::{Choice, Delta, Deltas, Error, Message, Model, Priority, Provider, Request, Result};
use entourage_types::ModelUse;

use crate::cli::describe;

/// How long a provider may take to return its list of models.
const LIST: Duration = Duration::from_secs(5);
/// How long a model may take to answer one word; a model that must be loaded first takes longer.
const CALL: Duration = Duration::from_secs(30);
/// The token limit of an answer that is discarded; the smallest that every provider accepts.
const FEW: u32 = 16;

/// The models that a provider offers.
pub(crate) async fn offered(choice: &Choice, provider: Provider) -> Result<Option<Vec<String>>> {
    choice.router.offered(provider, LIST).await
}

/// Whether a list of models has this one. The name may omit the tag `:latest`.
pub(crate) fn has(list: &[String], name: &str) -> bool {
    list.iter().any(|listed| listed == name || listed.strip_prefix(name) == Some(":latest"))
}

/// Calls a model once, and describes what the call used.
pub(crate) async fn call(choice: &Choice, model: &str) -> Result<String> {
    let request = Request {
        model: Some(model.to_owned()),
        messages: vec![Message::User("Answer with one word: yes.".into())],
        max_tokens: Some(FEW),
        priority: Priority::Person,
        ..Request::default()
    };
    let mut heard = FirstPiece::default();
    let answer = tokio::time::timeout(CALL, choice.model.call(request, &mut heard)).await;
    match answer.unwrap_or_else(|_| Err(Error::TimedOut { model: model.to_owned(), after: CALL })) {
        Ok(reply) => Ok(used(&reply.used())),
        // The answer was too long for so few tokens: the model exists, and it answers.
        Err(Error::BadAnswer { .. } | Error::Empty { .. } | Error::AtTokenLimit { .. }) if heard.answered => {
            Ok(heard.wasted.as_ref().map_or_else(|| "one call".to_owned(), used))
        }
        Err(error) => Err(error),
    }
}

fn used(ModelUse { usage, cost, .. }: &ModelUse) -> String {
    let tokens = describe::thousands(usage.input + usage.output);
    match cost {
        Some(cost) => format!("one call: {tokens} tokens, {cost}"),
        None => format!("one call: {tokens} tokens, price not known"),
    }
}

/// Records whether any part of an answer arrived.
#[derive(Default)]
struct FirstPiece {
    answered: bool,
    wasted: Option<ModelUse>,
}

impl Deltas for FirstPiece {
    fn delta(&mut self, delta: Delta) {
        match delta {
            Delta::DiscardedUsage(used) | Delta::PartialUsage(used) => {
                (self.answered, self.wasted) = (true, Some(used))
            }
            Delta::Text(_) | Delta::Reasoning(_) | Delta::Call { .. } => self.answered = true,
            _ => {}
        }
    }
}
