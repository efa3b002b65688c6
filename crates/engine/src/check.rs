//! Checks: what says of a text whether an agent may be told it, or may answer it.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use entourage_types::{AgentId, Kind, Owner};

use crate::Engine;

/// Says of a text whether it may pass. A kind names its checks; the engine knows them by these names.
#[async_trait]
pub trait Check: Send + Sync + 'static {
    /// Lets the text pass. Called again after a crash, as long as nothing came of it; one that takes
    /// longer than a tool may ends the run.
    ///
    /// # Errors
    /// Why it may not pass: the person is told that of a message, the model of its answer.
    async fn check(&self, checked: &Checked) -> Result<(), String>;
}

/// What is to be let pass.
#[derive(Debug, Clone)]
pub struct Checked {
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
    /// Whether agents of a kind can work here: its checks are there, and its limit in money can be kept.
    ///
    /// # Errors
    /// What is missing, and what to do about it.
    pub fn check_kind(&self, kind: &Kind) -> Result<(), String> {
        self.check_checks(kind)?;
        self.check_budget(kind)
    }

    /// Whether all checks of a kind are there: an answer that no check has seen is told nobody.
    ///
    /// # Errors
    /// The one that is missing, and what to do about it.
    pub fn check_checks(&self, kind: &Kind) -> Result<(), String> {
        kind.checks.names().try_for_each(|name| {
            self.named_check(name).map(drop).map_err(|why| {
                format!("kind `{}`: {why}. Add it to the program, or take it out of `checks`", kind.name)
            })
        })
    }

    /// The check of this name.
    pub(crate) fn named_check(&self, name: &str) -> Result<&Arc<dyn Check>, String> {
        let found = self.inner.checks.get(name);
        found.ok_or_else(|| format!("there is no check `{name}` in this program"))
    }
}

/// The checks of a engine, by name.
pub(crate) type Checks = BTreeMap<String, Arc<dyn Check>>;
