//! A kind. Its instructions belong to the operator and are not shown.

use std::collections::BTreeMap;

use entourage_types::{
    ContextPolicy, CreatedTasks, EffectClasses, Guardrails, InDoubt, Input, Limits, OnLimit, ProgramName,
    Reply, Time, TriggerRule,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::schema;

/// A kind of agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Kind {
    /// Its name.
    pub name: String,
    /// When to use it, in one line.
    pub description: String,
    /// Its model, as `provider::name`; null for the server's default.
    #[schema(required)]
    pub model: Option<String>,
    /// The models that are called instead when it fails for good, in this order.
    pub fallback: Vec<String>,
    /// The tools that it is offered; null for all that need no setup.
    #[schema(required)]
    pub tools: Option<Vec<String>>,
    /// The rules by which its calls wait for a person's approval, as text.
    pub approval: Vec<String>,
    /// The program it runs.
    #[schema(value_type = String, example = "react")]
    pub program: ProgramName,
    /// What its file gives the program, prompts included: for the operator alone, like the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub program_settings: Option<Value>,
    /// The kinds that it may write to and spawn.
    pub peers: Vec<String>,
    /// Which of its texts is its answer.
    #[schema(value_type = schema::Reply)]
    pub reply: Reply,
    /// Whether a run ends once it has sent the user a message with `send_message`.
    pub conversational: bool,
    /// The guardrails for its input and its output.
    pub guardrails: KindGuardrails,
    /// The JSON schema of its final answer; null if any answer is valid.
    #[schema(required, value_type = Option<Object>)]
    pub output_schema: Option<Value>,
    /// The sampling temperature; null for the provider's.
    #[schema(required)]
    pub temperature: Option<f64>,
    /// How it handles a message that arrives while it is at work.
    #[schema(value_type = schema::Input)]
    pub input: Input,
    /// What a limit means for a run that meets it.
    #[schema(value_type = schema::OnLimit)]
    pub on_limit: OnLimit,
    /// The tasks that it creates with `create_task`: the kind that works on them, and what their end does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(value_type = Option<Object>)]
    pub tasks: Option<CreatedTasks>,
    /// What sets its agents to work without a message, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    #[schema(value_type = Object)]
    pub triggers: BTreeMap<String, TriggerRule>,
    /// Whether its trees are kept, whatever the retention period of trees is.
    pub permanent: bool,
    /// What bounds its runs and its tree.
    #[schema(value_type = Object)]
    pub limits: Limits,
    /// What its model reads beside its instructions.
    #[schema(value_type = Object)]
    pub context: ContextPolicy,
    /// The effects of tools for which it overrides what the tools declare.
    #[schema(value_type = Object)]
    pub effects: EffectClasses,
    /// What is done about calls that were interrupted and may have taken effect.
    #[schema(value_type = Object)]
    pub in_doubt: InDoubt,
    /// The body of its file, which are its instructions; for the operator alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// A digest of its file; a run stays with the version that it started with.
    pub version: String,
    /// How many of your runs of this version have not ended.
    pub open_runs: u32,
    /// Earlier versions with which open runs of yours started.
    pub earlier: Vec<EarlierKind>,
    /// Whether its file is gone: no new agents can have it, and runs under way keep their version to the end.
    pub gone: bool,
}

/// An earlier version of a kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EarlierKind {
    /// The digest of the file as it was.
    pub version: String,
    /// How many of your runs of this version have not ended.
    pub open_runs: u32,
}

/// The guardrails of a kind, by their names on the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KindGuardrails {
    /// For its input, before its model reads it.
    pub input: Vec<String>,
    /// For its input, while its model is called.
    pub parallel: Vec<String>,
    /// For its messages to the user, and its answers.
    pub output: Vec<String>,
    /// How many tool calls must have returned before it may answer.
    pub min_calls: u32,
    /// How many times in one run a refused text goes back to the model.
    pub attempts: u32,
}

impl From<Guardrails> for KindGuardrails {
    fn from(Guardrails { input, parallel, output, min_calls, attempts }: Guardrails) -> Self {
        Self { input, parallel, output, min_calls, attempts }
    }
}

/// The result of reloading the kinds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Reloaded {
    /// The names of kinds that are new.
    pub added: Vec<String>,
    /// The names of kinds that have another version now.
    pub changed: Vec<String>,
    /// The names of kinds that are gone.
    pub removed: Vec<String>,
    /// Findings about parts of their files that have no effect.
    pub remarks: Vec<KindFinding>,
}

/// A finding about the file of a kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KindFinding {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// How much it matters.
    pub severity: Severity,
    /// What was found, and what to do.
    pub text: String,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The kind is not loaded.
    Mistake,
    /// The kind is loaded; something in it has no effect.
    Remark,
}

/// A version of a kind with which a run has started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KindVersion {
    /// The digest of its file.
    pub version: String,
    /// When to use it, in one line.
    pub description: String,
    /// When a run first started with it.
    #[schema(value_type = schema::Time)]
    pub first_used: Time,
}

/// The text of a kind's file, to be checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct CheckKind {
    /// The name of the file, which gives the kind its name unless the text does; `kind.md` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The text.
    pub text: String,
}
