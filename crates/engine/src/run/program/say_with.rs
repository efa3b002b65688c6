//! The last text of a program, in one commit with what it is about: a change of a document, records.

use std::sync::Arc;

use entourage_store::{Error as StoreError, Write};
use entourage_tools::DocumentWrite;
use entourage_types::{Act, ActNumbers, Editor, ItemBody, RecordWrite, StepKey, Turn};

use crate::{
    Error,
    documents::{Documents, Refused},
    run::{
        Interrupt, Result, Run,
        trace::{Done, RunSpans},
    },
    trace::gen_ai,
};

/// What is committed with a text, or not at all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Together {
    /// What is done to a document.
    pub(crate) document: Option<DocumentWrite>,
    /// What the run did.
    pub(crate) act: Option<Act>,
    /// Other records.
    pub(crate) records: Vec<RecordWrite>,
}

impl Run<'_> {
    /// The last text that an earlier activation of this run put on record, if one did: then the work is done, and what it
    /// rested on may have changed since, by the work itself.
    pub(crate) fn said_last(&mut self) -> Option<String> {
        let at = self.steps.checkpoint(&StepKey::LastText)?;
        let ItemBody::Turn(turn) = &self.transcript.items().get(at)?.body else { return None };
        let text = turn.text.clone();
        self.steps.pass(&StepKey::LastText);
        Some(text)
    }

    /// Adds the run's last text, as [`say`](Self::say) does, and commits it with what belongs to it: all of that is done,
    /// or none. A program asks [`said_last`](Self::said_last) first, whether that is on record. The inner error says why it
    /// is refused: then nothing was written, and the program may say something else.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn say_with(
        &mut self,
        text: &str,
        together: &Together,
    ) -> Result<std::result::Result<(), Error>> {
        let began = self.engine.now();
        let said = self.commit_with(text, together).await?;
        let done = if said.is_ok() { Done::Whole } else { Done::Refused };
        RunSpans::of(self).did(gen_ai::STORE, began, done);
        Ok(said)
    }

    async fn commit_with(
        &mut self,
        text: &str,
        together: &Together,
    ) -> Result<std::result::Result<(), Error>> {
        // The batch must not be refused with it.
        self.flush().await?;
        let (store, owner) = (Arc::clone(self.engine.store()), self.agent.owner.clone());
        let editor = Editor::Agent { agent: self.agent.id, run: Some(self.record.id) };
        loop {
            let at = self.engine.now();
            let mut commit = self.fenced(at);
            let mut written = None;
            if let Some(write) = &together.document {
                match Documents::of(&*store, &owner, editor).write(write, &mut commit).await {
                    Err(Error::Store(failure)) => return Err(failure.into()),
                    Err(refusal) => return Ok(Err(refusal)),
                    Ok(head) => written = Some(head),
                }
            }
            if let Some(act) = &together.act {
                let (document, version) = written.map(|head| (head.number, head.version)).unzip();
                let numbers = ActNumbers { document, version, ..act.numbers };
                commit.record(RecordWrite::of(&Act { numbers, at, ..act.clone() })?);
            }
            together.records.iter().for_each(|record| commit.record(record.clone()));
            let turn = Turn { text: text.to_owned(), ..Turn::default() };
            let item = self.next_item(Some(StepKey::LastText), turn.into(), at);
            commit.push(Write::Item(item.clone()));
            let refusal = match self.apply(commit).await {
                Err(Interrupt::Store(
                    refusal @ (StoreError::OtherVersion { .. }
                    | StoreError::NameTaken { .. }
                    | StoreError::NoParent { .. }
                    | StoreError::Exists { .. }),
                )) => refusal,
                done => {
                    done?;
                    self.steps.pass(&StepKey::LastText);
                    self.join_transcript(&item);
                    return Ok(Ok(()));
                }
            };
            let name = together.document.as_ref().and_then(DocumentWrite::name).unwrap_or_default();
            match Refused::of(refusal, name) {
                Refused::Again => {}
                Refused::For(error) => return Ok(Err(error)),
            }
        }
    }
}
