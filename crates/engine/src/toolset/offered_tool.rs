//! One tool as it is offered to a caller.

use std::sync::Arc;

use entourage_tools::{ArgumentValidator, Caller, Error as ToolError, Tool};
use entourage_types::{ApprovalRule, Effect, ToolSpec};
use serde_json::Value;

use super::declared;
use crate::approval::{concerns, holds};

/// One tool on offer.
pub(crate) struct OfferedTool {
    pub(crate) tool: Arc<dyn Tool>,
    /// The effect of its calls, as the kind declares it, or else the tool.
    pub(crate) effect: Effect,
    /// The JSON schema of its arguments.
    pub(crate) parameters: Value,
    checker: ArgumentValidator,
    /// The kind's approval rules that may hold a call back.
    rules: Vec<Arc<ApprovalRule>>,
}

impl OfferedTool {
    /// Returns what a tool offers this caller, if anything, with those of the kind's approval rules that concern it.
    pub(super) fn of(
        tool: &Arc<dyn Tool>,
        caller: &Caller<'_>,
        rules: &[Arc<ApprovalRule>],
    ) -> Option<(ToolSpec, Self)> {
        let spec = ToolSpec { source: tool.source(), ..tool.offer(caller)? };
        let checker = ArgumentValidator::new(&spec)
            .inspect_err(|error| tracing::warn!(tool = tool.name(), %error, "a tool is left out"))
            .ok()?;
        let effect = declared(caller.kind, &spec.name).unwrap_or_else(|| tool.effect());
        let concerned = rules.iter().filter(|rule| concerns(rule, &spec.name, effect)).cloned().collect();
        let parameters = spec.parameters.clone();
        Some((spec, Self { tool: Arc::clone(tool), effect, parameters, checker, rules: concerned }))
    }

    /// Returns the tool if these arguments fit.
    pub(super) fn checked(&self, arguments: &Value) -> Result<&Self, ToolError> {
        let renamed = self.tool.renamed(arguments);
        self.checker.check(renamed.as_ref().unwrap_or(arguments))?;
        Ok(self)
    }

    /// Returns the approval rules that hold back a call with these arguments.
    pub(crate) fn rules(&self, arguments: &Value) -> impl Iterator<Item = &Arc<ApprovalRule>> {
        self.rules.iter().filter(|rule| holds(rule, arguments))
    }
}
