//! Tool use for models that are too weak for native tool calls.
//!
//! Small models lose the thread after one native tool call, but follow a schema. So the tools become one
//! schema of next actions, the conversation is rendered in the same form, and the JSON in the reply becomes
//! calls or text. The rest of the engine sees no difference.
//!
//! The form is measured (`tests/third_party/eval`): a weak model copies an example where it does not follow a
//! signature, takes what comes last for what the user says, and answers too early unless the request is
//! repeated after a result.

mod conversation;
mod form;
mod repeated_calls;

use std::{fmt::Write as _, sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage_types::{Cost, Owner, ToolSpec, Usage};

use crate::{Delta, Deltas, Error, GateState, Message, Model, Reply, Request, Result};

/// The temperature if none is set: low enough for the action that the model considers best, and high enough
/// for a different one on a repeated request.
const TEMPERATURE: f64 = 0.2;

/// The most tokens of what is said about an answer that repeats its example.
const CORRECTION: u64 = 1_024;

/// A model whose tools are offered as a schema of next actions.
#[derive(Debug)]
pub struct NextAction<M> {
    inner: M,
}

impl<M: Model> NextAction<M> {
    /// Wraps a weak model.
    #[must_use]
    pub const fn new(inner: M) -> Self {
        Self { inner }
    }

    /// Asks for the next action. Asks once more if the reply repeats its example, and then fails.
    async fn next(
        &self,
        mut request: Request,
        tools: &[&ToolSpec],
        deltas: &mut dyn Deltas,
    ) -> Result<Reply> {
        let mut first = self.inner.call(request.clone(), &mut WithoutText(deltas)).await?;
        let Some(copied) = form::copied(&first, tools) else { return Ok(first) };
        deltas.delta(Delta::DiscardedUsage(first.used()));
        let said = std::mem::take(&mut first.text);
        request.messages.push(Message::Assistant { text: said, calls: Vec::new() });
        request.messages.push(Message::Notice(copied));
        let second = self.inner.call(request, &mut WithoutText(deltas)).await?;
        if form::copied(&second, tools).is_some() {
            deltas.delta(Delta::DiscardedUsage(second.used()));
            let what = "not an action of its own: it repeats the example".to_owned();
            return Err(Error::BadAnswer { model: second.model, what });
        }
        Ok(second)
    }
}

#[async_trait]
impl<M: Model> Model for NextAction<M> {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        let (request, all) = without_tools(request);
        let Some(all) = all else { return self.inner.call(request, deltas).await };
        let mut reply = self.next(request, &form::offered(&all), deltas).await?;
        if let Err(error) = form::act(&mut reply) {
            deltas.delta(Delta::DiscardedUsage(reply.used()));
            return Err(error);
        }
        if !reply.text.is_empty() {
            deltas.delta(Delta::Text(reply.text.clone()));
        }
        for call in &reply.calls {
            deltas.delta(Delta::Call { tool: call.tool.clone() });
        }
        Ok(reply)
    }

    fn describe(&self) -> String {
        format!("{}, tools as a schema of next actions", self.inner.describe())
    }

    fn disclaimer(&self) -> Option<&'static str> {
        self.inner.disclaimer()
    }

    fn price(&self, model: Option<&str>, usage: &Usage) -> Option<Cost> {
        self.inner.price(model, usage)
    }

    fn worst_case(&self, request: &Request) -> Usage {
        let (request, all) = without_tools(request.clone());
        let Usage { input, output, .. } = self.inner.worst_case(&request);
        if all.is_none() {
            return Usage { input, output, ..Usage::default() };
        }
        // The second request holds the answer to the first one, and what is wrong with it.
        let input = 2 * input + output + CORRECTION;
        Usage { input, output: 2 * output, ..Usage::default() }
    }

    fn gates(&self) -> Vec<GateState> {
        self.inner.gates()
    }

    fn held_back(&self, model: Option<&str>, owner: &Owner) -> Option<Duration> {
        self.inner.held_back(model, owner)
    }

    fn fallback(&self) -> &[String] {
        self.inner.fallback()
    }
}

/// The request as the weak model receives it, and the tools that its actions stand for; no tools if it does not choose
/// an action.
fn without_tools(mut request: Request) -> (Request, Option<Arc<[ToolSpec]>>) {
    // If the answer has a schema of its own, there is no choice of actions.
    let may_call = !request.tools.is_empty() && !request.forbids_calls();
    let acting = may_call && request.output_schema.is_none();
    let all = std::mem::take(&mut request.tools);
    let tools = form::offered(&all);
    let usable = form::usable(&tools, conversation::has_address(&request), request.has_cuts);
    let left = repeated_calls::vain(&request.messages).left(usable);
    let asked = conversation::asked(&request.messages);
    request.messages = conversation::plain(request.messages, acting);
    if !acting {
        if request.output_schema.is_some() {
            // A weak model needs the schema as its grammar, also one that allows other fields.
            request.open_schema = false;
            request.temperature.get_or_insert(TEMPERATURE);
        }
        return (request, None);
    }
    if let (Some(asked), Some(Message::User(last) | Message::Notice(last) | Message::Context(last))) =
        (asked, request.messages.last_mut())
    {
        let next = if left.is_empty() { "Answer it now." } else { "Next action?" };
        // Writing to a string cannot fail.
        let _ = write!(last, "\n\nMy request was: {asked}\n{next}");
    }
    request.system = format!("{}\n\n{}", request.system, form::instructions(&tools)).into();
    request.output_schema = Some(Arc::new(form::schema(&left, form::answers_first(&tools))));
    request.temperature.get_or_insert(TEMPERATURE);
    (request, Some(all))
}

/// Deltas without text, so that the JSON of actions is not streamed to the reader.
struct WithoutText<'a>(&'a mut dyn Deltas);

impl Deltas for WithoutText<'_> {
    fn delta(&mut self, delta: Delta) {
        if !matches!(delta, Delta::Text(_)) {
            self.0.delta(delta);
        }
    }
}
