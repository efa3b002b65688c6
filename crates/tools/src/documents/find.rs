//! Finding the project and the document that a call names: by name, however that is spelled, or by id.

use entourage_types::{Document, DocumentHead, DocumentId, Project, ProjectId, Record, UniqueName};

use crate::{Context, Error, RecordQuery, RecordScope, Result, find};

/// So many names are listed in an error.
const NAMED: u32 = 30;

/// Returns the project that a call names. A call that names none means the only one.
pub(super) async fn project(context: &Context, given: Option<&str>) -> Result<Project> {
    let all = RecordQuery { limit: NAMED + 1, ..RecordQuery::of::<Project>(RecordScope::Owner) };
    let Some(given) = given.map(str::trim).filter(|given| !given.is_empty()) else {
        let mut projects: Vec<Project> = find(&*context.reader, all).await?;
        return match (projects.pop(), projects.is_empty()) {
            (Some(only), true) => Ok(only),
            (Some(last), false) => {
                projects.push(last);
                Err(Error::Failed(format!(
                    "there are several projects: name one as `project`. {}",
                    names(&projects, project_name)
                )))
            }
            (None, _) => Err(Error::Failed("there are no projects; the user has to create one".to_owned())),
        };
    };
    let by_id = match given.parse::<ProjectId>() {
        Ok(id) => one(context, id).await?,
        Err(_) => None,
    };
    let found = match by_id {
        Some(found) => Some(found),
        None => named(context, UniqueName::of_owner(given)).await?,
    };
    match found {
        Some(found) => Ok(found),
        None => {
            let projects = names(&find(&*context.reader, all).await?, project_name);
            Err(Error::Failed(format!("there is no project `{given}`. {projects}")))
        }
    }
}

/// Returns the document that a call names, of the project that it names, or of the only one.
pub(super) async fn document(context: &Context, of: Option<&str>, given: &str) -> Result<Document> {
    if let Ok(id) = given.trim().parse::<DocumentId>()
        && let Some(found) = one::<Document>(context, id).await?
        && (of.is_none() || project(context, of).await?.id == found.head.project)
    {
        return Ok(found);
    }
    let project = project(context, of).await?;
    let below = Project::as_parent(project.id);
    if let Some(found) = named(context, UniqueName::below(&below, given)).await? {
        return Ok(found);
    }
    let all = RecordQuery::of::<DocumentHead>(RecordScope::Below(below));
    let documents = find(&*context.reader, RecordQuery { limit: NAMED + 1, ..all }).await?;
    let documents = names(&documents, |head: &DocumentHead| &head.name);
    Err(Error::Failed(format!("the project `{}` has no document `{given}`. {documents}", project.name)))
}

async fn one<R: Record>(context: &Context, id: impl ToString) -> Result<Option<R>> {
    let found = context.reader.record(R::KIND, &id.to_string()).await?;
    let read = found.map(|entity| R::from_entity(&entity)).transpose();
    read.map_err(|error| Error::Failed(error.to_string()))
}

async fn named<R: Record>(context: &Context, name: UniqueName) -> Result<Option<R>> {
    let query = RecordQuery::of::<R>(RecordScope::Owner);
    let query = RecordQuery { name: Some(name), with_texts: true, limit: 1, ..query };
    Ok(find(&*context.reader, query).await?.pop())
}

fn project_name(project: &Project) -> &String {
    &project.name
}

/// Returns a sentence that lists names.
fn names<T>(found: &[T], name: impl Fn(&T) -> &String) -> String {
    let shown: Vec<String> =
        found.iter().take(NAMED as usize).map(|found| format!("`{}`", name(found))).collect();
    match (shown.len(), found.len() > shown.len()) {
        (0, _) => "There are none.".to_owned(),
        (_, false) => format!("There are: {}", shown.join(", ")),
        (_, true) => format!("There are {} and others", shown.join(", ")),
    }
}
