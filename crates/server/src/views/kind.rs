//! A kind, as the API shows it. Its instructions are the operator's and stay in its file.

use entourage_engine::{
    InUse, Reloaded,
    kinds::{Finding, Severity},
};
use entourage_types::{Checks, Input, Program, Reply};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::schema;

/// What sort of agent something is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Kind)]
pub(crate) struct KindView {
    /// Its name.
    name: String,
    /// When to use it, in one line.
    description: String,
    /// The model it wants, as `provider::name`; null for the engine's choice.
    #[schema(required)]
    model: Option<String>,
    /// The models that are asked instead when it fails for good, in this order.
    fallback: Vec<String>,
    /// The tools it is offered; null for all that need no setting up.
    #[schema(required)]
    tools: Option<Vec<String>>,
    /// Which of its calls wait for a person's leave, each rule in its words.
    approval: Vec<String>,
    /// The program it runs.
    #[schema(value_type = schema::Program)]
    program: Program,
    /// The kinds it may write to and make.
    peers: Vec<String>,
    /// Which of its words are its answer.
    #[schema(value_type = schema::Reply)]
    reply: Reply,
    /// Whether a run ends once it has told the user something by `send_message`.
    conversational: bool,
    /// The checks that what it is told and what it answers must pass.
    checks: ChecksView,
    /// The JSON schema of its final answer; null when any will do.
    #[schema(required, value_type = Option<Object>)]
    output_schema: Option<Value>,
    /// The sampling temperature; null for the provider's.
    #[schema(required)]
    temperature: Option<f64>,
    /// What becomes of a message that comes while it is at work.
    #[schema(value_type = schema::Input)]
    input: Input,
    /// A digest of its file: runs stay with the one they started with.
    version: String,
    /// How many of your runs of this version have not ended.
    open_runs: u32,
    /// Earlier versions that runs of yours which have not ended started with.
    earlier: Vec<EarlierView>,
    /// Whether its file is gone: new agents cannot be of it, and those at work end as they began.
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
            checks: kind.checks.clone().into(),
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

/// What must be let pass, by the names of the engine's checks.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KindChecks)]
struct ChecksView {
    /// What it is told, before its model reads it.
    input: Vec<String>,
    /// What it is told, while its model is asked.
    beside: Vec<String>,
    /// What it tells the user, and what it answers.
    output: Vec<String>,
    /// How many calls of tools must have been answered before it may answer.
    min_calls: u32,
    /// How many times in one run refused words go back to the model.
    attempts: u32,
}

impl From<Checks> for ChecksView {
    fn from(Checks { input, beside, output, min_calls, attempts }: Checks) -> Self {
        Self { input, beside, output, min_calls, attempts }
    }
}

/// What came of reading the kinds anew.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Reloaded)]
pub(crate) struct ReloadedView {
    /// The names of kinds that are new.
    added: Vec<String>,
    /// Those that have another version now.
    changed: Vec<String>,
    /// Those that are gone.
    removed: Vec<String>,
    /// What has no effect in their files.
    remarks: Vec<FindingView>,
}

impl From<Reloaded> for ReloadedView {
    fn from(Reloaded { added, changed, removed, remarks }: Reloaded) -> Self {
        Self { added, changed, removed, remarks: remarks.into_iter().map(FindingView::from).collect() }
    }
}

/// Something about the file of a kind.
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
    /// What is so, and what to do.
    text: String,
}

impl From<Finding> for FindingView {
    fn from(Finding { file, line, severity, text }: Finding) -> Self {
        Self { file, line, severity, text }
    }
}
