//! Sums that the rows of a table keep, which commits change.

use std::{fmt::Write, iter};

use rusqlite::{Connection, ToSql};

use crate::fault::Result;

/// A table of sums, and which of its rows.
pub(crate) struct KeptSums<'a> {
    pub(crate) table: &'a str,
    /// The columns by which a row is found, with their values.
    pub(crate) row: &'a [(&'a str, &'a dyn ToSql)],
    /// The columns that hold sums.
    pub(crate) columns: &'a [&'a str],
}

impl KeptSums<'_> {
    /// Adds to the sums of the row, which is inserted if there is none. Only the columns that change are named, since
    /// each takes about as long as finding the row. A sum beyond the integers stays the largest integer and none is below
    /// zero, even in an edited database: otherwise no later commit would succeed.
    pub(crate) fn add(&self, connection: &Connection, change: &[i64]) -> Result<()> {
        if change.iter().all(|by| *by == 0) {
            return Ok(());
        }
        let mut update = String::with_capacity(512);
        let _ = write!(update, "UPDATE {} SET ", self.table);
        let mut values: Vec<&dyn ToSql> = Vec::with_capacity(change.len() + self.row.len());
        for (column, by) in self.columns.iter().zip(change).filter(|(_, by)| **by != 0) {
            let separator = if values.is_empty() { "" } else { ", " };
            let _ = write!(update, "{separator}{column} = max(min({column} + ?, {}), 0)", i64::MAX);
            values.push(by);
        }
        for (at, (column, value)) in self.row.iter().enumerate() {
            let _ = write!(update, " {} {column} = ?", if at == 0 { "WHERE" } else { "AND" });
            values.push(value);
        }
        if connection.prepare_cached(&update)?.execute(&values[..])? > 0 {
            return Ok(());
        }
        let names: Vec<&str> =
            self.row.iter().map(|(column, _)| *column).chain(self.columns.iter().copied()).collect();
        let places = iter::repeat_n("?", names.len()).collect::<Vec<_>>().join(", ");
        let insert = format!("INSERT INTO {} ({}) VALUES ({places})", self.table, names.join(", "));
        let first: Vec<i64> = change.iter().map(|by| (*by).max(0)).collect();
        let row = self.row.iter().map(|(_, value)| *value);
        let values: Vec<&dyn ToSql> = row.chain(first.iter().map(|sum| sum as &dyn ToSql)).collect();
        connection.prepare_cached(&insert)?.execute(&values[..])?;
        Ok(())
    }
}
