//! Calls in doubt: a call that began and whose outcome is not recorded may have taken effect, whichever tools
//! exist by now. A person judges an unsafe one.

use entourage_tools::{Effect, Error as ToolError};
use entourage_types::{About, Intent, Output, Step, StepState, ToolCall};
use serde_json::Value;

use crate::run::{Result, Run, questions::ask::QuestionRequest, tools::output_limits::failed};
use crate::toolset::declared;

impl Run<'_> {
    /// Whether the call began, is not known to have ended, and must not begin again without a person's
    /// consent. The effect of a tool that no longer exists is unknown: it counts as unsafe unless the kind
    /// declares another effect.
    pub(in crate::run) fn is_in_doubt(&self, call: &ToolCall) -> bool {
        let begun = self.steps.of_call(call).is_some_and(|step| step.state == StepState::Started);
        let by_now = || self.offered.tools().effect(&call.tool).or_else(|| declared(&self.kind, &call.tool));
        let is_unsafe = || by_now().unwrap_or(Effect::Unsafe) == Effect::Unsafe;
        begun && (self.began_unsafe(call) || is_unsafe())
    }

    /// Whether the call has begun and was unsafe then.
    pub(in crate::run) fn began_unsafe(&self, call: &ToolCall) -> bool {
        let intent = || self.steps.of_call(call)?.intent.as_ref();
        intent().is_some_and(|intent| intent.effect == Effect::Unsafe)
    }

    /// Returns the intent of a call that is about to be made, with the arguments that a person gave it, if
    /// any.
    pub(in crate::run) fn intent(&self, call: &ToolCall, edited: Option<Value>) -> Intent {
        let effect = match self.began_unsafe(call) {
            true => Effect::Unsafe,
            false => self.offered.tools().effect(&call.tool).unwrap_or(Effect::Unsafe),
        };
        Intent { effect, edited: edited.or_else(|| self.edited(call).cloned()) }
    }

    /// Returns the output of a call that cannot be made, or not again.
    pub(in crate::run) fn refused_call(&self, call: &ToolCall, refusal: &ToolError) -> Output {
        let step = self.steps.of_call(call);
        let was_begun = step.is_some_and(may_have_taken_effect);
        let text = match was_begun {
            true => format!(
                "The call was interrupted and may have taken effect; it cannot be made again: {refusal}"
            ),
            false => refusal.to_string(),
        };
        failed(call, text)
    }

    /// Asks a person about an interrupted call that may have taken effect: only a person can say whether it
    /// did.
    pub(in crate::run) async fn ask_whether_it_happened(&mut self, call: &ToolCall) -> Result<()> {
        let proposal = self.proposal(call);
        let text = format!(
            "The {}'s call of `{}` was interrupted and may or may not have taken effect. Its arguments: {}. \
             Call it again, give it up, or say what it returned to treat it as done.",
            self.kind.name, call.tool, proposal.arguments,
        );
        let in_doubt = self.kind.in_doubt.clone();
        let wanted = QuestionRequest {
            about: About::Doubt,
            text,
            options: About::Doubt.options(),
            proposal: Some(proposal),
            seconds: in_doubt.answer_seconds,
            otherwise: Some(in_doubt.otherwise),
        };
        self.ask(call, wanted, vec![]).await
    }
}

/// Whether the call of this step began and its outcome is unknown.
pub(in crate::run) fn may_have_taken_effect(step: &Step) -> bool {
    step.state == StepState::Started || step.question().is_some_and(|asked| asked.about == About::Doubt)
}
