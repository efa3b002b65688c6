//! Asking providers what they offer and whether a model answers.

use std::time::Duration;

use entourage_llm::{Choice, Delta, Deltas, Error, Message, Model, Priority, Provider, Request, Result};
use entourage_types::ModelUse;

use crate::cli::words;

/// How long a provider may take over its list of models.
const LIST: Duration = Duration::from_secs(5);
/// How long a model may take over a word; one that must be loaded first takes its time.
const CALL: Duration = Duration::from_secs(30);
/// The most tokens of an answer that is thrown away; the least that every provider takes.
const FEW: u32 = 16;

/// What a provider offers.
pub(crate) async fn offered(choice: &Choice, provider: Provider) -> Result<Option<Vec<String>>> {
    choice.router.offered(provider, LIST).await
}

/// Whether a list of models has one. Names may leave out what stands behind: a date, a tag.
pub(crate) fn has(list: &[String], name: &str) -> bool {
    list.iter().any(|listed| listed == name || listed.strip_prefix(name) == Some(":latest"))
}

/// What one call came to: what was used and how it is said.
pub(crate) async fn call(choice: &Choice, model: &str) -> Result<String> {
    let request = Request {
        model: Some(model.to_owned()),
        messages: vec![Message::User("Answer with one word: yes.".into())],
        max_tokens: Some(FEW),
        priority: Priority::Person,
        ..Request::default()
    };
    let mut heard = Heard::default();
    let answer = tokio::time::timeout(CALL, choice.model.call(request, &mut heard)).await;
    match answer.unwrap_or_else(|_| Err(Error::TimedOut { model: model.to_owned(), after: CALL })) {
        Ok(reply) => Ok(used(&reply.used())),
        // Whatever it did not manage to finish in so few tokens: it is there, and it answers.
        Err(Error::BadAnswer { .. }) if heard.answered => {
            Ok(heard.wasted.as_ref().map_or_else(|| "one call".to_owned(), used))
        }
        Err(error) => Err(error),
    }
}

fn used(ModelUse { usage, cost, .. }: &ModelUse) -> String {
    let tokens = words::thousands(usage.input + usage.output);
    match cost {
        Some(cost) => format!("one call: {tokens} tokens, {cost}"),
        None => format!("one call: {tokens} tokens, price not known"),
    }
}

/// Whether anything of an answer came.
#[derive(Default)]
struct Heard {
    answered: bool,
    wasted: Option<ModelUse>,
}

impl Deltas for Heard {
    fn delta(&mut self, delta: Delta) {
        match delta {
            Delta::Wasted(used) => (self.answered, self.wasted) = (true, Some(used)),
            Delta::Text(_) | Delta::Reasoning(_) | Delta::Call { .. } => self.answered = true,
            _ => {}
        }
    }
}
