//! A kind, as the API shows it. Its instructions belong to the operator and are not shown.

use entourage_engine::{
    InUse, Reloaded,
    kinds::{Finding, Severity},
};
use entourage_types::{Guardrails, Input, Program, Reply};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::schema;

/// A kind of agent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Kind)]
pub(crate) struct KindView {
    /// Its name.
    name: String,
    /// When to use it, in one line.
    description: String,
    /// Its model, as `provider::name`; null for the server's default.
    #[schema(required)]
    model: Option<String>,
    /// The models that are called instead when it fails for good, in this order.
    fallback: Vec<String>,
    /// The tools that it is offered; null for all that need no setup.
    #[schema(required)]
    tools: Option<Vec<String>>,
    /// The rules by which its calls wait for a person's approval, as text.
    approval: Vec<String>,
    /// The program it runs.
    #[schema(value_type = schema::Program)]
    program: Program,
    /// The kinds that it may write to and spawn.
    peers: Vec<String>,
    /// Which of its texts is its answer.
    #[schema(value_type = schema::Reply)]
    reply: Reply,
    /// Whether a run ends once it has sent the user a message with `send_message`.
    conversational: bool,
    /// The guardrails for its input and its output.
    guardrails: GuardrailsView,
    /// The JSON schema of its final answer; null if any answer is valid.
    #[schema(required, value_type = Option<Object>)]
    output_schema: Option<Value>,
    /// The sampling temperature; null for the provider's.
    #[schema(required)]
    temperature: Option<f64>,
    /// How it handles a message that arrives while it is at work.
    #[schema(value_type = schema::Input)]
    input: Input,
    /// A digest of its file; a run stays with the version that it started with.
    version: String,
    /// How many of your runs of this version have not ended.
    open_runs: u32,
    /// Earlier versions with which open runs of yours started.
    earlier: Vec<EarlierView>,
    /// Whether its file is gone: no new agents can have it, and runs under way keep their version to the end.
    gone: bool,
}

/// An earlier version of a kind.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EarlierKind)]
pub(crate) struct EarlierView {
    /// The digest of the file as it was.
    version: String,
    /// How many of your runs of this version have not ended.
    open_runs: u32,
}

impl From<InUse> for KindView {
    fn from(InUse { kind, is_gone, open_runs, earlier }: InUse) -> Self {
        let earlier = earlier.into_iter().map(|(version, open_runs)| EarlierView { version, open_runs });
        Self {
            name: kind.name.clone(),
            description: kind.description.clone(),
            model: kind.model.clone(),
            fallback: kind.fallback.clone(),
            tools: kind.tools.clone(),
            approval: kind.approval.iter().map(ToString::to_string).collect(),
            program: kind.program,
            peers: kind.peers.clone(),
            reply: kind.reply,
            conversational: kind.conversational,
            guardrails: kind.guardrails.clone().into(),
            output_schema: kind.output_schema.clone(),
            temperature: kind.temperature,
            input: kind.input,
            version: kind.version.clone(),
            open_runs,
            earlier: earlier.collect(),
            gone: is_gone,
        }
    }
}

/// The guardrails of a kind, by their names on the server.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KindGuardrails)]
struct GuardrailsView {
    /// For its input, before its model reads it.
    input: Vec<String>,
    /// For its input, while its model is called.
    parallel: Vec<String>,
    /// For its messages to the user, and its answers.
    output: Vec<String>,
    /// How many tool calls must have returned before it may answer.
    min_calls: u32,
    /// How many times in one run a refused text goes back to the model.
    attempts: u32,
}

impl From<Guardrails> for GuardrailsView {
    fn from(Guardrails { input, parallel, output, min_calls, attempts }: Guardrails) -> Self {
        Self { input, parallel, output, min_calls, attempts }
    }
}

/// The result of reloading the kinds.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Reloaded)]
pub(crate) struct ReloadedView {
    /// The names of kinds that are new.
    added: Vec<String>,
    /// The names of kinds that have another version now.
    changed: Vec<String>,
    /// The names of kinds that are gone.
    removed: Vec<String>,
    /// Findings about parts of their files that have no effect.
    remarks: Vec<FindingView>,
}

impl From<Reloaded> for ReloadedView {
    fn from(Reloaded { added, changed, removed, remarks }: Reloaded) -> Self {
        Self { added, changed, removed, remarks: remarks.into_iter().map(FindingView::from).collect() }
    }
}

/// A finding about the file of a kind.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KindFinding)]
struct FindingView {
    /// The file.
    file: String,
    /// The line, from 1.
    line: usize,
    /// How much it matters.
    #[schema(value_type = String, example = "remark")]
    severity: Severity,
    /// What was found, and what to do.
    text: String,
}

impl From<Finding> for FindingView {
    fn from(Finding { file, line, severity, text }: Finding) -> Self {
        Self { file, line, severity, text }
    }
}
