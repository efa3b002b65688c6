//! Pages of a transcript, read from its end: how much fits on one, and where one ended.

use std::{fmt, str::FromStr};

use crate::Error;

/// Where a page of a rendered transcript ended: before an item, and before one of the entries within or
/// beside an item, such as a call or a question. As text it is part of a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageEnd<T> {
    /// The number of the item.
    pub item: u64,
    /// The last entry within or beside the items that was shown; none if none was.
    pub last: Option<T>,
}

impl<T: fmt::Display> fmt::Display for PageEnd<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.last {
            Some(last) => write!(f, "{}.{last}", self.item),
            None => write!(f, "{}", self.item),
        }
    }
}

impl<T: FromStr> FromStr for PageEnd<T> {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self, Error> {
        let (item, last) = match given.split_once('.') {
            Some((item, last)) => (item, Some(last.parse::<T>().map_err(|_| bad())?)),
            None => (given, None),
        };
        Ok(Self { item: item.parse().map_err(|_| bad())?, last })
    }
}

fn bad() -> Error {
    Error::Invalid("invalid cursor".into())
}

/// The room of a page, in bytes. The entry that takes the last of it may be longer than what is left: a page
/// on which nothing fits would lead nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimit {
    left: usize,
}

impl PageLimit {
    /// Room for so many bytes.
    #[must_use]
    pub fn of(bytes: usize) -> Self {
        Self { left: bytes }
    }

    /// Takes in an entry of so many bytes. Returns false if no room was left.
    pub fn takes(&mut self, bytes: usize) -> bool {
        let fits = self.left > 0;
        self.left = self.left.saturating_sub(bytes);
        fits
    }
}

#[cfg(test)]
mod tests {
    use entourage_types::QuestionId;

    use super::*;

    #[test]
    fn the_end_of_a_page_round_trips_through_text() {
        for last in [None, Some(QuestionId::new())] {
            let end = PageEnd { item: 7, last };
            assert_eq!(end.to_string().parse::<PageEnd<QuestionId>>().ok(), Some(end));
        }
        for bad in ["", "x", "7.", "7.8", ".7", "-1"] {
            assert!(bad.parse::<PageEnd<QuestionId>>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_page_includes_the_entry_that_fills_it_and_none_after_it() {
        for (bytes, sizes, taken) in [(3, [1, 1, 9, 1], 3), (3, [3, 0, 1, 1], 1), (0, [0, 1, 1, 1], 0)] {
            let mut room = PageLimit::of(bytes);
            assert_eq!(sizes.map(|size| room.takes(size)).map(usize::from).iter().sum::<usize>(), taken);
        }
    }
}
