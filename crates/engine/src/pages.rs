//! Lists of the store, read page by page up to the last row.

use async_trait::async_trait;
use entourage_store::{
    AgentQuery, EntityQuery, Error as StoreError, Page, RecordFilter, Result as StoreResult, RunQuery, Store,
};
use entourage_types::{Agent, Entity, Record, Run, Scope, Time, Wakeup, WakeupId};

/// Rows per page.
pub(crate) const ROWS: u32 = 200;

/// A query that selects a list of rows.
#[async_trait]
pub(crate) trait PagedQuery: Send + Sync + Sized {
    /// What the list consists of.
    type Row: Send;
    /// What names a row, so that a page can begin after it.
    type Cursor: Send;

    fn cursor(row: &Self::Row) -> Self::Cursor;

    /// Whether a page of so many rows is the last one.
    fn is_last(&self, rows: usize) -> bool {
        rows < ROWS as usize
    }

    /// Reads a page: from the row after the cursor on, or else from where the query itself begins.
    async fn page(
        &self,
        store: &dyn Store,
        scope: &Scope,
        after: Option<&Self::Cursor>,
    ) -> StoreResult<Vec<Self::Row>>;
}

/// The wake-ups that are due at this time or before, in the order of their delivery.
pub(crate) struct DueWakeups(pub(crate) Time);

#[async_trait]
impl PagedQuery for DueWakeups {
    type Row = Wakeup;
    type Cursor = (Time, WakeupId);

    fn cursor(row: &Wakeup) -> Self::Cursor {
        (row.due, row.id)
    }

    async fn page(
        &self,
        store: &dyn Store,
        _: &Scope,
        after: Option<&Self::Cursor>,
    ) -> StoreResult<Vec<Wakeup>> {
        store.due(self.0, after.copied(), ROWS).await
    }
}

macro_rules! list {
    ($query:ident, $read:ident, $row:ident) => {
        #[async_trait]
        impl PagedQuery for $query {
            type Row = $row;
            type Cursor = String;

            fn cursor(row: &$row) -> String {
                row.id.to_string()
            }

            async fn page(
                &self,
                store: &dyn Store,
                scope: &Scope,
                after: Option<&String>,
            ) -> StoreResult<Vec<$row>> {
                let after = after.or(self.page.after.as_ref()).cloned();
                let page = Page { after, limit: ROWS, bytes: usize::MAX, ..self.page.clone() };
                store.$read(scope, $query { page, ..self.clone() }).await
            }
        }
    };
}

list!(AgentQuery, agents, Agent);
list!(RunQuery, runs, Run);
list!(EntityQuery, entities, Entity);

#[async_trait]
impl<R: Record> PagedQuery for RecordFilter<R> {
    type Row = R;
    type Cursor = String;

    fn cursor(row: &R) -> String {
        row.columns().id
    }

    async fn page(&self, store: &dyn Store, scope: &Scope, after: Option<&String>) -> StoreResult<Vec<R>> {
        let after = after.or(self.page.after.as_ref()).cloned();
        let page = Page { after, limit: ROWS, ..self.page.clone() };
        store.records(scope, Self { page, ..self.clone() }).await
    }

    fn is_last(&self, rows: usize) -> bool {
        // A page that has reached its limit in bytes has few rows, and is not the last one.
        if self.page.bytes == usize::MAX { rows < ROWS as usize } else { rows == 0 }
    }
}

/// The rest of a list.
pub(crate) struct Pages<'a, L: PagedQuery> {
    store: &'a dyn Store,
    scope: &'a Scope,
    list: L,
    /// The rows of the last page.
    last: Vec<L::Cursor>,
    is_at_end: bool,
}

/// Begins to read a list. The limit of the query's page in rows does not count, and that in bytes only for records: no
/// more of them are in memory at once.
/// The query must not be a search: its matches come best first, and no page follows them.
pub(crate) fn pages<'a, L: PagedQuery>(store: &'a dyn Store, scope: &'a Scope, list: L) -> Pages<'a, L> {
    Pages { store, scope, list, last: Vec::new(), is_at_end: false }
}

impl<L: PagedQuery> Pages<'_, L> {
    /// Reads the next page; none after the last. A row that is removed meanwhile ends nothing: the page begins
    /// after the row before it. Only if the whole page before is gone, the list is read from its beginning
    /// again.
    pub(crate) async fn next(&mut self) -> StoreResult<Option<Vec<L::Row>>> {
        while !self.is_at_end {
            match self.list.page(self.store, self.scope, self.last.last()).await {
                Err(StoreError::NoRow { .. }) if self.last.pop().is_some() => {}
                page => {
                    let page = page?;
                    self.is_at_end = self.list.is_last(page.len());
                    self.last = page.iter().map(L::cursor).collect();
                    return Ok(Some(page).filter(|page| !page.is_empty()));
                }
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use entourage_store::{Commit, MemoryStore, Write};
    use entourage_types::{AgentId, Note, NoteId, Owner};

    use super::*;

    /// A store with this many agents.
    async fn filled(rows: u32) -> (MemoryStore, Vec<AgentId>) {
        let (store, at) = (MemoryStore::default(), Time::from_micros(7));
        let made: Vec<Agent> = (0..rows).map(|_| Agent::root(Owner::local(), "a", "", at)).collect();
        let ids = made.iter().map(|agent| agent.id).collect();
        let writes = made.into_iter().map(Write::NewAgent).collect();
        store.commit(Commit { writes, ..Commit::new(at) }).await.unwrap();
        (store, ids)
    }

    async fn remove(store: &MemoryStore, ids: impl IntoIterator<Item = AgentId>) {
        let writes = ids.into_iter().map(Write::PruneAgent).collect();
        store.commit(Commit { writes, ..Commit::new(Time::from_micros(7)) }).await.unwrap();
    }

    fn ids(page: Option<Vec<Agent>>) -> Vec<AgentId> {
        page.unwrap_or_default().iter().map(|agent| agent.id).collect()
    }

    #[tokio::test]
    async fn a_list_whose_rows_are_removed_meanwhile_is_read_to_its_end_without_repetition() {
        let (store, made) = filled(2 * ROWS + 1).await;
        let mut pages = pages(&store, &Scope::All, AgentQuery::default());
        let mut read: Vec<AgentId> = Vec::new();
        while let Some(page) = pages.next().await.unwrap() {
            read.extend(page.iter().map(|agent| agent.id));
            remove(&store, page[page.len().saturating_sub(3)..].iter().map(|row| row.id)).await;
        }
        assert_eq!(read, made);
    }

    #[tokio::test]
    async fn a_list_whose_whole_last_page_is_removed_is_read_from_its_beginning() {
        let (store, made) = filled(3 * ROWS).await;
        let page = ROWS as usize;
        let mut pages = pages(&store, &Scope::All, AgentQuery::default());
        assert_eq!(ids(pages.next().await.unwrap()), made[..page]);
        assert_eq!(ids(pages.next().await.unwrap()), made[page..2 * page]);
        remove(&store, made[page..2 * page].iter().copied()).await;
        assert_eq!(ids(pages.next().await.unwrap()), made[..page], "again");
        assert_eq!(ids(pages.next().await.unwrap()), made[2 * page..]);
        assert_eq!(pages.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_list_is_read_to_its_end_whatever_the_limits_of_its_page() {
        let at = Time::from_micros(7);
        let (store, made) = filled(1).await;
        let note = || Note {
            id: NoteId::new(),
            owner: Owner::local(),
            root: made[0],
            agent: made[0],
            title: "t".into(),
            content: "c".into(),
            created: at,
        };
        let writes = (0..3).map(|_| Write::record(&note()).unwrap()).collect();
        store.commit(Commit { writes, ..Commit::new(at) }).await.unwrap();
        let page = Page { limit: 1, bytes: 1, ..Page::default() };
        let notes = RecordFilter::<Note> { page, ..RecordFilter::default() };
        let mut all = pages(&store, &Scope::All, notes);
        let (mut read, mut last) = (0, all.next().await.unwrap());
        while let Some(page) = last {
            read += page.len();
            last = all.next().await.unwrap();
        }
        assert_eq!(read, 3);
    }

    #[tokio::test]
    async fn a_list_that_begins_after_an_unknown_row_is_refused() {
        let page = Page { after: Some(AgentId::new().to_string()), ..Page::default() };
        let store = MemoryStore::default();
        let mut pages = pages(&store, &Scope::All, AgentQuery { page, ..AgentQuery::default() });
        assert!(matches!(pages.next().await, Err(StoreError::NoRow { .. })));
    }
}
