//! What sort of agent something is: data read from a file, never code.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ApprovalRule, Checks, ContextPolicy, EffectClasses, Limits, Verdict, status::words};

/// What sort of agent this is.
///
/// Versions that runs have started with are kept as JSON: what one of an earlier program does not
/// say is as in [`Kind::bare`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default = "nameless")]
pub struct Kind {
    /// Its name; agents name their kind by it.
    pub name: String,
    /// One line for whoever chooses among kinds: when to use it.
    pub description: String,
    /// The model it wants, as `provider::name`; the engine's choice otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The models that are asked instead when it fails for good, in this order; the engine's where it
    /// names no model and none here.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub fallback: Vec<String>,
    /// The tools it is offered; none given means all that need no setting up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// What it says of its tools' effects, where that is not what the tools say.
    #[serde(skip_serializing_if = "EffectClasses::is_empty", default)]
    pub effects: EffectClasses,
    /// Which of its calls wait for a person's leave: those that any of these holds back.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub approval: Vec<ApprovalRule>,
    /// What becomes of its calls that were interrupted and may have taken effect.
    #[serde(default)]
    pub in_doubt: InDoubt,
    /// The program it runs.
    pub program: Program,
    /// The kinds it may write to and make.
    pub peers: Vec<String>,
    /// Whether a run stops once it has said something to the user by `send_message`.
    pub conversational: bool,
    /// Which of its words are its answer.
    pub reply: Reply,
    /// What becomes of a message that comes while it is at work.
    pub input: Input,
    /// What must be let pass: what it is told, and what it answers.
    #[serde(skip_serializing_if = "Checks::is_default", default)]
    pub checks: Checks,
    /// What its model gets to see beside its instructions.
    pub context: ContextPolicy,
    /// Its limits.
    pub limits: Limits,
    /// The JSON schema of its final answer, when it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// The sampling temperature; the provider's default otherwise, or 0.2 where tools go as a schema of next actions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The body of its file.
    pub instructions: String,
    /// A digest of all the above: runs record it and stay with it.
    pub version: String,
}

fn nameless() -> Kind {
    Kind::bare("")
}

impl Kind {
    /// A kind of this name with nothing to it: no instructions, every default.
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
            program: Program::React,
            peers: Vec::new(),
            conversational: false,
            reply: Reply::FinalText,
            input: Input::Steer,
            checks: Checks::default(),
            context: ContextPolicy::default(),
            limits: Limits::default(),
            output_schema: None,
            temperature: None,
            instructions: String::new(),
            version: String::new(),
        }
    }
}

/// What becomes of an unsafe call that was interrupted, when nobody says whether it happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InDoubt {
    /// Seconds that a person has to say; as long as for any question when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_seconds: Option<u64>,
    /// What is done then: `retry` or `give_up`.
    pub otherwise: Verdict,
}

impl Default for InDoubt {
    fn default() -> Self {
        Self { answer_seconds: None, otherwise: Verdict::GiveUp }
    }
}

words! {
    /// What drives a run of the kind.
    Program, "program" {
        /// Model, tools, results, until the model asks for no more tools.
        React => "react",
        /// One thing of the inbox in each run: one decision on a message, one reply to a result.
        Orchestrate => "orchestrate",
    }
}

words! {
    /// What becomes of a message that comes while the agent is at work.
    Input, "input policy" {
        /// It is read before the next model call.
        Steer => "steer",
        /// It waits for the next run.
        Queue => "queue",
        /// What the agent is doing is dropped, and the message read at once.
        Interrupt => "interrupt",
        /// It is refused.
        Refuse => "refuse",
    }
}

words! {
    /// Which of its words are a kind's answer.
    Reply, "reply" {
        /// The text of the turn without calls.
        FinalText => "final_text",
        /// What it said by `send_message`; plain text is never shown.
        SendMessage => "send_message",
    }
}
