//! Projects, their documents, and what differs between versions of one.

use askama::Template;
use axum::{
    Json,
    response::{IntoResponse, Redirect},
};
use entourage_api::{
    DiffLineKind, Document, DocumentDiff, DocumentHead, DocumentVersion, Editor, PageQuery, Project, ShowDiff,
};
use entourage_engine::ExpectedVersion;
use entourage_types::{DocumentId, ProjectId};
use serde::Deserialize;

use super::{
    filters,
    shell::{Fields, Page, Section, Shown, View},
};
use crate::{
    extract::{Filter, Id, Ids, Number},
    routes::v1::{document_versions, documents, projects},
};

/// How many versions are listed.
const VERSIONS: u32 = 30;

#[derive(Template)]
#[template(path = "projects.html")]
struct Projects {
    projects: Vec<Project>,
    next: Option<String>,
}

impl Page for Projects {
    const SECTION: Section = Section::Documents;

    fn title(&self) -> String {
        "Projects".to_owned()
    }
}

pub(super) async fn all(view: View, Filter(query): Filter<PageQuery>) -> Shown {
    let Json(page) = projects::list(view.caller.clone(), Filter(query)).await?;
    view.show(&Projects { projects: page.data, next: page.next_cursor })
}

#[derive(Template)]
#[template(path = "project.html")]
struct OneProject {
    project: Project,
    documents: Vec<DocumentHead>,
    next: Option<String>,
}

impl Page for OneProject {
    const SECTION: Section = Section::Documents;

    fn title(&self) -> String {
        self.project.name.clone()
    }
}

pub(super) async fn project(view: View, Id(id): Id<ProjectId>, Filter(query): Filter<PageQuery>) -> Shown {
    let Json(project) = projects::get(view.caller.clone(), Id(id)).await?;
    let Json(page) = documents::list(view.caller.clone(), Id(id), Filter(query)).await?;
    view.show(&OneProject { project, documents: page.data, next: page.next_cursor })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct At {
    /// The version that is shown; the newest one without it.
    v: Option<u64>,
    /// The version that it is compared with.
    with: Option<u64>,
}

#[derive(Template)]
#[template(path = "document.html")]
struct OneDocument {
    head: DocumentHead,
    shown: DocumentVersion,
    versions: Vec<DocumentVersion>,
    diff: Option<DocumentDiff>,
    with: u64,
}

impl Page for OneDocument {
    const SECTION: Section = Section::Documents;

    fn title(&self) -> String {
        self.head.name.clone()
    }
}

pub(super) async fn document(
    view: View,
    Id(id): Id<DocumentId>,
    Filter(At { v, with }): Filter<At>,
) -> Shown {
    let caller = &view.caller;
    let Document { head, .. } = caller.client.document(id).await?.into();
    let number = v.unwrap_or(head.version);
    let Json(shown) = document_versions::get(caller.clone(), Ids(id, Number(number))).await?;
    let query = PageQuery { limit: Some(VERSIONS), cursor: None };
    let Json(page) = document_versions::list(caller.clone(), Id(id), Filter(query)).await?;
    let diff = match with {
        Some(with) => {
            let (from, to) = (with.min(number), with.max(number));
            let Json(diff) =
                document_versions::diff(caller.clone(), Id(id), Filter(ShowDiff { from, to })).await?;
            Some(diff)
        }
        None => None,
    };
    let with = with.unwrap_or(number.saturating_sub(1).max(1));
    view.show(&OneDocument { head, shown, versions: page.data, diff, with })
}

#[derive(Deserialize)]
pub(super) struct Undo {
    to: u64,
    /// The version that was the newest when the page was shown.
    seen: u64,
}

/// Brings back an earlier version, as a new one, unless there is a newer one than the person saw.
pub(super) async fn undo(
    view: View,
    Id(id): Id<DocumentId>,
    Fields(Undo { to, seen }): Fields<Undo>,
) -> Shown {
    view.caller.client.undo_document(id, to, ExpectedVersion::Exactly(seen)).await?;
    if view.is_part() {
        return document(view.at(format!("/documents/{id}")), Id(id), Filter(At { v: None, with: None }))
            .await;
    }
    Ok(Redirect::to(&format!("/console/documents/{id}")).into_response())
}
