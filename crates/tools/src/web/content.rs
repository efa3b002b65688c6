//! What a body is, by its declared type, and its bytes as text.

use std::borrow::Cow;

/// How a body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A page, of which the readable part is wanted.
    Html,
    /// Text as it stands.
    Text,
}

impl Form {
    /// The form of a `Content-Type`; none when it is not text. A body without one is taken as text.
    pub(super) fn of(content_type: &str) -> Option<Self> {
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "text/html" | "application/xhtml+xml" => Some(Self::Html),
            "" | "application/json" | "application/xml" | "application/x-ndjson" => Some(Self::Text),
            _ if essence.starts_with("text/") => Some(Self::Text),
            _ if essence.ends_with("+json") || essence.ends_with("+xml") => Some(Self::Text),
            _ => None,
        }
    }
}

/// How far into a page its own word on its charset is looked for.
const HEAD_BYTES: usize = 1024;

/// A body as text: UTF-8, unless it is declared to be the other charset that the web still has.
pub(super) fn decoded(body: &[u8], content_type: &str) -> String {
    if let Ok(text) = std::str::from_utf8(body) {
        return text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
    }
    let head = String::from_utf8_lossy(&body[..body.len().min(HEAD_BYTES)]);
    let charset = charset(content_type).or_else(|| charset(&head)).unwrap_or_default();
    match charset.as_str() {
        "iso-8859-1" | "iso8859-1" | "latin1" | "l1" | "us-ascii" | "ascii" | "windows-1252" | "cp1252" => {
            body.iter().map(|&byte| windows_1252(byte)).collect()
        }
        _ => String::from_utf8_lossy(body).into_owned(),
    }
}

/// The value of the first `charset=`.
fn charset(text: &str) -> Option<String> {
    let text: Cow<'_, str> = text.to_ascii_lowercase().into();
    let (_, value) = text.split_once("charset=")?;
    let value = value.trim_start_matches(['"', '\'', ' ']);
    let end = value.find(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c)).unwrap_or(value.len());
    Some(value[..end].to_owned())
}

/// What the web means by Latin-1: the bytes from 0x80 to 0x9f are characters, not controls.
fn windows_1252(byte: u8) -> char {
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
        '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9f => HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}
