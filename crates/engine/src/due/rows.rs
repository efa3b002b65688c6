//! Pages of entities, for what is due by a record.

use entourage_store::{EntityQuery, Page, Store};
use entourage_types::{Entity, Scope};

use super::PAGE;
use crate::Result;

/// The page of these entities, of all owners, after `after`, and where the next page begins, if there is one.
pub(crate) async fn rows(
    store: &dyn Store,
    query: EntityQuery,
    after: Option<String>,
) -> Result<(Vec<Entity>, Option<String>)> {
    let page = Page { after, limit: PAGE, ..Page::default() };
    let found = store.entities(&Scope::All, EntityQuery { page, ..query }).await?;
    let next = found.last().filter(|_| found.len() == PAGE as usize).map(|last| last.id.clone());
    Ok((found, next))
}
