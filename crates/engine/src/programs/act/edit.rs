//! An edit: the second call of a model, and the guards before what it writes replaces a document.

use entourage_tools::DocumentWrite;
use entourage_types::{Document, DocumentId, SUMMARY_CHARS, Shrink, check_rewrite};

use super::{
    Acting, Done, TEMPERATURE,
    decision::ActDecision,
    found::Found,
    outcome::{EditError, Outcome},
    prompt,
    proposal::{self, TargetState},
    rewrite::{Rewrite, RewriteForm},
};
use crate::{
    Interrupt,
    run::{Conversation, DecisionFailed, DecisionRequest, DecisionView, Reader, Run, TextRequest},
};

impl Acting {
    /// Has the new content of a document written (S5-R060), and prepares the change.
    pub(super) async fn edit(
        &self,
        run: &mut Run<'_>,
        id: DocumentId,
        found: &Found,
        decision: &ActDecision,
    ) -> Result<Done, Interrupt> {
        let Some(document) = self.documents().iter().find(|document| document.head.id == id) else {
            let gone = Outcome::NotUpdated { name: String::new(), why: EditError::Gone };
            return Ok(Done::said(gone));
        };
        let name = document.head.name.clone();
        // A yes holds for the document as it was when the user was asked (K34).
        if let Some(asked) = self.proposed()
            && asked.target.is_some_and(|target| target.document == id)
            && proposal::state(asked, self.documents()) == TargetState::Changed
        {
            let prompt =
                format!("The document '{name}' has changed since I asked you. {}", asked.prompt.trim());
            return Ok(self.ask(prompt, decision));
        }
        let written = match self.rewrite(run, document, found, decision).await? {
            Ok(written) => written,
            Err(failed) => return Ok(Done::said(Outcome::unwritten(name, failed))),
        };
        // Much may go only where the user has said yes to just that.
        let change = decision.change().unwrap_or_default();
        let is_confirmed = |asked| proposal::is_confirmed(asked, &document.head, change);
        let limit = Shrink::Limited { kept_percent: run.kind().limits.min_kept_percent };
        let shrink = if self.proposed().is_some_and(is_confirmed) { Shrink::Intended } else { limit };
        let content = written.apply(&document.content).and_then(|content| {
            check_rewrite(&document.content, &content, shrink)?;
            if content == document.content { Err(EditError::Same) } else { Ok(content) }
        });
        Ok(match content {
            Err(why) => Done::said(Outcome::NotUpdated { name, why }),
            Ok(content) => {
                let summary = in_short(decision.change());
                let (at, web) = (document.head.version, found.web());
                let write = Some(DocumentWrite::Rewrite { document: id, at, content, summary });
                Done { outcome: Outcome::updated(name, decision, web), web, write, proposal: None }
            }
        })
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
