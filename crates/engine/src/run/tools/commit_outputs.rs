//! Outputs of calls, made or not: each is committed as soon as it exists, and with the last one of a turn all
//! of them join the transcript.

use std::{collections::BTreeMap, sync::Arc};

use entourage_store::{Error as StoreError, Write};
use entourage_tools::DocumentEdit;
use entourage_types::{Checkpoint, Editor, Output, RecordWrite, StepKey, StepState, SubOutput, ToolCall};

use crate::run::{
    Interrupt, Result, Run,
    tools::{calls::Calls, output_limits::failed},
    trace::RunSpans,
};
use crate::{
    Error,
    documents::{Documents, Refused},
    metrics,
};

/// Of how many calls of code a model reads the arguments that a person gave, and how many bytes of each.
const SHOWN_CALLS: usize = 10;
const SHOWN_ARGUMENTS: usize = 1_000;

impl Run<'_> {
    /// Commits a call's output together with these writes, then counts and traces the call.
    pub(in crate::run) async fn finish(
        &mut self,
        calls: &Calls<'_>,
        index: usize,
        mut output: Output,
        writes: Vec<Write>,
    ) -> Result<()> {
        if let Some(of) = calls.maker(index) {
            self.keep_within_limits(&mut output);
            return self.finish_sub_call(calls, index, of.id, output, writes).await;
        }
        self.end_code(calls, index).await?;
        // Code reads what its calls returned as it is; it is the model that must know.
        let edited = calls.made_by(index).filter_map(|call| Some((&call.tool, self.edited(call)?)));
        let mut notes: Vec<String> = edited
            .map(|(tool, arguments)| {
                let mut arguments = arguments.to_string();
                arguments.truncate(arguments.floor_char_boundary(SHOWN_ARGUMENTS));
                format!("The user changed the arguments of `{tool}` to {arguments}.\n")
            })
            .collect();
        if let Some(more) = notes.len().checked_sub(SHOWN_CALLS).filter(|more| *more > 0) {
            notes.truncate(SHOWN_CALLS);
            notes.push(format!("The user changed the arguments of {more} more calls.\n"));
        }
        if !notes.is_empty() {
            output.text.insert_str(0, &notes.concat());
        }
        self.finish_all(calls.turn(), BTreeMap::from([(index, output)]), writes).await
    }

    /// The same with the records that the call returned, and what it does to a document. If the store refuses these for
    /// what other writers did, none is stored, and the call's output says why.
    pub(in crate::run) async fn finish_with_effects(
        &mut self,
        calls: &Calls<'_>,
        index: usize,
        mut output: Output,
        records: Vec<RecordWrite>,
        edit: Option<DocumentEdit>,
    ) -> Result<()> {
        if edit.is_none() && !records.iter().any(RecordWrite::is_conditional) {
            let writes = records.into_iter().map(Write::from).collect();
            return self.finish(calls, index, output, writes).await;
        }
        self.end_code(calls, index).await?;
        // The batch must not be refused with them.
        self.flush().await?;
        match calls.maker(index) {
            Some(_) => self.keep_within_limits(&mut output),
            None => self.prepare(&calls[index], &mut output),
        }
        match self.commit_effects(calls, index, &output, &records, edit.as_ref()).await? {
            Some(why) => self.finish(calls, index, failed(&calls[index], why), vec![]).await,
            None => {
                metrics::tool_step_done();
                RunSpans::of(self).call(&calls[index], &output);
                self.join_outputs(calls.turn()).await
            }
        }
    }

    /// Commits a call's output with its records and its edit of a document, and nothing else. Returns why that is
    /// refused, if it is.
    async fn commit_effects(
        &mut self,
        calls: &Calls<'_>,
        index: usize,
        output: &Output,
        records: &[RecordWrite],
        edit: Option<&DocumentEdit>,
    ) -> Result<Option<String>> {
        let (store, owner) = (Arc::clone(self.engine.store()), self.agent.owner.clone());
        let editor = Editor::Agent { agent: self.agent.id, run: Some(self.record.id) };
        loop {
            let at = self.engine.now();
            let key = StepKey::Tool(calls[index].id);
            // It joins the transcript if the store takes it.
            let item = calls.maker(index).map(|of| {
                let output = SubOutput { of: of.id, output: output.clone() };
                self.next_item(Some(key.clone()), output.into(), at)
            });
            let kept = match &item {
                Some(item) => Checkpoint::Item(item.seq),
                None => Checkpoint::Output(Box::new(output.clone())),
            };
            let mut commit = self.fenced(at);
            if let Some(edit) = edit {
                match Documents::of(&*store, &owner, editor).edit(edit, &mut commit).await {
                    Err(Error::Store(failure)) => return Err(failure.into()),
                    Err(refusal) => return Ok(Some(refusal.to_string())),
                    Ok(()) => {}
                }
            }
            records.iter().for_each(|write| commit.record(write.clone()));
            if item.is_none() || self.steps.get(&key).is_some() {
                commit.push(Write::Step(self.steps.row(key, StepState::Done(Some(kept)), at)));
            }
            commit.writes.extend(item.clone().map(Write::Item));
            let refusal = match self.apply(commit).await {
                Err(Interrupt::Store(
                    refusal @ (StoreError::OtherVersion { .. }
                    | StoreError::NameTaken { .. }
                    | StoreError::NoParent { .. }
                    | StoreError::Exists { .. }),
                )) => refusal,
                done => {
                    done?;
                    item.iter().for_each(|item| self.join_transcript(item));
                    return Ok(None);
                }
            };
            let of_edit = edit.map(|edit| Refused::of(refusal.clone(), edit.name().unwrap_or_default()));
            match of_edit {
                Some(Refused::Again) => {}
                Some(Refused::For(why)) if !matches!(why, Error::Store(_)) => {
                    return Ok(Some(why.to_string()));
                }
                _ => return Ok(Some(format!("{refusal}; nothing was stored"))),
            }
        }
    }

    /// Lets the outputs of a turn join the transcript if all of them are on record and have not joined it.
    pub(in crate::run) async fn join_outputs(&mut self, calls: &[ToolCall]) -> Result<()> {
        let has_joined = calls.iter().all(|call| self.steps.is_answered(call.id));
        if has_joined || !calls.iter().all(|call| self.is_done(call)) {
            return Ok(());
        }
        self.keep_outputs(calls, &BTreeMap::new(), vec![]).await
    }

    /// Gives the calls from index `from` on this output without making them, in one commit.
    ///
    /// # Errors
    /// An [`Interrupt`](crate::run::Interrupt) when the store fails.
    pub async fn decline(&mut self, calls: &[ToolCall], from: usize, why: &str) -> Result<()> {
        // A call that has begun continues.
        let is_new = |call: &ToolCall| self.steps.of_call(call).is_none() && !self.steps.is_answered(call.id);
        let declined: BTreeMap<usize, Output> = calls
            .iter()
            .enumerate()
            .skip(from)
            .filter(|(_, call)| is_new(call))
            .map(|(index, call)| (index, failed(call, why)))
            .collect();
        if declined.is_empty() { Ok(()) } else { self.finish_all(calls, declined, vec![]).await }
    }

    /// Commits outputs, by the index of their calls in the turn, then counts and traces the calls.
    async fn finish_all(
        &mut self,
        calls: &[ToolCall],
        mut outputs: BTreeMap<usize, Output>,
        writes: Vec<Write>,
    ) -> Result<()> {
        for (index, output) in &mut outputs {
            self.prepare(&calls[*index], output);
        }
        self.keep_outputs(calls, &outputs, writes).await?;
        for (index, output) in &outputs {
            metrics::tool_step_done();
            RunSpans::of(self).call(&calls[*index], output);
        }
        Ok(())
    }

    /// Truncates an output to the stored size, and notes edited arguments.
    fn prepare(&mut self, call: &ToolCall, output: &mut Output) {
        self.keep_within_limits(output);
        // The transcript keeps the arguments that the agent gave; the output names those that a person gave.
        if let Some(arguments) = self.edited(call) {
            let text = &output.text;
            output.text = format!("The user changed the arguments to {arguments}. With those:\n{text}");
        }
    }

    /// Truncates an output to the stored size.
    fn keep_within_limits(&mut self, output: &mut Output) {
        self.transcript.keep_within(output, self.kind.limits.max_output_chars);
    }

    /// Ends what the code of a call has left, if it ran code, before the call gets its output.
    async fn end_code(&mut self, calls: &Calls<'_>, index: usize) -> Result<()> {
        if calls.maker(index).is_some() {
            return Ok(());
        }
        self.drop_sub_calls(calls, index).await?;
        let forgotten = self.without_snapshot(calls[index].id);
        self.batch.extend(forgotten);
        Ok(())
    }

    async fn keep_outputs(
        &mut self,
        calls: &[ToolCall],
        outputs: &BTreeMap<usize, Output>,
        mut writes: Vec<Write>,
    ) -> Result<()> {
        let at = self.engine.now();
        let mut places = calls.iter().enumerate();
        if !places.all(|(index, call)| outputs.contains_key(&index) || self.is_done(call)) {
            for (index, output) in outputs {
                let kept = StepState::Done(Some(Checkpoint::Output(Box::new(output.clone()))));
                writes.push(Write::Step(self.steps.row(StepKey::Tool(calls[*index].id), kept, at)));
            }
            return self.commit(writes).await;
        }
        for (index, call) in calls.iter().enumerate() {
            let kept = || self.steps.of_call(call)?.output();
            let Some(body) = outputs.get(&index).or_else(kept).cloned() else {
                return Err(Interrupt::failed(format!("the output of call {} is not on record", call.id)));
            };
            // The output is in the transcript from here on, so the row of a step that has begun need not hold
            // it too.
            writes.extend(self.checkpoint(StepKey::Tool(call.id), body, 1, at));
        }
        writes.extend(self.resumed_if_asleep(at));
        self.commit(writes).await
    }

    fn is_done(&self, call: &ToolCall) -> bool {
        self.steps.of_call(call).is_some_and(|step| step.state.is_done())
    }
}
