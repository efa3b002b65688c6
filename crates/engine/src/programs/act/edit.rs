//! An edit: the second call of a model, and the guards before what it writes replaces a document.

use entourage_tools::DocumentWrite;
use entourage_types::{Document, DocumentId, RewriteError, SUMMARY_CHARS, Shrink, check_rewrite};

use super::{
    Acting, Done, TEMPERATURE,
    decision::ActDecision,
    found::Found,
    outcome::{EditError, Outcome},
    prompt, proposal,
    reply::sentence,
    rewrite::{Rewrite, RewriteForm},
};
use crate::{
    Interrupt,
    run::{Conversation, DecisionFailed, DecisionRequest, DecisionView, Reader, Run, TextRequest},
};

/// What a model wrote to change a document.
pub(super) struct Edit {
    written: Rewrite,
    /// What was decided to be changed.
    change: String,
}

/// Why a change is not made.
enum NoChange {
    /// Less would be left of the text than the kind allows, and the user was not asked about that.
    Unconfirmed {
        /// How many percent stay at least.
        kept_percent: u8,
    },
    /// Any other reason.
    For(EditError),
}

impl From<EditError> for NoChange {
    fn from(why: EditError) -> Self {
        Self::For(why)
    }
}

impl From<RewriteError> for NoChange {
    fn from(error: RewriteError) -> Self {
        match error {
            RewriteError::Empty => Self::For(EditError::Empty),
            RewriteError::Shrinks { kept_percent, .. } => Self::Unconfirmed { kept_percent },
        }
    }
}

impl Acting {
    /// Has the new content of a document written (S5-R060), and prepares the change.
    pub(super) async fn edit(
        &self,
        run: &mut Run<'_>,
        id: DocumentId,
        found: &Found,
        decision: &ActDecision,
    ) -> Result<Done, Interrupt> {
        // As it is now, which may be later than what the decision was made on.
        let Some(document) = &run.document(id).await? else {
            let name = self.meant(decision).map(|head| head.name.clone()).unwrap_or_default();
            return Ok(Done::said(Outcome::NotUpdated { name, why: EditError::Gone }));
        };
        let name = document.head.name.clone();
        // A yes holds for the document as it was when the user was asked (K34).
        if let Some(asked) = self.proposed()
            && asked
                .target
                .is_some_and(|asked| asked.document == id && asked.version != document.head.version)
        {
            let prompt =
                format!("The document '{name}' has changed since I asked you. {}", asked.prompt.trim());
            return Ok(Self::ask(prompt, Some(&document.head), decision.change().unwrap_or_default()));
        }
        let written = match self.rewrite(run, document, found, decision).await? {
            Ok(written) => written,
            Err(failed) => return Ok(Done::said(Outcome::unwritten(name, failed))),
        };
        let edit = Edit { written, change: decision.change().unwrap_or_default().to_owned() };
        Ok(match self.change(run, document, &edit) {
            Err(NoChange::For(why)) => Done::said(Outcome::NotUpdated { name, why }),
            Err(NoChange::Unconfirmed { kept_percent }) => {
                let change = if edit.change.is_empty() { &self.message.text } else { &edit.change };
                let prompt = format!(
                    "Less than {kept_percent} % of the document '{name}' would be left after this change: {} Should I \
                     proceed?",
                    sentence(change)
                );
                Self::ask(prompt, Some(&document.head), change)
            }
            Ok(write) => {
                let web = found.web();
                let outcome = Outcome::updated(name, decision, web);
                Done { web, write: Some(write), edit: Some(edit), ..Done::said(outcome) }
            }
        })
    }

    /// Makes the change anew if the document was changed since: changes in places stand beside those of others. None if
    /// the edit is not of that kind.
    pub(super) async fn edit_again(
        &self,
        run: &Run<'_>,
        id: DocumentId,
        edit: &Edit,
    ) -> Result<Option<DocumentWrite>, Interrupt> {
        if matches!(edit.written, Rewrite::Whole(_)) {
            return Ok(None);
        }
        let document = run.document(id).await?;
        Ok(document.and_then(|document| self.change(run, &document, edit).ok()))
    }

    /// The change of a document, if all guards let it pass.
    fn change(&self, run: &Run<'_>, document: &Document, edit: &Edit) -> Result<DocumentWrite, NoChange> {
        let Document { head, content: before } = document;
        // Much may go only where the user has said yes to just that.
        let is_confirmed = |asked| proposal::is_confirmed(asked, head, &edit.change);
        let limit = Shrink::Limited { kept_percent: run.kind().limits.min_kept_percent };
        let shrink = if self.proposed().is_some_and(is_confirmed) { Shrink::Intended } else { limit };
        let content = edit.written.apply(before)?;
        check_rewrite(before, &content, shrink)?;
        if content == *before {
            return Err(EditError::Same.into());
        }
        let summary = in_short(Some(&edit.change));
        Ok(DocumentWrite::Rewrite { document: head.id, at: head.version, content, summary })
    }

    /// The second call of a model, for an edit. It belongs to the version that it reads: after a crash it is made again if
    /// there is another one by then.
    async fn rewrite(
        &self,
        run: &mut Run<'_>,
        document: &Document,
        found: &Found,
        decision: &ActDecision,
    ) -> Result<Result<Rewrite, DecisionFailed>, Interrupt> {
        let current = &document.content;
        let name = format!("rewrite of version {}", document.head.version);
        let form = RewriteForm::for_content(current, self.settings.whole_chars);
        let text = prompt::rewrite(&self.message.text, document, decision.change(), found.results(), form);
        let view = DecisionView { conversation: Conversation::None, text };
        Ok(match form {
            RewriteForm::Whole => {
                let instructions = self.settings.rewrite.clone();
                let (temperature, reader) = (Some(TEMPERATURE), Reader::Program);
                let request = TextRequest { instructions, view, temperature, reader };
                let text = run.write(&name, request).await?;
                text.map(|text| Rewrite::from_markdown(&text, current))
            }
            RewriteForm::Edits => {
                let request = DecisionRequest {
                    instructions: self.settings.rewrite_in_places.clone(),
                    view,
                    schema: Rewrite::schema(),
                    temperature: Some(TEMPERATURE),
                    attempts: 1,
                };
                let edits = run.decide(&name, request).await?;
                edits.map(|edits| Rewrite::from_json(&edits))
            }
        })
    }
}

/// The summary of a version, from what the model said at any length.
pub(super) fn in_short(said: Option<&str>) -> String {
    let line = said.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SUMMARY_CHARS - 1) {
        Some((end, _)) if line[end..].chars().count() > 1 => format!("{}…", &line[..end]),
        _ => line,
    }
}
