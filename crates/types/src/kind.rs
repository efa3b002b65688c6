//! The definition of an agent: data read from a file, never code.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ApprovalRule, ContextPolicy, CreatedTasks, EffectClasses, Guardrails, Limits, ProgramName, TriggerRule,
    Verdict, status::words,
};

/// The definition of an agent: instructions, tools, limits.
///
/// The store keeps, as JSON, the versions with which runs have started: a field that a version
/// stored by an earlier release lacks has its value in [`Kind::bare`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default = "nameless")]
pub struct Kind {
    /// Its name; an agent refers to its kind by it.
    pub name: String,
    /// One line for the model or person that selects a kind: when to use it.
    pub description: String,
    /// The model it asks for, as `provider::name`; the engine's default model if none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The models that the engine asks instead, in this order, when that model fails for good; the
    /// engine's default fallback if the kind gives neither a model nor a fallback.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub fallback: Vec<String>,
    /// The tools it is offered; if none are given, all tools that need no setup.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The effect classes of tools for which the kind overrides what the tools declare.
    #[serde(skip_serializing_if = "EffectClasses::is_empty", default)]
    pub effects: EffectClasses,
    /// The calls that wait for a person's approval: those that match any of these rules.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub approval: Vec<ApprovalRule>,
    /// What the engine does about calls that were interrupted and may have taken effect.
    #[serde(default)]
    pub in_doubt: InDoubt,
    /// The program it runs.
    pub program: ProgramName,
    /// What its file gives the program beside that: prompts and bounds, in a form that the program knows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub program_settings: Option<Value>,
    /// The kinds it may write to and create.
    pub peers: Vec<String>,
    /// Whether a run stops once it has sent a message to the user with `send_message`.
    pub conversational: bool,
    /// Which of its texts are its answer.
    pub reply: Reply,
    /// What the engine does with a message that arrives during a run.
    pub input: Input,
    /// What a limit means for a run that meets it.
    #[serde(skip_serializing_if = "OnLimit::is_default", default)]
    pub on_limit: OnLimit,
    /// The tasks that it creates with `create_task`; none if it creates none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tasks: Option<CreatedTasks>,
    /// What sets its agents to work without a message, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub triggers: BTreeMap<String, TriggerRule>,
    /// Whether the trees with such an agent at the top are kept, whatever the retention period of trees is.
    #[serde(skip_serializing_if = "is_false", default)]
    pub permanent: bool,
    /// The guardrails on what it reads and what it answers.
    #[serde(skip_serializing_if = "Guardrails::is_default", default)]
    pub guardrails: Guardrails,
    /// What its model reads beside its instructions.
    pub context: ContextPolicy,
    /// Its limits.
    pub limits: Limits,
    /// The JSON schema of its final answer, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// The sampling temperature; if none is given, the provider's default, or 0.2 when tools are
    /// sent as a schema of next actions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The body of its file.
    pub instructions: String,
    /// A digest of all the fields above: a run records it and keeps it.
    pub version: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
const fn is_false(said: &bool) -> bool {
    !*said
}

fn nameless() -> Kind {
    Kind::bare("")
}

impl Kind {
    /// Creates a kind with this name, no instructions and every default.
    #[must_use]
    pub fn bare(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            model: None,
            fallback: Vec::new(),
            tools: None,
            effects: EffectClasses::default(),
            approval: Vec::new(),
            in_doubt: InDoubt::default(),
            program: ProgramName::default(),
            program_settings: None,
            peers: Vec::new(),
            conversational: false,
            reply: Reply::FinalText,
            input: Input::Steer,
            on_limit: OnLimit::Answer,
            tasks: None,
            triggers: BTreeMap::new(),
            permanent: false,
            guardrails: Guardrails::default(),
            context: ContextPolicy::default(),
            limits: Limits::default(),
            output_schema: None,
            temperature: None,
            instructions: String::new(),
            version: String::new(),
        }
    }

    /// Whether its agents may have agents of another kind work for them.
    #[must_use]
    pub fn may_delegate_to(&self, kind: &str) -> bool {
        self.peers.iter().any(|peer| peer == kind)
            || self.tasks.as_ref().is_some_and(|tasks| tasks.kind == kind)
    }
}

/// What the engine does about an unsafe call that was interrupted, if no person says whether it
/// took effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InDoubt {
    /// Seconds that a person has to answer; the time limit for any question if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_seconds: Option<u64>,
    /// What the engine does after that: `retry` or `give_up`.
    pub otherwise: Verdict,
}

impl Default for InDoubt {
    fn default() -> Self {
        Self { answer_seconds: None, otherwise: Verdict::GiveUp }
    }
}

words! {
    /// What the engine does with a message that arrives during a run.
    Input, "input policy" {
        /// The agent reads it before its next model call.
        Steer => "steer",
        /// It waits for the next run.
        Queue => "queue",
        /// The run drops its current work, and the agent reads the message at once.
        Interrupt => "interrupt",
        /// The engine refuses it.
        Refuse => "refuse",
    }
}

words! {
    /// Which texts of a run are its answer.
    Reply, "reply" {
        /// The text of the turn that has no calls.
        FinalText => "final_text",
        /// The texts sent with `send_message`; plain text is never shown.
        SendMessage => "send_message",
    }
}

words! {
    /// What a limit means for the run that meets it.
    #[derive(Default)]
    OnLimit, "meaning of a limit" {
        /// One more model call, without tools: its answer is the run's. Without an answer the run fails.
        #[default]
        Answer => "answer",
        /// The same, and the run succeeds without an answer, too: what it did is what there is.
        Finish => "finish",
        /// The run fails, without another model call.
        Fail => "fail",
    }
}

impl OnLimit {
    /// Whether a kind need not say it.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
