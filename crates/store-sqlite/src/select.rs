//! Queries with optional conditions. Their distinct texts are few, so that the statement cache holds them
//! all; every value is bound, none is spliced in.

use std::ops::ControlFlow;

use entourage_store::{Error, Page};
use entourage_types::Scope;
use rusqlite::{Connection, Row, params_from_iter, types::Value};

use crate::fault::Result;

/// A query under construction.
pub(crate) struct Select {
    sql: String,
    values: Vec<Value>,
    behind: Option<Box<PageStart>>,
}

/// The row after which a page begins.
struct PageStart {
    id: String,
    select: Select,
}

/// A partial index and its condition: the index serves a query that contains the condition word for word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Partial {
    pub(crate) index: &'static str,
    pub(crate) holds: &'static str,
}

impl Select {
    /// Starts a query for rows of a table, with the partial index that serves it, if one does.
    pub(crate) fn of_some(columns: &str, table: &str, by: Option<Partial>) -> Self {
        match by {
            // The index is named, because without statistics SQLite can only guess how few rows it has.
            Some(Partial { index, holds }) => {
                Self::new(&format!("SELECT {columns} FROM {table} INDEXED BY {index} WHERE ({holds})"))
            }
            None => Self::new(&format!("SELECT {columns} FROM {table} WHERE true")),
        }
    }

    /// Starts a query, up to and including its first condition.
    pub(crate) fn new(head: &str) -> Self {
        Self { sql: head.to_owned(), values: Vec::new(), behind: None }
    }

    /// Adds a condition without a value.
    pub(crate) fn and(mut self, condition: &str) -> Self {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self
    }

    /// Binds the next value.
    pub(crate) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Adds a condition if there is a value to restrict it by.
    pub(crate) fn only(self, condition: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.and(condition).bind(value.to_string()),
            None => self,
        }
    }

    /// Restricts the query to what the scope includes.
    pub(crate) fn seen_by(self, scope: &Scope, owner: &str) -> Self {
        self.only(&format!("{owner} = ?"), scope.owner())
    }

    /// Lets the query find rows only if the scope includes this row of another table, whose owner is looked
    /// up once.
    pub(crate) fn of(self, scope: &Scope, table: &str, id: impl ToString) -> Self {
        match scope.owner() {
            Some(owner) => self
                .and(&format!("(SELECT owner FROM {table} WHERE id = ?) = ?"))
                .bind(id.to_string())
                .bind(owner.to_string()),
            None => self,
        }
    }

    /// Adds what follows the conditions.
    pub(crate) fn end(mut self, tail: &str) -> Self {
        self.sql.push(' ');
        self.sql.push_str(tail);
        self
    }

    /// Restricts the query to a page of `table`, in the order in which its rows were inserted. A `kind`
    /// distinguishes ids that are not unique by themselves.
    pub(crate) fn page(self, table: &str, kind: Option<&str>, scope: &Scope, page: &Page) -> Self {
        self.page_by(&format!("{table}.n"), table, kind, scope, page)
    }

    /// Like [`page`](Self::page), for few rows that are found by something other than their order.
    pub(crate) fn page_of_few(self, table: &str, scope: &Scope, page: &Page) -> Self {
        // The plus keeps SQLite from scanning the table in that order to find them.
        self.page_by(&format!("+{table}.n"), table, None, scope, page)
    }

    /// Like [`page`](Self::page), for entities that the index of words finds.
    pub(crate) fn page_of_matches(self, kind: &str, scope: &Scope, page: &Page) -> Self {
        self.page_by("entity_text.rowid", "entities", Some(kind), scope, page)
    }

    fn page_by(self, n: &str, table: &str, kind: Option<&str>, scope: &Scope, page: &Page) -> Self {
        let (than, order) = if page.newest_first { ("<", "DESC") } else { (">", "ASC") };
        let row = |id: &str| {
            Self::new(&format!("SELECT n FROM {table} WHERE id = ?"))
                .bind(id.to_owned())
                .only("kind = ?", kind)
                .seen_by(scope, "owner")
        };
        let mut select = self;
        if let Some(id) = &page.after {
            let row = row(id);
            select = select.and(&format!("{n} {than} ({})", row.sql));
            select.values.extend(row.values.iter().cloned());
            select.behind = Some(Box::new(PageStart { id: id.clone(), select: row }));
        }
        if let Some(id) = &page.until {
            let row = row(id);
            let up_to = if page.newest_first { ">=" } else { "<=" };
            select = select.and(&format!("{n} {up_to} ({})", row.sql));
            select.values.extend(row.values);
        }
        select.end(&format!("ORDER BY {n} {order} LIMIT ?")).bind(page.limit).skip(page.skip)
    }

    /// Leaves out the first rows.
    pub(crate) fn skip(self, rows: u32) -> Self {
        if rows == 0 { self } else { self.end("OFFSET ?").bind(rows) }
    }

    /// Begins a page after a row of `entities` in another order than that of their insertion: by this expression
    /// and, where that is equal, by age.
    pub(crate) fn page_in_order(self, key: &str, kind: &str, scope: &Scope, page: &Page) -> Self {
        let mut select = self;
        if let Some(id) = &page.after {
            let row = Self::new(&format!("SELECT {key}, n FROM entities WHERE id = ? AND kind = ?"))
                .bind(id.clone())
                .bind(kind.to_owned())
                .seen_by(scope, "owner");
            select = select.and(&format!("({key}, n) > ({})", row.sql));
            select.values.extend(row.values.iter().cloned());
            select.behind = Some(Box::new(PageStart { id: id.clone(), select: row }));
        }
        select.end(&format!("ORDER BY {key}, n LIMIT ?")).bind(page.limit).skip(page.skip)
    }

    /// Runs the query.
    pub(crate) fn rows<T>(
        self,
        connection: &Connection,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        self.rows_within(usize::MAX, connection, read)
    }

    /// Runs the query up to the row at which its rows reach this many bytes of text. Refuses a page after a
    /// row that does not exist.
    pub(crate) fn rows_within<T>(
        mut self,
        bytes: usize,
        connection: &Connection,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let (mut found, mut size, behind) = (Vec::new(), 0, self.behind.take());
        self.each(connection, |row| {
            found.push(read(row)?);
            if bytes != usize::MAX {
                for column in 0..row.as_ref().column_count() {
                    size += row.get_ref(column)?.as_str().map_or(0, str::len);
                }
            }
            Ok(if size >= bytes { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        // The page may be empty because the row after which it begins does not exist.
        if found.is_empty()
            && let Some(PageStart { id, select }) = behind.map(|behind| *behind)
            && !select.finds_any(connection)?
        {
            return Err(Error::NoRow { after: id }.into());
        }
        Ok(found)
    }

    /// Whether the query finds any row.
    fn finds_any(self, connection: &Connection) -> Result<bool> {
        Ok(connection.prepare_cached(&self.sql)?.exists(params_from_iter(self.values))?)
    }

    /// Runs the query row by row, until `read` breaks.
    pub(crate) fn each(
        self,
        connection: &Connection,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut statement = connection.prepare_cached(&self.sql)?;
        let mut rows = statement.query(params_from_iter(self.values))?;
        while let Some(row) = rows.next()? {
            if read(row)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns what SQLite does for the query, in steps of its virtual machine.
    #[cfg(test)]
    pub(crate) fn steps(self, connection: &Connection) -> i32 {
        let mut statement = connection.prepare(&self.sql).unwrap();
        let mut rows = statement.query(params_from_iter(self.values)).unwrap();
        while rows.next().unwrap().is_some() {}
        drop(rows);
        statement.get_status(rusqlite::StatementStatus::VmStep)
    }

    /// Returns SQLite's plan for the query.
    #[cfg(test)]
    pub(crate) fn plan(mut self, connection: &Connection) -> String {
        self.sql.insert_str(0, "EXPLAIN QUERY PLAN ");
        self.rows(connection, |row| row.get::<_, String>(3)).unwrap().join("; ")
    }
}
