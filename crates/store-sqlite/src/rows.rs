//! Columns to values and back: ids and words as text, times and counts as integers, JSON as text.

use std::{fmt::Display, str::FromStr};

use entourage_types::Time;
use rusqlite::{Row, types::Type};
use serde::de::DeserializeOwned;

/// A count as SQLite stores it, in a signed integer; a larger count becomes the largest one.
pub(crate) fn int(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count read back.
pub(crate) fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let int: i64 = row.get(column)?;
    u64::try_from(int).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, int))
}

/// A time read back.
pub(crate) fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Time> {
    row.get(column).map(Time::from_micros)
}

/// A time that may be absent, read back.
pub(crate) fn time_if_any(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Time>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Time::from_micros))
}

/// An id or a word read back.
pub(crate) fn word<T>(row: &Row<'_>, column: usize) -> rusqlite::Result<T>
where
    T: FromStr,
    T::Err: Display,
{
    parse(column, row.get_ref(column)?.as_str()?)
}

/// An id or a word that may be absent, read back.
pub(crate) fn word_if_any<T>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>>
where
    T: FromStr,
    T::Err: Display,
{
    row.get_ref(column)?.as_str_or_null()?.map(|text| parse(column, text)).transpose()
}

/// A JSON column read back.
pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    serde_json::from_str(row.get_ref(column)?.as_str()?).map_err(|error| unreadable(column, error))
}

/// A JSON column that may be absent, read back.
pub(crate) fn json_if_any<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    let text = row.get_ref(column)?.as_str_or_null()?;
    text.map(serde_json::from_str).transpose().map_err(|error| unreadable(column, error))
}

/// The failure to read a column back.
pub(crate) fn unreadable(column: usize, cause: impl Display) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, cause.to_string().into())
}

fn parse<T>(column: usize, text: &str) -> rusqlite::Result<T>
where
    T: FromStr,
    T::Err: Display,
{
    text.parse().map_err(|cause: T::Err| unreadable(column, cause))
}
