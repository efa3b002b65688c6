//! Guardrails accept or refuse what the model is to read and what users and other agents are to read. A
//! refused message ends the run; a refused text goes back to the model with the reason, as often as the kind
//! allows.

use std::{sync::Arc, time::Duration};

use entourage_llm::Reply;
use entourage_types::{
    Item, ItemBody, Message, Notice, NoticeCode, Output, OutputEffect, StopReason, ToolCall,
};
use futures::{FutureExt, future::BoxFuture};

use crate::run::{Interrupt, Result, Run, StepError, step_error::Refusal, tools::output_limits::failed};
use crate::{
    Clock,
    guardrail::{Guardrail, GuardrailInput, Side},
    with_timeout::{NoResult, with_timeout},
};

/// The name under which an answer is refused if too few calls succeeded before it.
const MIN_CALLS: &str = "guardrails.min_calls";
/// The name under which an answer is refused that does not match the kind's schema.
const SCHEMA: &str = "output_schema";

/// The input guardrails that run while the model is asked.
pub(in crate::run) struct ParallelGuardrails(Option<BoxFuture<'static, Result<()>>>);

impl ParallelGuardrails {
    /// Returns once one of them refuses; never if none does.
    pub(in crate::run) async fn refusal(&mut self) -> Interrupt {
        match self.settled().await {
            Ok(()) => std::future::pending().await,
            Err(interrupt) => interrupt,
        }
    }

    /// Waits for all of them.
    async fn settled(&mut self) -> Result<()> {
        let Some(running) = &mut self.0 else { return Ok(()) };
        let settled = running.await;
        self.0 = None;
        settled
    }
}

impl Run<'_> {
    /// Asks the input guardrails about the messages since the agent's last turn.
    pub(in crate::run) async fn check_input(&mut self) -> Result<()> {
        // The kind's guardrails are known to exist; the one that the caller named must exist before the model
        // is asked.
        if let Some(validator) = self.record.options().and_then(|options| options.validator.as_ref()) {
            self.engine.named_guardrail(validator).map_err(Interrupt::failed)?;
        }
        let names = self.kind.guardrails.input.clone();
        let texts = if names.is_empty() { Vec::new() } else { self.unchecked() };
        if texts.is_empty() {
            return Ok(());
        }
        self.pass(&names, &texts).await?;
        let text = format!("{} accepted the input", names.join(", "));
        let notice = Notice::new(NoticeCode::InputAccepted, text);
        let at = self.engine.now();
        let kept = self.append(ItemBody::Notice(notice), at);
        self.batch.push(kept);
        Ok(())
    }

    /// Starts the input guardrails that run while the model is asked.
    pub(in crate::run) fn start_parallel_guardrails(&self) -> Result<ParallelGuardrails> {
        let names = &self.kind.guardrails.parallel;
        let texts = if names.is_empty() { Vec::new() } else { self.unchecked_messages(self.items()) };
        if texts.is_empty() {
            return Ok(ParallelGuardrails(None));
        }
        Ok(ParallelGuardrails(Some(self.passing(names, &texts)?.boxed())))
    }

    /// Waits for the parallel guardrails once the model has answered. If one refuses, the answer is counted
    /// and discarded.
    pub(in crate::run) async fn let_pass(
        &mut self,
        beside: &mut ParallelGuardrails,
        reply: &Reply,
    ) -> Result<()> {
        let settled = tokio::select! {
            biased;
            settled = beside.settled() => settled,
            () = self.control.cancel().cancelled() => return Err(Interrupt::Stopping),
        };
        if settled.is_err() {
            self.charge_wasted(&[reply.used()]).await?;
        }
        settled
    }

    /// Whether this text of the last turn may be the answer. A refused text goes back to the model.
    ///
    /// # Errors
    /// An [`Interrupt`] if texts were refused as often as the kind allows, or a guardrail cannot be asked.
    pub async fn may_answer(&mut self, words: &str) -> Result<bool> {
        if self.was_refused() {
            return Ok(false);
        }
        let Refusal { by, why } = match self.refusal(words, true).await {
            Ok(None) => return Ok(true),
            Ok(Some(refusal)) => refusal,
            Err(Interrupt::Stopped(stop)) if stop.reason == StopReason::Error => {
                // The text is in the transcript already; the notice marks it as withheld, since no guardrail
                // accepted it.
                let notice =
                    Notice::new(NoticeCode::OutputRejected, format!("answer withheld: {}", stop.cause));
                let at = self.engine.now();
                let withheld = self.append(ItemBody::Notice(notice), at);
                self.batch.push(withheld);
                return Err(Interrupt::Stopped(stop));
            }
            Err(interrupt) => return Err(interrupt),
        };
        let text = format!("`{by}` rejected the answer: {why}. Fix this and answer again.");
        let notice = Notice::new(NoticeCode::OutputRejected, text);
        let at = self.engine.now();
        let mut writes = vec![self.append(ItemBody::Notice(notice), at)];
        writes.extend(self.resumed(at));
        self.commit(writes).await?;
        Ok(false)
    }

    /// Whether the output guardrails accept a text that no model wrote and none can improve.
    ///
    /// # Errors
    /// An [`Interrupt`] when one of them cannot be asked.
    pub async fn passes_output(&self, words: &str) -> Result<bool> {
        let names = self.output_guardrails();
        if names.is_empty() {
            return Ok(true);
        }
        match self.judged(&names, &[words.to_owned()], Side::Output).await {
            Ok(()) => Ok(true),
            Err(not_done) => not_done.reason().map(|_| false),
        }
    }

    fn output_guardrails(&self) -> Vec<String> {
        let validator = self.record.options().and_then(|options| options.validator.clone());
        self.kind.guardrails.output.iter().cloned().chain(validator).collect()
    }

    /// Returns a refusal if an output guardrail rejects the call's user-visible text.
    pub(in crate::run) async fn refused(
        &self,
        call: &ToolCall,
        effect: Option<&OutputEffect>,
    ) -> Result<Option<Output>> {
        let Some(OutputEffect::Answer(words) | OutputEffect::Said(words)) = effect else { return Ok(None) };
        // A text that the user reads before the answer need not match the answer's schema.
        let is_last = self.kind.conversational || self.kind.reply == entourage_types::Reply::SendMessage;
        let is_answer = is_last || matches!(effect, Some(OutputEffect::Answer(_)));
        let Some(Refusal { by, why }) = self.refusal(words, is_answer).await? else { return Ok(None) };
        let text = format!("`{by}` rejected this, so it was not sent: {why}. Fix this and try again.");
        Ok(Some(Output { effect: Some(OutputEffect::Refused { by }), ..failed(call, text) }))
    }

    /// Returns which guardrail refuses the text, and why; none if all accept it.
    ///
    /// # Errors
    /// [`Interrupt::Stopped`] if texts were refused as often as the kind allows.
    async fn refusal(&self, words: &str, is_answer: bool) -> Result<Option<Refusal>> {
        let names = self.output_guardrails();
        let own = match self.unfounded() {
            Some(why) => Some((MIN_CALLS, why)),
            None => self.unfit(words, is_answer).await?.map(|why| (SCHEMA, why)),
        };
        let Refusal { by, why } = match own {
            Some((by, why)) => Refusal { by: by.to_owned(), why },
            None if names.is_empty() => return Ok(None),
            None => match self.judged(&names, &[words.to_owned()], Side::Output).await {
                Ok(()) => return Ok(None),
                Err(not_done) => not_done.reason()?,
            },
        };
        let times = self.own_items().filter(|item| is_refusal(item)).count();
        if times >= self.kind.guardrails.attempts as usize {
            let cause = format!("`{by}` rejected the answer, which was the last attempt: {why}");
            return Err(Interrupt::stopped(StopReason::ValidationFailed, cause));
        }
        Ok(Some(Refusal { by, why }))
    }

    /// Returns why the text does not match the kind's `output_schema`; none if it does, or need not.
    async fn unfit(&self, words: &str, is_answer: bool) -> Result<Option<String>> {
        if !is_answer || self.kind.output_schema.is_none() {
            return Ok(None);
        }
        self.engine.inner.schemas.mistakes(&self.kind, words).await.map_err(|error| {
            Interrupt::failed(format!("the `{SCHEMA}` of `{}` cannot be used: {error}", self.kind.name))
        })
    }

    /// Returns why an answer lacks sources, if fewer calls succeeded than the kind requires.
    fn unfounded(&self) -> Option<String> {
        let wanted = self.kind.guardrails.min_calls as usize;
        let answered = |item: &&Item| matches!(&item.body, ItemBody::Output(output) if !output.error);
        let made = if wanted == 0 { 0 } else { self.own_items().filter(answered).count() };
        (made < wanted).then(|| {
            let tools = self.offered.tools().names();
            format!("{made} of at least {wanted} tool calls succeeded; available tools: {tools}")
        })
    }

    /// The items of this run.
    fn own_items(&self) -> impl Iterator<Item = &Item> {
        self.items().iter().filter(|item| item.run == self.record.id)
    }

    /// Whether the turn that the program has just passed was refused before.
    fn was_refused(&self) -> bool {
        self.since_turn().any(is_refusal)
    }

    /// Returns the index of the turn that the program has just passed, if the turn was finished before the
    /// activation.
    pub(in crate::run) fn finished_turn(&self) -> Option<usize> {
        self.steps.finished_turn()
    }

    /// Returns the items before the turn that the program has just passed; all items, unless the program
    /// replays turns that were finished before.
    pub(in crate::run) fn until_turn(&self) -> &[Item] {
        self.finished_turn().map_or(self.items(), |at| &self.items()[..at])
    }

    /// Returns the items between the turn that the program has just passed and the next one, if the turn was
    /// finished before the activation; otherwise none.
    pub(in crate::run) fn since_turn(&self) -> impl Iterator<Item = &Item> {
        let after = self.finished_turn().map(|at| &self.items()[at + 1..]).unwrap_or_default();
        after.iter().take_while(|item| !matches!(item.body, ItemBody::Turn(_)))
    }

    /// Returns the messages since the run's last turn that the input guardrails have not accepted yet.
    fn unchecked(&self) -> Vec<String> {
        let passed = |item: &&Item| matches!(&item.body, ItemBody::Notice(notice) if notice.code == NoticeCode::InputAccepted);
        let since = self.items().iter().rev().take_while(|item| !passed(item)).count();
        self.unchecked_messages(&self.items()[self.items().len() - since..])
    }

    /// Returns the messages since the last answer of a model in this run, as far as these items go back.
    fn unchecked_messages(&self, items: &[Item]) -> Vec<String> {
        let is_answer = |item: &Item| match &item.body {
            ItemBody::Turn(turn) => turn.used.is_some(),
            ItemBody::Decision(decision) => decision.used.is_some(),
            _ => false,
        };
        let since = items.iter().rev().take_while(|item| item.run == self.record.id && !is_answer(item));
        let mut texts: Vec<String> = since
            .filter_map(|item| match &item.body {
                ItemBody::Message(message) if is_request(message) => Some(message.text.clone()),
                _ => None,
            })
            .collect();
        texts.reverse();
        texts
    }

    async fn pass(&self, names: &[String], texts: &[String]) -> Result<()> {
        let passing = self.passing(names, texts)?;
        tokio::select! {
            biased;
            passed = passing => passed,
            () = self.control.cancel().cancelled() => Err(Interrupt::Stopping),
        }
    }

    /// Asks these guardrails about messages; the first one that refuses ends the run.
    fn passing(
        &self,
        names: &[String],
        texts: &[String],
    ) -> Result<impl Future<Output = Result<()>> + Send + use<>> {
        let asking = self.asking(names, texts, Side::Input)?;
        Ok(async move {
            let Err(not_done) = asking.await else { return Ok(()) };
            let Refusal { by, why } = not_done.reason()?;
            let cause = format!("`{by}` rejected the message: {why}");
            Err(Interrupt::stopped(StopReason::InputRejected, cause))
        })
    }

    async fn judged(&self, names: &[String], texts: &[String], side: Side) -> Result<(), StepError<Refusal>> {
        let asking = self.asking(names, texts, side)?;
        tokio::select! {
            biased;
            said = asking => said,
            () = self.control.cancel().cancelled() => Err(Interrupt::Stopping.into()),
        }
    }

    /// Asks the guardrails of these names one after the other, about each of these texts. The future owns all
    /// it needs, so that it can run beside a call of the model.
    fn asking(
        &self,
        names: &[String],
        texts: &[String],
        side: Side,
    ) -> Result<impl Future<Output = Result<(), StepError<Refusal>>> + Send + use<>> {
        let mut guardrails: Vec<(String, Arc<dyn Guardrail>)> = Vec::with_capacity(names.len());
        for name in names {
            let check = self.engine.named_guardrail(name).map_err(Interrupt::failed)?;
            guardrails.push((name.clone(), Arc::clone(check)));
        }
        let asked = GuardrailInput {
            text: String::new(),
            side,
            kind: Arc::clone(&self.kind),
            agent: self.agent.id,
            root: self.agent.root,
            owner: self.agent.owner.clone(),
        };
        let texts = texts.to_vec();
        let (clock, seconds) = (Arc::clone(self.engine.clock()), self.kind.limits.tool_seconds);
        Ok(async move {
            for (name, check) in &guardrails {
                for text in &texts {
                    let checked = GuardrailInput { text: text.clone(), ..asked.clone() };
                    asked_of(name, &**check, &checked, &*clock, seconds).await?;
                }
            }
            Ok(())
        })
    }
}

/// Asks one guardrail, within its time limit. A guardrail that panics lets no text pass.
async fn asked_of(
    name: &str,
    check: &dyn Guardrail,
    checked: &GuardrailInput,
    clock: &dyn Clock,
    seconds: u64,
) -> Result<(), StepError<Refusal>> {
    let verdict = with_timeout(clock, Duration::from_secs(seconds), check.check(checked)).await;
    let verdict = verdict.map_err(|none| match none {
        NoResult::Crashed => Interrupt::failed(format!("guardrail `{name}` crashed")),
        NoResult::TimedOut(_) => Interrupt::failed(format!("guardrail `{name}` timed out after {seconds} s")),
    })?;
    Ok(verdict.map_err(|why| Refusal { by: name.to_owned(), why })?)
}

/// Whether a message asks the agent for something; the results of work that it delegated do not.
fn is_request(message: &Message) -> bool {
    message.from.is_outside() || message.options.is_some()
}

fn is_refusal(item: &Item) -> bool {
    match &item.body {
        ItemBody::Notice(notice) => notice.code == NoticeCode::OutputRejected,
        ItemBody::Output(output) => output.is_refused(),
        _ => false,
    }
}
