//! The surface that shows the engine as a document agent: projects, documents with versions, and messages that are acted
//! upon (S5). Ids are integers here and nowhere else, lists are in the order of these, and requests fail as those of a
//! `FastAPI` service do. Each handler translates a request, calls methods of the caller's client, and translates the
//! results back.

mod act;
mod chats;
mod documents;
mod export;
pub(super) mod failures;
mod projects;
mod versions;

use axum::Json;
use entourage_engine::Client;
use entourage_types::{DocumentHead, Project};

use super::Routes;
use crate::Problem;

/// What every handler returns.
type Answer<T> = Result<Json<T>, Problem>;

pub(crate) use failures::described;

pub(crate) const ROUTES: &[Routes] =
    &[act::routes, projects::routes, documents::routes, versions::routes, export::routes, chats::routes];

/// A document by its number, without its text, and its project.
async fn document(client: &Client, number: u64) -> Result<(DocumentHead, Project), Problem> {
    let head = client.document_numbered(number).await?;
    let project = client.project(head.project).await?;
    Ok((head, project))
}
