//! Projects, their documents, and what differs between versions of one.

use askama::Template;
use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Redirect},
};
use entourage_api::{
    ChangeProject, CreateDocument, CreateProject, DiffLineKind, Document, DocumentDiff, DocumentHead,
    DocumentVersion, Editor, PageQuery, Project, ShowDiff,
};
use entourage_engine::ExpectedVersion;
use entourage_types::{DocumentId, ProjectId, Time};
use serde::Deserialize;

use super::{
    act::{led, unchanged},
    edit::{Conflict, Edit},
    filters,
    given::{count, lines, written},
    place::Onwards,
    problems::elsewhere,
    shell::{Fields, Page, Section, Shown, View},
};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, Ids, Number},
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

    fn below(&self, view: &View) -> askama::Result<String> {
        NewProject { shown: view.now() }.render()
    }
}

/// The form of a new project.
#[derive(Template)]
#[template(path = "new_project.html")]
struct NewProject {
    /// When the form was shown: what it made was made since.
    shown: Time,
}

/// What the form of a new project sends. It needs no key: no two projects have one name.
#[derive(Deserialize)]
pub(super) struct CreatedProject {
    name: String,
    #[serde(default)]
    description: String,
    /// When the form was shown.
    shown: Option<Time>,
}

/// Creates a project, and leads to it; to the one that the same form has created. To one that was there before, the
/// refusal has a link.
pub(super) async fn create_project(view: View, Fields(new): Fields<CreatedProject>) -> Shown {
    let (name, description) = (new.name, lines(&new.description));
    let wanted = CreateProject { name: name.clone(), description: description.clone() };
    let page = |id: ProjectId| format!("/console/projects/{id}");
    Ok(match projects::created(&view.caller, wanted).await {
        Ok(project) => led(&view, &page(project.id)),
        Err(problem) => match view.caller.client.project_named(name.trim()).await? {
            Some(same) if is_of_form(new.shown, same.created) && same.description == description => {
                led(&view, &page(same.id))
            }
            Some(same) if is_name_in_use(&problem) => elsewhere(problem, page(same.id), same.name),
            _ => return Err(problem),
        },
    })
}

/// Whether what was made then may be what a form made that was shown at this time.
fn is_of_form(shown: Option<Time>, created: Time) -> bool {
    shown.is_some_and(|shown| created >= shown)
}

fn is_name_in_use(problem: &Problem) -> bool {
    problem.document.status == StatusCode::CONFLICT.as_u16()
}

pub(super) async fn all(view: View, Filter(Onwards { cursor }): Filter<Onwards>) -> Shown {
    let query = PageQuery { cursor, ..PageQuery::default() };
    let Json(page) = projects::list(view.caller.clone(), Filter(query)).await?;
    view.show(Projects { projects: page.data, next: page.next_cursor }).await
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

    fn below(&self, view: &View) -> askama::Result<String> {
        let new = NewDocument { project: self.project.id, shown: view.now() }.render()?;
        Ok(new + &EditProject { project: &self.project }.render()?)
    }
}

/// The form of a new document.
#[derive(Template)]
#[template(path = "new_document.html")]
struct NewDocument {
    project: ProjectId,
    /// When the form was shown: what it made was made since.
    shown: Time,
}

/// The form that changes a project.
#[derive(Template)]
#[template(path = "edit_project.html")]
struct EditProject<'a> {
    project: &'a Project,
}

/// What the form sends.
#[derive(Deserialize)]
pub(super) struct ChangedProject {
    name: Option<String>,
    description: Option<String>,
    was_name: Option<String>,
    was_description: Option<String>,
}

/// Changes the name and the description of a project.
pub(super) async fn change_project(
    view: View,
    Id(id): Id<ProjectId>,
    Fields(form): Fields<ChangedProject>,
) -> Shown {
    let Json(project) = projects::get(view.caller.clone(), Id(id)).await?;
    let name = written("name", form.name, form.was_name, &project.name)?;
    let description = written("description", form.description, form.was_description, &project.description)?;
    if name.is_none() && description.is_none() {
        return Ok(unchanged(&view, &format!("/console/projects/{id}")));
    }
    let change = ChangeProject { name, description };
    let _ = projects::change(view.caller.clone(), Id(id), Body(change)).await?;
    Ok(led(&view, &format!("/console/projects/{id}")))
}

/// What the form of a new document sends. It needs no key: no two documents of a project have one name.
#[derive(Deserialize)]
pub(super) struct CreatedDocument {
    name: String,
    #[serde(default)]
    content: String,
    /// When the form was shown.
    shown: Option<Time>,
}

/// Creates a document, and leads to it; to the one that the same form has created. To one that was there before, the
/// refusal has a link.
pub(super) async fn create(
    view: View,
    Id(project): Id<ProjectId>,
    Fields(new): Fields<CreatedDocument>,
) -> Shown {
    let (name, content) = (new.name, lines(&new.content));
    let wanted = CreateDocument {
        name: name.clone(),
        content: content.clone(),
        standing_instruction: String::new(),
        summary: String::new(),
    };
    let page = |id: DocumentId| format!("/console/documents/{id}");
    Ok(match documents::created(&view.caller, project, wanted).await {
        Ok(document) => led(&view, &page(document.head.id)),
        Err(problem) => match view.caller.client.document_named(project, name.trim()).await? {
            Some(same) if is_of_form(new.shown, same.head.created) && same.content == content => {
                led(&view, &page(same.head.id))
            }
            Some(same) if is_name_in_use(&problem) => elsewhere(problem, page(same.head.id), same.head.name),
            _ => return Err(problem),
        },
    })
}

pub(super) async fn project(
    view: View,
    Id(id): Id<ProjectId>,
    Filter(Onwards { cursor }): Filter<Onwards>,
) -> Shown {
    let query = PageQuery { cursor, ..PageQuery::default() };
    let Json(project) = projects::get(view.caller.clone(), Id(id)).await?;
    let Json(page) = documents::list(view.caller.clone(), Id(id), Filter(query)).await?;
    view.show(OneProject { project, documents: page.data, next: page.next_cursor }).await
}

#[derive(Deserialize, Default)]
pub(super) struct At {
    /// The version that is shown; the newest one without it.
    v: Option<String>,
    /// The version that it is compared with. What is not written is the version before the newest one; what is written
    /// and empty, none.
    with: Option<String>,
}

#[derive(Template)]
#[template(path = "document.html")]
pub(super) struct OneDocument {
    /// The name of its project.
    project: String,
    pub(super) head: DocumentHead,
    shown: DocumentVersion,
    versions: Vec<DocumentVersion>,
    diff: Option<DocumentDiff>,
    with: u64,
    /// The form that changes the newest version.
    pub(super) edit: Option<Edit>,
}

impl OneDocument {
    /// Whether the newest version is shown.
    fn is_newest(&self) -> bool {
        self.shown.number == self.head.version
    }
}

impl Page for OneDocument {
    const SECTION: Section = Section::Documents;

    fn title(&self) -> String {
        self.head.name.clone()
    }
}

pub(super) async fn document(view: View, Id(id): Id<DocumentId>, Filter(at): Filter<At>) -> Shown {
    let page = document_at(&view.caller, id, at).await?;
    view.show(page).await
}

/// A document, with the form as nobody has written in it.
pub(super) async fn document_at(
    caller: &Caller,
    id: DocumentId,
    At { v, with }: At,
) -> Result<OneDocument, Problem> {
    let document: Document = caller.client.document(id).await?.into();
    let newest = document.head.version;
    let number = count("v", v)?.unwrap_or(newest);
    let with = match &with {
        None if number == newest && number > 1 => Some(number - 1),
        _ => count("with", with)?,
    };
    let Json(shown) = document_versions::get(caller.clone(), Ids(id, Number(number))).await?;
    let query = PageQuery { limit: Some(VERSIONS), cursor: None };
    let Json(page) = document_versions::list(caller.clone(), Id(id), Filter(query)).await?;
    let diff = match with {
        Some(with) => Some(differs(caller, id, with, number).await?),
        None => None,
    };
    let with = with.unwrap_or(number.saturating_sub(1).max(1));
    let Json(project) = projects::get(caller.clone(), Id(document.head.project)).await?;
    let head = document.head.clone();
    let edit = (number == newest).then(|| Edit::of(document));
    Ok(OneDocument { project: project.name, head, shown, versions: page.data, diff, with, edit })
}

/// What differs between two versions, whichever is the earlier one.
pub(super) async fn differs(
    caller: &Caller,
    id: DocumentId,
    one: u64,
    other: u64,
) -> Result<DocumentDiff, Problem> {
    let (from, to) = (one.min(other), one.max(other));
    let Json(diff) = document_versions::diff(caller.clone(), Id(id), Filter(ShowDiff { from, to })).await?;
    Ok(diff)
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
        return document(view.at(format!("/documents/{id}")), Id(id), Filter(At::default())).await;
    }
    Ok(Redirect::to(&format!("/console/documents/{id}")).into_response())
}
