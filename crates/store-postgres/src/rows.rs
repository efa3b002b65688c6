//! Columns to values and back: ids as UUIDs, words as text, times and counts as integers, JSON as text.

use std::{fmt::Display, str::FromStr};

use entourage_store::Error;
use entourage_types::{Owner, Time};
use serde::de::DeserializeOwned;
use tokio_postgres::{Row, types::FromSql};
use uuid::Uuid;

use crate::fault::Result;

/// What stands for a NUL, which the database cannot hold, and for itself: followed by `0` and by `1`.
const ESCAPE: char = '\u{e000}';

/// The time by the clock of the database, in SQL.
pub(crate) const CLOCK: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/// A count as it is stored, in a signed integer; a larger count becomes the largest one.
pub(crate) fn int(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A column of a row.
pub(crate) fn get<'r, T: FromSql<'r>>(row: &'r Row, column: usize) -> Result<T> {
    Ok(row.try_get(column)?)
}

/// A count read back.
pub(crate) fn count(row: &Row, column: usize) -> Result<u64> {
    let int: i64 = get(row, column)?;
    u64::try_from(int).map_err(|_| unreadable(column, format!("{int} is no count")).into())
}

/// A count read back into a smaller type.
pub(crate) fn small<T: TryFrom<i64>>(row: &Row, column: usize) -> Result<T> {
    let int: i64 = get(row, column)?;
    T::try_from(int).map_err(|_| unreadable(column, format!("{int} is out of range")).into())
}

/// A time read back.
pub(crate) fn time(row: &Row, column: usize) -> Result<Time> {
    get(row, column).map(Time::from_micros)
}

/// A time that may be absent, read back.
pub(crate) fn time_if_any(row: &Row, column: usize) -> Result<Option<Time>> {
    Ok(get::<Option<i64>>(row, column)?.map(Time::from_micros))
}

/// An id read back.
pub(crate) fn id<T>(row: &Row, column: usize, of: impl Fn(Uuid) -> T) -> Result<T> {
    get(row, column).map(of)
}

/// An id that may be absent, read back.
pub(crate) fn id_if_any<T>(row: &Row, column: usize, of: impl Fn(Uuid) -> T) -> Result<Option<T>> {
    Ok(get::<Option<Uuid>>(row, column)?.map(of))
}

/// An owner read back.
pub(crate) fn owner(row: &Row, column: usize) -> Result<Owner> {
    get::<String>(row, column).map(Owner::new)
}

/// A word read back.
pub(crate) fn word<T>(row: &Row, column: usize) -> Result<T>
where
    T: FromStr,
    T::Err: Display,
{
    parse(column, get(row, column)?)
}

/// A word that may be absent, read back.
pub(crate) fn word_if_any<T>(row: &Row, column: usize) -> Result<Option<T>>
where
    T: FromStr,
    T::Err: Display,
{
    get::<Option<&str>>(row, column)?.map(|text| parse(column, text)).transpose()
}

/// A JSON column read back.
pub(crate) fn json<T: DeserializeOwned>(row: &Row, column: usize) -> Result<T> {
    serde_json::from_str(get(row, column)?).map_err(|error| unreadable(column, error).into())
}

/// A JSON column that may be absent, read back.
pub(crate) fn json_if_any<T: DeserializeOwned>(row: &Row, column: usize) -> Result<Option<T>> {
    let text: Option<&str> = get(row, column)?;
    text.map(serde_json::from_str).transpose().map_err(|error| unreadable(column, error).into())
}

/// The failure to read a column back.
pub(crate) fn unreadable(column: usize, cause: impl Display) -> Error {
    Error::Corrupt(format!("a stored value cannot be decoded: column {column}: {cause}"))
}

fn parse<T>(column: usize, text: &str) -> Result<T>
where
    T: FromStr,
    T::Err: Display,
{
    text.parse().map_err(|cause: T::Err| unreadable(column, cause).into())
}

/// Any text as it is stored.
pub(crate) fn escaped(text: &str) -> String {
    if !text.contains(['\0', ESCAPE]) {
        return text.to_owned();
    }
    text.replace(ESCAPE, "\u{e000}1").replace('\0', "\u{e000}0")
}

/// The text behind a stored one.
pub(crate) fn unescaped(stored: String) -> String {
    if !stored.contains(ESCAPE) {
        return stored;
    }
    stored.replace("\u{e000}0", "\0").replace("\u{e000}1", "\u{e000}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_stored_without_nul_and_reads_back() {
        for text in ["", "plain", "a\0b", "\u{e000}", "\u{e000}0", "\u{e000}1\0\u{e000}\u{e000}0"] {
            let stored = escaped(text);
            assert!(!stored.contains('\0'));
            assert_eq!(unescaped(stored), text);
        }
    }
}
