//! Changing a document, also where somebody else has changed it meanwhile: what was written is kept, beside what the others
//! have changed.

use askama::Template;
use axum::{
    Json,
    http::StatusCode,
    response::{Html, IntoResponse},
};
use entourage_api::{ChangeDocument, DiffLineKind, Document, DocumentDiff, DocumentVersion, Editor};
use entourage_engine::ExpectedVersion;
use entourage_types::DocumentId;
use serde::Deserialize;

use super::{
    act::{led, unchanged},
    documents::{At, differs, document_at},
    filters,
    given::{lines, lines_as_in},
    problems::in_its_form,
    shell::{Fields, Shown, View, unrendered},
};
use crate::{
    Problem,
    extract::{Body, Id, Ids, IfMatch, Number},
    routes::v1::{document_versions, documents},
};

/// What stands in the form that changes a document.
pub(super) struct Edit {
    /// The version that it was written for.
    pub(super) seen: u64,
    pub(super) name: String,
    pub(super) content: String,
    pub(super) standing_instruction: String,
    pub(super) summary: String,
    /// What others have changed since.
    pub(super) conflict: Option<Conflict>,
}

impl Edit {
    /// The document as it is.
    pub(super) fn of(Document { head, content }: Document) -> Self {
        let (seen, name, standing_instruction) = (head.version, head.name, head.standing_instruction);
        Self { seen, name, content, standing_instruction, summary: String::new(), conflict: None }
    }
}

/// What the form sends.
#[derive(Deserialize)]
pub(super) struct Changed {
    name: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    standing_instruction: String,
    #[serde(default)]
    summary: String,
    /// The version that was the newest when the form was shown.
    seen: u64,
    /// The version that somebody else made meanwhile, on top of which this is saved all the same.
    over: Option<u64>,
}

/// What others have changed since a person began to write.
#[derive(Template)]
#[template(path = "conflict.html")]
pub(super) struct Conflict {
    pub(super) seen: u64,
    pub(super) theirs: DocumentVersion,
    pub(super) diff: DocumentDiff,
}

/// Changes a document. If there is a newer version than the person saw, that is shown, and nothing is changed.
pub(super) async fn change(view: View, Id(id): Id<DocumentId>, Fields(form): Fields<Changed>) -> Shown {
    let seen = form.over.unwrap_or(form.seen);
    let mut change = ChangeDocument {
        name: Some(form.name.clone()),
        content: Some(lines(&form.content)),
        standing_instruction: Some(lines(&form.standing_instruction)),
        summary: form.summary.clone(),
    };
    leave_unwritten(&view, id, form.seen, &mut change).await?;
    if change.name.is_none() && change.content.is_none() && change.standing_instruction.is_none() {
        return Ok(unchanged(&view, &format!("/console/documents/{id}")));
    }
    let expected = IfMatch(ExpectedVersion::Exactly(seen));
    match documents::change(view.caller.clone(), Id(id), expected, Body(change)).await {
        Ok(_) => Ok(led(&view, &format!("/console/documents/{id}"))),
        Err(problem) if problem.document.status == StatusCode::PRECONDITION_FAILED.as_u16() => {
            in_conflict(view, id, (seen, form), problem).await
        }
        Err(problem) => Err(problem),
    }
}

/// Leaves alone what the person has not changed since the version that they saw: others may have, and a browser ends the
/// lines of a text in its own way.
async fn leave_unwritten(
    view: &View,
    id: DocumentId,
    seen: u64,
    change: &mut ChangeDocument,
) -> Result<(), Problem> {
    let Json(before) = document_versions::get(view.caller.clone(), Ids(id, Number(seen))).await?;
    change.name.take_if(|written| *written == before.name);
    change.content.take_if(|written| *written == lines(&before.content));
    change.content = change.content.take().map(|written| lines_as_in(&before.content, &written));
    change.standing_instruction.take_if(|written| *written == lines(&before.standing_instruction));
    Ok(())
}

async fn in_conflict(view: View, id: DocumentId, (seen, form): (u64, Changed), problem: Problem) -> Shown {
    let caller = &view.caller;
    let mut page = document_at(caller, id, At::default()).await?;
    let Changed { name, content, standing_instruction, summary, seen: began, over: _ } = form;
    if seen >= page.head.version {
        return Err(problem);
    }
    let number = page.head.version;
    let Json(theirs) = document_versions::get(caller.clone(), Ids(id, Number(number))).await?;
    let diff = differs(caller, id, seen, number).await?;
    let conflict = Conflict { seen, theirs, diff };
    let mut response = if view.is_part() {
        in_its_form(Html(conflict.render().map_err(|error| unrendered(&error))?).into_response())
    } else {
        let conflict = Some(conflict);
        page.edit = Some(Edit { seen: began, name, content, standing_instruction, summary, conflict });
        view.at(format!("/documents/{id}")).show(page).await?
    };
    *response.status_mut() = StatusCode::PRECONDITION_FAILED;
    Ok(response)
}
