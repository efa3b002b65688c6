//! What forms leave empty: a condition that is not set, a text that is not written.

use std::{fmt::Display, str::FromStr};

use crate::{Problem, page::bad_number};

/// A text as a person wrote it: browsers end its lines as mails do.
pub(super) fn lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// The same, with lines that end as those of the text that it replaces, where all of these end alike.
pub(super) fn lines_as_in(before: &str, text: &str) -> String {
    let text = lines(text);
    let ends_as_in_mails = before.contains("\r\n") && !before.replace("\r\n", "").contains(['\r', '\n']);
    if ends_as_in_mails { text.replace('\n', "\r\n") } else { text }
}

/// What a person has written in a field that had `was` when the form was shown: none if it is the same. What others have
/// written there since is not written over.
pub(super) fn written(
    field: &str,
    text: Option<String>,
    was: Option<String>,
    is: &str,
) -> Result<Option<String>, Problem> {
    let (text, is) = (text.map(|text| lines(&text)), lines(is));
    let Some(was) = was.map(|was| lines(&was)) else { return Ok(text) };
    let Some(text) = text.filter(|text| *text != was) else { return Ok(None) };
    if is != was && is != text {
        return Err(Problem::not_now(format!(
            "somebody has changed the {field} meanwhile: copy what you wrote, load the page again, and change it there"
        )));
    }
    Ok(Some(text))
}

/// The text, unless it is blank.
pub(super) fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.trim().is_empty())
}

/// What a condition of a filter says, unless it is blank.
pub(super) fn condition<T: FromStr<Err: Display>>(
    name: &str,
    text: Option<String>,
) -> Result<Option<T>, Problem> {
    let text = text.and_then(some);
    text.map(|text| text.trim().parse().map_err(|why: T::Err| Problem::bad_query(format!("{name}: {why}"))))
        .transpose()
}

/// The number that a condition gives, unless it is blank.
pub(super) fn count<N: FromStr>(name: &str, text: Option<String>) -> Result<Option<N>, Problem> {
    let text = text.and_then(some);
    text.map(|text| text.trim().parse().map_err(|_| bad_number(name, &text))).transpose()
}
