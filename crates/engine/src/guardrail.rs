//! Guardrails: they decide whether an agent may read or answer a text.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use entourage_types::{AgentId, Kind, Owner};

use crate::Engine;

/// Decides whether a text may pass. A kind lists its guardrails by name; the engine finds them by these
/// names.
#[async_trait]
pub trait Guardrail: Send + Sync + 'static {
    /// Lets the text pass. The engine calls it again after a crash, unless the outcome was committed. A check
    /// that takes longer than a tool may ends the run.
    ///
    /// # Errors
    /// Why the text may not pass: of a message, the person gets the reason; of an answer, the model.
    async fn check(&self, checked: &GuardrailInput) -> Result<(), String>;
}

/// The text to check, and the agent that it belongs to.
#[derive(Debug, Clone)]
pub struct GuardrailInput {
    /// The message to the agent, or its answer.
    pub text: String,
    /// Which of the two it is.
    pub side: Side,
    /// The agent's kind.
    pub kind: Arc<Kind>,
    /// The agent.
    pub agent: AgentId,
    /// The root of its tree.
    pub root: AgentId,
    /// The agent's owner.
    pub owner: Owner,
}

/// Which texts of an agent a guardrail checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Messages to the agent.
    Input,
    /// The agent's answers.
    Output,
}

impl Engine {
    /// Checks that agents of a kind can work in this engine: its guardrails exist, and its limit in money can
    /// be enforced.
    ///
    /// # Errors
    /// What is missing, and what to do about it.
    pub fn check_kind(&self, kind: &Kind) -> Result<(), String> {
        self.check_program(kind)?;
        self.check_guardrails(kind)?;
        self.check_budget(kind)
    }

    /// Checks that all guardrails of a kind exist: no answer is published unchecked.
    ///
    /// # Errors
    /// Names the missing guardrail, and what to do about it.
    pub fn check_guardrails(&self, kind: &Kind) -> Result<(), String> {
        kind.guardrails.names().try_for_each(|name| {
            self.named_guardrail(name).map(drop).map_err(|why| {
                format!("kind `{}`: {why}. Add it to the program, or take it out of `guardrails`", kind.name)
            })
        })
    }

    /// The guardrail of this name.
    pub(crate) fn named_guardrail(&self, name: &str) -> Result<&Arc<dyn Guardrail>, String> {
        let found = self.inner.guardrails.get(name);
        found.ok_or_else(|| format!("there is no guardrail `{name}` in this program"))
    }
}

/// The guardrails of an engine, by name.
pub(crate) type Guardrails = BTreeMap<String, Arc<dyn Guardrail>>;
