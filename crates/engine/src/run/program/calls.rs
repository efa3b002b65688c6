//! Calls that a program makes. They are logged as a turn, like those of a model, and go the same way: intents,
//! approval, questions, outputs.

use entourage_tools::AskUserArguments;
use entourage_types::{CallId, Output, OutputEffect, StepKey, ToolCall, Turn, tool_names};
use futures::FutureExt;
use serde_json::Value;

use crate::run::{Interrupt, Result, Run};

/// The result of a program's call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallResult {
    /// The user was asked, and gave this answer.
    Answered(String),
    /// The user was asked, and declined to answer.
    Declined,
    /// The user was asked, and did not answer in time.
    Expired,
    /// The tool returned this; [`Output::error`] tells whether the call failed.
    Returned(Output),
}

impl From<Output> for CallResult {
    fn from(output: Output) -> Self {
        match output.effect {
            Some(OutputEffect::Asked(_)) => Self::Answered(output.text),
            Some(OutputEffect::Declined(_)) => Self::Declined,
            Some(OutputEffect::Expired(_)) => Self::Expired,
            _ => Self::Returned(output),
        }
    }
}

impl CallResult {
    /// The user's answer; none if they gave none, or were not asked.
    #[must_use]
    pub fn answer(self) -> Option<String> {
        match self {
            Self::Answered(text) => Some(text),
            Self::Declined | Self::Expired | Self::Returned(_) => None,
        }
    }
}

impl Run<'_> {
    /// Calls one tool, which the kind or the program lists. `name` is the program's own, and used once in a run.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`] while the call waits, for a person, an agent or a time; any other interrupt of the run.
    pub async fn call(&mut self, name: &str, tool: &str, arguments: Value) -> Result<CallResult> {
        let mut results = self.calls(name, vec![(tool.to_owned(), arguments)]).await?;
        results.pop().ok_or_else(|| Interrupt::failed(format!("the call `{name}` has no output")))
    }

    /// Asks the user, and waits for the answer as long as it takes, or as the kind allows.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn ask_user(&mut self, name: &str, question: &str, options: &[&str]) -> Result<CallResult> {
        let options = options.iter().map(ToString::to_string).collect();
        let arguments = AskUserArguments { question: question.to_owned(), options: Some(options) };
        self.call(name, tool_names::ASK_USER, serde_json::to_value(arguments)?).await
    }

    /// Makes several calls at once, each a tool with its arguments, and returns their results in this order.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn calls(&mut self, name: &str, calls: Vec<(String, Value)>) -> Result<Vec<CallResult>> {
        let turn = self.program_turn(name, calls).await?;
        if turn.calls.iter().any(|call| !self.steps.is_answered(call.id)) {
            self.offered.offer_to_program(true, self.engine, &self.agent, &self.kind);
            self.call_tools(&turn.calls).await?;
            self.offered.offer_to_program(false, self.engine, &self.agent, &self.kind);
        }
        self.give_way().await?;
        let outputs = turn.calls.iter().filter_map(|call| self.output_of(call.id).cloned());
        Ok(outputs.map(CallResult::from).collect())
    }

    /// Logs calls as a turn of the program. The turn is committed with what follows it. Without calls there is none.
    pub(in crate::run) async fn program_turn(
        &mut self,
        name: &str,
        calls: Vec<(String, Value)>,
    ) -> Result<Turn> {
        if calls.is_empty() {
            return Ok(Turn::default());
        }
        let key = StepKey::Calls(self.steps.named(name));
        let is_new = !self.steps.is_done(&key);
        if is_new {
            self.ready_for_step().await?;
        }
        let call = |(tool, arguments)| ToolCall { id: CallId::new(), tool, arguments };
        let logged = Turn { calls: calls.into_iter().map(call).collect(), ..Turn::default() };
        let turn = self.step(key, |_| async move { Ok((logged, 1)) }.boxed()).await?;
        if is_new {
            let awake = self.resumed_if_asleep(self.engine.now());
            self.batch.extend(awake);
        }
        Ok(turn)
    }
}
