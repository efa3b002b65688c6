//! Where a page goes on that is told from the end of a transcript.

use std::{fmt, str::FromStr};

use crate::Error;

/// A place in what a transcript tells: before an item, and before one of those that are told beside the items,
/// such as a question. As text it is part of a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<T> {
    /// The number of the item.
    pub item: u64,
    /// What stands beside the items; none where nothing of that has been told.
    pub beside: Option<T>,
}

impl<T: fmt::Display> fmt::Display for Place<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.beside {
            Some(beside) => write!(f, "{}.{beside}", self.item),
            None => write!(f, "{}", self.item),
        }
    }
}

impl<T: FromStr> FromStr for Place<T> {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self, Error> {
        let (item, beside) = match given.split_once('.') {
            Some((item, beside)) => (item, Some(beside.parse::<T>().map_err(|_| bad())?)),
            None => (given, None),
        };
        Ok(Self { item: item.parse().map_err(|_| bad())?, beside })
    }
}

fn bad() -> Error {
    Error::Invalid("this is no place in a transcript".into())
}

#[cfg(test)]
mod tests {
    use entourage_types::QuestionId;

    use super::*;

    #[test]
    fn a_place_survives_text() {
        for beside in [None, Some(QuestionId::new())] {
            let place = Place { item: 7, beside };
            assert_eq!(place.to_string().parse::<Place<QuestionId>>().ok(), Some(place));
        }
        for bad in ["", "x", "7.", "7.8", ".7", "-1"] {
            assert!(bad.parse::<Place<QuestionId>>().is_err(), "{bad}");
        }
    }
}
