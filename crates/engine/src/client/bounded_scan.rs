//! Pages of lists with conditions that no index serves. A page looks at a bounded number of rows, however few fit:
//! it may have fewer rows than asked for, or none, and the next one goes on where it stopped looking.

use entourage_store::{Page, RecordFilter, Result as StoreResult};
use entourage_types::Record;

use super::{Client, PageLimit};
use crate::Result;

/// How many records are read at once for a test which no store knows.
const AT_ONCE: u32 = 200;
/// How many records a page scans for such a test.
const SCANNED: usize = 600;
/// At how many records of its noun a page of a search looks. Those without the words cost next to nothing.
const SEARCHED: u32 = 10_000;

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Narrowed<T> {
    /// The rows that fit.
    pub rows: Vec<T>,
    /// The row after which the next page begins; none at the end of the list.
    pub next: Option<String>,
}

impl<T> Narrowed<T> {
    /// The same page of something else.
    pub(super) fn map<V>(self, each: impl FnMut(T) -> V) -> Narrowed<V> {
        Narrowed { rows: self.rows.into_iter().map(each).collect(), next: self.next }
    }
}

/// Reads a page. `looks` says at how many rows of the `wide` list it may look; none if an index serves all
/// conditions of the `narrow` one.
pub(super) async fn narrowed<T, W, N>(
    page: Page,
    looks: Option<u32>,
    wide: impl Fn(Page) -> W,
    narrow: impl Fn(Page) -> N,
    id: impl Fn(&T) -> String,
) -> Result<Narrowed<T>>
where
    W: Future<Output = StoreResult<Vec<T>>>,
    N: Future<Output = StoreResult<Vec<T>>>,
{
    let limit = page.limit;
    let mut stop = None;
    if let Some(looks) = looks {
        let probe = Page { skip: looks.saturating_sub(1), limit: 2, bytes: usize::MAX, ..page.clone() };
        // Without a row after it, the page ends with the list.
        stop = match &wide(probe).await?[..] {
            [last, _] => Some(id(last)),
            _ => None,
        };
    }
    let page = Page { until: stop.clone(), limit: limit.saturating_add(1), ..page };
    let mut rows = narrow(page.clone()).await?;
    if rows.len() > limit as usize {
        rows.truncate(limit as usize);
        let next = rows.last().map(&id);
        return Ok(Narrowed { rows, next });
    }
    // A page also ends where its rows are large.
    if let Some(last) = rows.last().map(&id).filter(|_| page.bytes != usize::MAX) {
        let more = Page { after: Some(last.clone()), limit: 1, ..page };
        if !narrow(more).await?.is_empty() {
            return Ok(Narrowed { rows, next: Some(last) });
        }
    }
    Ok(Narrowed { rows, next: stop })
}

impl Client {
    /// A page of records that pass a test which no store knows. It looks at a bounded number of records.
    pub(super) async fn filtered<R: Record + Clone>(
        &self,
        filter: RecordFilter<R>,
        fits: impl Fn(&R) -> bool + Send,
    ) -> Result<Narrowed<R>> {
        let (limit, mut after, mut scanned) = (filter.page.limit as usize, filter.page.after.clone(), 0);
        let (mut rows, mut room): (Vec<R>, _) = (Vec::new(), PageLimit::of(filter.page.bytes));
        let id = |row: &R| row.columns().id;
        loop {
            let page = Page {
                after: after.clone(),
                // The first read suffices if all rows fit.
                limit: if scanned == 0 { AT_ONCE.min(filter.page.limit + 1) } else { AT_ONCE },
                ..filter.page.clone()
            };
            let found = self.records(RecordFilter { page, ..filter.clone() }).await?;
            let Some(last) = found.last().map(id) else { return Ok(Narrowed { rows, next: None }) };
            scanned += found.len();
            for row in found.into_iter().filter(&fits) {
                if rows.len() == limit
                    || (filter.page.bytes != usize::MAX && !room.takes(row.entity()?.body.len()))
                {
                    let next = rows.last().map(id);
                    return Ok(Narrowed { rows, next });
                }
                rows.push(row);
            }
            if scanned >= SCANNED {
                return Ok(Narrowed { rows, next: Some(last) });
            }
            after = Some(last);
        }
    }

    /// A page of records, newest first, with words or in a status that no index serves.
    pub(super) async fn searched<R: Record>(&self, filter: RecordFilter<R>) -> Result<Narrowed<R>> {
        let store = self.engine.store();
        let wide = RecordFilter { words: None, status: None, since: None, ..filter.clone() };
        let looks =
            (filter.words.is_some() || filter.status.is_some() || filter.since.is_some()).then_some(SEARCHED);
        let read = |filter: &RecordFilter<R>, page| {
            let filter = RecordFilter { page, ..filter.clone() };
            store.records(&self.scope, filter)
        };
        let (page, id) = (filter.page.clone(), |row: &R| row.columns().id);
        narrowed(page, looks, |page| read(&wide, page), |page| read(&filter, page), id).await
    }
}
