//! The format that files of kinds and agencies share: YAML front matter between two lines of `---`, then
//! text.

use std::borrow::Cow;

use serde::{Deserialize, de::DeserializeOwned};

use super::{Finding, lenient, yaml};

/// A parsed file.
pub(crate) struct Read<'a, T> {
    /// The front matter as written, or as it was repaired.
    pub(crate) front: Cow<'a, str>,
    /// The front matter as a value.
    pub(crate) matter: T,
    /// The text below the front matter.
    pub(crate) body: &'a str,
    /// The line that the body begins at.
    pub(crate) body_line: usize,
}

/// Reads one file.
///
/// # Errors
/// What is wrong with it, with its line.
pub(crate) fn front_matter<'a, T: DeserializeOwned>(
    file: &str,
    text: &'a str,
) -> Result<Read<'a, T>, Finding> {
    let (front, body, body_line) = split(text).map_err(|(line, why)| Finding::mistake(file, line, why))?;
    let matter = yaml::read(front).map_err(|error| mistake(file, front, &error))?;
    Ok(Read { front: Cow::Borrowed(front), matter, body, body_line })
}

/// Reads one file like the programs that such files are written for: a value that is not valid YAML is taken
/// literally, with a remark. `keys` are the keys of this engine, which begin an entry.
///
/// # Errors
/// What is wrong with it, with its line.
pub(super) fn lenient_front_matter<'a, T: DeserializeOwned>(
    file: &str,
    text: &'a str,
    keys: &[&str],
) -> Result<(Read<'a, T>, Vec<Finding>), Finding> {
    let (front, body, body_line) = split(text).map_err(|(line, why)| Finding::mistake(file, line, why))?;
    let error = match yaml::read(front) {
        Ok(matter) => return Ok((Read { front: Cow::Borrowed(front), matter, body, body_line }, Vec::new())),
        Err(error) => error,
    };
    let is_repairable = yaml::too_much(&error).is_none();
    let Some((repaired, lines)) = is_repairable.then(|| lenient::repaired(front, keys)).flatten() else {
        return Err(mistake(file, front, &error));
    };
    let matter = yaml::read(&repaired).map_err(|error| mistake(file, &repaired, &error))?;
    let remark =
        |line| Finding::remark(file, line + 2, "this is not valid YAML; the text is taken literally");
    let remarks = lines.into_iter().map(remark).collect();
    Ok((Read { front: Cow::Owned(repaired), matter, body, body_line }, remarks))
}

fn mistake(file: &str, front: &str, error: &serde_saphyr::Error) -> Finding {
    let line = error.location().map_or(1, |at| at.line() as usize) + 1;
    let why = yaml::too_much(error).or_else(|| {
        error.location().and_then(|at| wrong_number(front, at.line() as usize, at.column() as usize, error))
    });
    Finding::mistake(file, line, why.unwrap_or_else(|| plain(error)))
}

/// What is wrong with a value that is not the number that is wanted; none if the error is about something else.
/// Lines and columns count from 1.
fn wrong_number(front: &str, line: usize, column: usize, error: &serde_saphyr::Error) -> Option<String> {
    let wanted = match plain(error).strip_prefix("invalid ")? {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of 0 or more",
        "f32" | "f64" => "a number",
        _ => return None,
    };
    let text = front.lines().nth(line.checked_sub(1)?)?;
    let (before, value) = text.split_at_checked(column.checked_sub(1)?)?;
    let value = value.split([',', '}', ']', '#']).next()?.trim();
    let key = before.trim_end().strip_suffix(':')?.rsplit(['{', ',', ' ']).next()?.trim();
    Some(format!("`{key}` is `{value}`, and must be {wanted}"))
}

/// The front matter, the body, and the line the body begins at.
fn split(text: &str) -> Result<(&str, &str, usize), (usize, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return Err((1, "the file must begin with a line of `---`, then `name: …`".into()));
    };
    let mut at = 0;
    for (index, line) in rest.split_inclusive('\n').enumerate() {
        if line.trim_end() == "---" {
            return Ok((&rest[..at], &rest[at + line.len()..], index + 3));
        }
        at += line.len();
    }
    Err((1, "the front matter has no end: close it with a second line of `---`".into()))
}

/// The first line of a parser's message: the rest shows the file, whose line the finding names.
fn plain(error: &serde_saphyr::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or(&text);
    let line = line.strip_prefix("error: ").unwrap_or(line);
    let line =
        line.split_once(": ").filter(|(head, _)| head.contains("line ")).map_or(line, |(_, tail)| tail);
    line.replace("expected sequence start", "expected a list, such as `[one, two]`")
}

/// The line of a key of the front matter; the first if it is missing.
pub(crate) fn line_of(front: &str, key: &str) -> usize {
    let found = front.lines().position(|line| line.split(':').next() == Some(key));
    found.map_or(1, |index| index + 2)
}

/// Names as a list, or on one line with commas.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Names {
    List(Vec<String>),
    Line(String),
}

impl Default for Names {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Names {
    pub(crate) fn into_vec(self) -> Vec<String> {
        let trimmed = |name: &str| name.trim().to_owned();
        match self {
            Self::List(names) => names.iter().map(|name| trimmed(name)).collect(),
            Self::Line(line) => line.split(',').map(trimmed).filter(|name| !name.is_empty()).collect(),
        }
    }
}
