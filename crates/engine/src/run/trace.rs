//! The spans of a run: the run itself, its requests to models, its tool calls, and what a program reads and stores.
//! Without a tracer nothing is read or built for them.

use entourage_llm::{Error as ModelError, Reply};
use entourage_store::Error as StoreError;
use entourage_types::{
    Agent, CallId, Item, ItemBody, ModelUse, Output, Scope, Status, SubCalls, Task, Time, ToolCall, Turn,
    Usage,
};
use serde_json::json;

use super::{Run, run_record::RunRecord};
use crate::{
    Engine, metrics,
    trace::{Span, SpanId, TraceId, Tracer, Value, gen_ai},
};

/// How something ended that a program did itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    /// It is done.
    Whole,
    /// The store refused it, and nothing was written.
    Refused,
}

/// Makes the spans of a run, from what they read of it.
pub(super) struct RunSpans<'r> {
    engine: &'r Engine,
    agent: &'r Agent,
    record: &'r RunRecord,
    items: &'r [Item],
}

impl<'r> RunSpans<'r> {
    pub(super) fn of(run: &'r Run<'_>) -> Self {
        Self { engine: run.engine, agent: &run.agent, record: &run.record, items: run.items() }
    }

    /// Traces a request to a model that was answered or has failed; `asked` is the model that was requested.
    pub(super) fn request(
        &self,
        (key, asked): (&str, Option<String>),
        (attempt, began): (u32, Time),
        answer: &Result<Reply, ModelError>,
        wasted: &[ModelUse],
    ) {
        // A closed gate sent no request.
        let Some(tracer) = self.tracer().filter(|_| !matches!(answer, Err(ModelError::Busy { .. }))) else {
            return;
        };
        let used = answer.as_ref().ok().map(Reply::used).or_else(|| wasted.last().cloned());
        let model = used.as_ref().map(|used| used.model.clone()).or(asked).unwrap_or_default();
        let (provider, name) = model.split_once("::").unwrap_or(("", &model));
        let mut attributes = vec![
            (gen_ai::PROVIDER, provider.into()),
            (gen_ai::REQUEST_MODEL, name.into()),
            (gen_ai::ATTEMPT, u64::from(attempt).into()),
            (gen_ai::STEP, key.into()),
        ];
        if let Some(used) = &used {
            attributes.push((gen_ai::RESPONSE_MODEL, name.into()));
            attributes.extend(tokens(&used.usage));
            attributes.extend(used.cost.map(|cost| (gen_ai::COST, cost.nanos().into())));
        }
        if let (Ok(reply), true) = (answer, tracer.wants_content()) {
            attributes.push((gen_ai::OUTPUT_MESSAGES, said(reply).into()));
        }
        let error = answer.as_ref().err().map(ToString::to_string);
        let id = SpanId::of_request(self.record.id, key, began);
        tracer.ended(Span {
            remote: true,
            attributes: self.attributes(gen_ai::CHAT, attributes, error.as_ref().map(|_| "model")),
            error,
            ..self.span(id, format!("{} {name}", gen_ai::CHAT), began)
        });
    }

    /// Traces a call that has its output.
    pub(super) fn call(&self, call: &ToolCall, output: &Output) {
        let Some(tracer) = self.tracer() else { return };
        let mut attributes =
            vec![(gen_ai::TOOL, call.tool.as_str().into()), (gen_ai::TOOL_CALL, call.id.to_string().into())];
        if tracer.wants_content() {
            attributes.push((gen_ai::TOOL_ARGUMENTS, call.arguments.to_string().into()));
            attributes.push((gen_ai::TOOL_RESULT, output.text.as_str().into()));
        }
        // A fixed text: the tool's own error is content.
        let error = output.error.then(|| "the call failed".to_owned());
        let name = format!("{} {}", gen_ai::EXECUTE_TOOL, call.tool);
        tracer.ended(Span {
            attributes: self.attributes(gen_ai::EXECUTE_TOOL, attributes, error.as_ref().map(|_| "tool")),
            error,
            ..self.span(SpanId::of_call(call.id), name, self.asked_for(call.id))
        });
    }

    /// Traces what a program did itself, [`gen_ai::LOAD`] or [`gen_ai::STORE`], and that it was refused, if it was.
    pub(super) fn did(&self, operation: &'static str, began: Time, done: Done) {
        let Some(tracer) = self.tracer() else { return };
        // A fixed text: the refusal itself names what is refused, which is content.
        let error = (done == Done::Refused).then(|| "the commit was refused".to_owned());
        let id = SpanId::of_request(self.record.id, operation, began);
        tracer.ended(Span {
            attributes: self.attributes(operation, Vec::new(), error.as_ref().map(|_| "refused")),
            error,
            ..self.span(id, operation.to_owned(), began)
        });
    }

    /// Counts and traces the end of the run.
    pub(super) async fn end(&self, status: Status) {
        metrics::run_ended(status, self.record.stop_reason);
        self.trace_run(status).await;
    }

    async fn trace_run(&self, status: Status) {
        let Some(tracer) = self.tracer() else { return };
        // A span without its parent is better than none.
        let parent = self.done_for().await.ok().flatten().map(SpanId::of_call);
        let mut attributes = tokens(&self.record.usage).to_vec();
        attributes.push((gen_ai::COST, self.record.cost.nanos().into()));
        let reason = self.record.stop_reason.map(|reason| reason.as_str());
        attributes.extend(reason.map(|reason| (gen_ai::STOP_REASON, reason.into())));
        let failed = reason.filter(|_| status == Status::Failed);
        let name = format!("{} {}", gen_ai::INVOKE_AGENT, self.agent.kind);
        tracer.ended(Span {
            parent,
            attributes: self.attributes(gen_ai::INVOKE_AGENT, attributes, failed),
            error: failed.map(|reason| format!("the run ended: {reason}")),
            ..self.span(SpanId::of_run(self.record.id), name, self.record.started)
        });
    }

    fn tracer(&self) -> Option<&dyn Tracer> {
        self.engine.inner.tracer.as_deref()
    }

    /// Returns a span of this run that ends now.
    fn span(&self, id: SpanId, name: String, began: Time) -> Span {
        Span {
            trace: TraceId::of(self.agent.root),
            id,
            parent: Some(SpanId::of_run(self.record.id)),
            name,
            remote: false,
            began,
            ended: self.engine.now(),
            attributes: Vec::new(),
            error: None,
        }
    }

    fn attributes(
        &self,
        operation: &str,
        own: Vec<(&'static str, Value)>,
        error: Option<&str>,
    ) -> Vec<(&'static str, Value)> {
        let mut all = vec![
            (gen_ai::OPERATION, operation.into()),
            (gen_ai::CONVERSATION, self.agent.root.to_string().into()),
            (gen_ai::AGENT_ID, self.agent.id.to_string().into()),
            (gen_ai::AGENT_NAME, self.agent.kind.as_str().into()),
            (gen_ai::RUN, self.record.id.to_string().into()),
        ];
        all.extend(own);
        all.extend(error.map(|error| (gen_ai::ERROR_TYPE, error.into())));
        all
    }

    /// Returns when the model, or code, asked for a call.
    fn asked_for(&self, call: CallId) -> Time {
        let asks = |body: &ItemBody| match body {
            ItemBody::Turn(Turn { calls, .. }) | ItemBody::SubCalls(SubCalls { calls, .. }) => {
                calls.iter().any(|asked| asked.id == call)
            }
            _ => false,
        };
        let turn = self.items.iter().rev().find(|item| asks(&item.body));
        turn.map_or(self.record.started, |turn| turn.at)
    }

    /// Returns the call that delegated the run's work, if another agent did.
    async fn done_for(&self) -> Result<Option<CallId>, StoreError> {
        let Some(task) = self.record.tasks.first() else { return Ok(None) };
        let scope = Scope::from(&self.agent.owner);
        let found = self.engine.store().record::<Task>(&scope, *task).await?;
        Ok(found.map(|task| task.call))
    }
}

fn tokens(usage: &Usage) -> [(&'static str, Value); 3] {
    [
        (gen_ai::INPUT_TOKENS, usage.input.into()),
        (gen_ai::CACHED_TOKENS, usage.cached.into()),
        (gen_ai::OUTPUT_TOKENS, usage.output.into()),
    ]
}

/// Renders an answer in the form of the GenAI conventions.
fn said(reply: &Reply) -> String {
    let text = (!reply.text.is_empty()).then(|| json!({ "type": "text", "content": reply.text }));
    let calls = reply.calls.iter().map(
        |call| json!({ "type": "tool_call", "id": call.id, "name": call.tool, "arguments": call.arguments }),
    );
    let parts: Vec<_> = text.into_iter().chain(calls).collect();
    json!([{ "role": "assistant", "parts": parts }]).to_string()
}
