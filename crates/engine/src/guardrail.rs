//! Guardrails: what says of a text whether an agent may be told it, or may answer it.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use entourage_types::{AgentId, Kind, Owner};

use crate::Engine;

/// Says of a text whether it may pass. A kind names its guardrails; the engine knows them by these names.
#[async_trait]
pub trait Guardrail: Send + Sync + 'static {
    /// Lets the text pass. Called again after a crash, as long as nothing came of it; one that takes
    /// longer than a tool may ends the run.
    ///
    /// # Errors
    /// Why it may not pass: the person is told that of a message, the model of its answer.
    async fn check(&self, checked: &GuardrailInput) -> Result<(), String>;
}

/// What is to be let pass.
#[derive(Debug, Clone)]
pub struct GuardrailInput {
    /// What the agent is told, or what it answers.
    pub text: String,
    /// Which of these it is.
    pub side: Side,
    /// The agent's kind.
    pub kind: Arc<Kind>,
    /// The agent.
    pub agent: AgentId,
    /// The top of its tree.
    pub root: AgentId,
    /// Whose it is.
    pub owner: Owner,
}

/// On which side of an agent a check stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Before what it is told.
    Input,
    /// Behind what it answers.
    Output,
}

impl Engine {
    /// Whether agents of a kind can work here: its guardrails are there, and its limit in money can be kept.
    ///
    /// # Errors
    /// What is missing, and what to do about it.
    pub fn check_kind(&self, kind: &Kind) -> Result<(), String> {
        self.check_guardrails(kind)?;
        self.check_budget(kind)
    }

    /// Whether all guardrails of a kind are there: an answer that no check has seen is told nobody.
    ///
    /// # Errors
    /// The one that is missing, and what to do about it.
    pub fn check_guardrails(&self, kind: &Kind) -> Result<(), String> {
        kind.guardrails.names().try_for_each(|name| {
            self.named_guardrail(name).map(drop).map_err(|why| {
                format!("kind `{}`: {why}. Add it to the program, or take it out of `guardrails`", kind.name)
            })
        })
    }

    /// The check of this name.
    pub(crate) fn named_guardrail(&self, name: &str) -> Result<&Arc<dyn Guardrail>, String> {
        let found = self.inner.guardrails.get(name);
        found.ok_or_else(|| format!("there is no guardrail `{name}` in this program"))
    }
}

/// The guardrails of an engine, by name.
pub(crate) type Guardrails = BTreeMap<String, Arc<dyn Guardrail>>;
