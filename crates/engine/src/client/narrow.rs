//! Pages of lists with conditions that no index serves. A page looks at a bounded number of rows, however few fit:
//! it may have fewer rows than asked for, or none, and the next one goes on where it stopped looking.

use entourage_store::{Page, Result as StoreResult};

use crate::Result;

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
