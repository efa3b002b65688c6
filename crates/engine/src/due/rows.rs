//! Pages of records, for what is due by a record.

use entourage_store::{Page, RecordFilter, Store};
use entourage_types::{Record, Scope};

use super::PAGE;
use crate::Result;

/// The page of these records, of all owners, after `after`, and where the next page begins, if there is one.
pub(crate) async fn rows<R: Record>(
    store: &dyn Store,
    filter: RecordFilter<R>,
    after: Option<String>,
) -> Result<(Vec<R>, Option<String>)> {
    let page = Page { after, limit: PAGE, ..Page::default() };
    let found = store.records(&Scope::All, RecordFilter { page, ..filter }).await?;
    let next = found.last().filter(|_| found.len() == PAGE as usize).map(|last| last.columns().id);
    Ok((found, next))
}
