//! Text that is safe for a terminal: foreign text cannot move the cursor, change colours, or reverse the
//! reading direction.
//!
//! All output goes through [`Text`], and the only way into it is a filter. Only
//! [`Paint`](super::paint::Paint) adds escape sequences, so a new command cannot forget to filter.

use std::fmt::{self, Display, Write};

use entourage_types::shows_in;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The start of each row of foreign text below a line of the program.
const MARGIN: &str = "  │ ";
/// Replaces a tab where rows are counted.
const TAB: &str = "    ";
/// Ends the style of painted text.
const PLAIN: &str = "\x1b[0m";

/// A text that is safe to write, painted or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Text(String);

/// Joins parts into one [`Text`].
macro_rules! text {
    ($($part:expr),* $(,)?) => {{
        let mut text = $crate::cli::text::Text::default();
        $(text.push($part);)*
        text
    }};
}
pub(crate) use text;

impl<T: Display> From<T> for Text {
    fn from(foreign: T) -> Self {
        let mut filter = Filter::default();
        // Writing to a string cannot fail.
        let _ = write!(filter, "{foreign}");
        Self(filter.written)
    }
}

impl FromIterator<Text> for Text {
    fn from_iter<I: IntoIterator<Item = Text>>(parts: I) -> Self {
        Self(parts.into_iter().map(|part| part.0).collect())
    }
}

impl Text {
    /// Filters a piece of a streamed text. `before` is the last character of the previous piece, and
    /// afterwards of this one: a character that joins two signs, or ends a Windows line, may come with the
    /// next piece.
    pub(super) fn following(before: &mut Option<char>, piece: &str) -> Self {
        let held = before.take_if(|char| *char == '\r').map(String::from).unwrap_or_default();
        let whole = held + piece;
        let now = whole.strip_suffix('\r').unwrap_or(&whole);
        let mut filter = Filter { before: *before, ..Filter::default() };
        // Writing to a string cannot fail.
        let _ = filter.write_str(now);
        *before = if now.len() < whole.len() { Some('\r') } else { filter.before };
        Self(filter.written)
    }

    /// Appends.
    pub(crate) fn push(&mut self, part: impl Into<Self>) {
        self.0.push_str(&part.into().0);
    }

    /// This text in a colour or another style; `style` is a number of ECMA-48's SGR.
    pub(super) fn painted(self, style: u8) -> Self {
        if self.0.is_empty() { self } else { Self(format!("\x1b[{style}m{}{PLAIN}", self.0)) }
    }

    /// The text as it is written to the terminal.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// How many columns it takes, on one line.
    pub(super) fn width(&self) -> usize {
        self.pieces().map(|piece| piece.width()).sum()
    }

    /// How many rows it takes on a terminal with this many columns.
    pub(super) fn height(&self, columns: usize) -> usize {
        let (mut rows, mut taken) = (1, 0);
        for width in self.pieces().map(|piece| piece.width()) {
            // A wide sign is not split: it begins the next row.
            if taken + width > columns {
                rows += 1;
                taken = 0;
            }
            taken += width;
        }
        rows
    }

    /// On one line, cut to this many columns.
    pub(super) fn cut(&self, columns: usize) -> Self {
        let (mut cut, mut left) = (String::new(), Some(columns));
        for piece in self.pieces() {
            if let Piece::Style(style) = piece {
                // Styles end, even if the text is cut before.
                cut.push_str(style);
                continue;
            }
            left = left.and_then(|left| left.checked_sub(piece.width()));
            if left.is_some() {
                cut.push_str(if piece.is_line_end() { " " } else { piece.as_str() });
            }
        }
        Self(cut)
    }

    fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let mut rest = self.0.as_str();
        std::iter::from_fn(move || {
            let end = match rest.strip_prefix("\x1b[") {
                Some(style) => style.find('m').map(|end| end + 3)?,
                None => rest.graphemes(true).next()?.len(),
            };
            let (piece, after) = rest.split_at(end);
            rest = after;
            Some(if piece.starts_with('\x1b') { Piece::Style(piece) } else { Piece::Shown(piece) })
        })
    }
}

/// A part of a text that is never split.
enum Piece<'a> {
    /// An escape sequence of the program.
    Style(&'a str),
    /// One grapheme.
    Shown(&'a str),
}

impl Piece<'_> {
    fn as_str(&self) -> &str {
        let (Self::Style(text) | Self::Shown(text)) = self;
        text
    }

    fn is_line_end(&self) -> bool {
        matches!(self, Self::Shown("\n" | "\t"))
    }

    fn width(&self) -> usize {
        match self {
            Self::Style(_) => 0,
            Self::Shown(_) if self.is_line_end() => 1,
            Self::Shown(text) => text.width(),
        }
    }
}

/// Passes characters that only show, and writes the others as codes.
#[derive(Default)]
struct Filter {
    written: String,
    /// The character before the next one, as [`shows_in`] tracks it.
    before: Option<char>,
}

impl Write for Filter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut chars = text.chars().peekable();
        while let Some(char) = chars.next() {
            match char {
                // Windows line ends count as line ends.
                '\r' if chars.peek() == Some(&'\n') => {}
                char if shows_in(&mut self.before, char) => self.written.push(char),
                char => write!(self.written, "{}", char.escape_unicode())?,
            }
        }
        Ok(())
    }
}

/// The same JSON value, with these characters written as JSON escapes.
pub(super) fn json(written: &str) -> String {
    let mut safe = String::with_capacity(written.len());
    let mut before = None;
    for char in written.chars() {
        if shows_in(&mut before, char) {
            safe.push(char);
        } else {
            for unit in char.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(safe, "\\u{unit:04x}");
            }
        }
    }
    safe
}

/// Rows of a list, whose cells stand below each other.
pub(super) fn table<const CELLS: usize>(rows: Vec<[Text; CELLS]>) -> Vec<Text> {
    let widths: [usize; CELLS] =
        std::array::from_fn(|cell| rows.iter().map(|row| row[cell].width()).max().unwrap_or(0));
    let line = |row: [Text; CELLS]| {
        // Nothing follows the last cell that says something.
        let filled = row.iter().rposition(|cell| cell.width() > 0).map_or(0, |last| last + 1);
        let mut line = Text::default();
        for (at, cell) in row.into_iter().enumerate().take(filled) {
            let missing = if at + 1 < filled { widths[at].saturating_sub(cell.width()) + 2 } else { 0 };
            line.push(cell);
            line.push(" ".repeat(missing));
        }
        line
    };
    rows.into_iter().map(line).collect()
}

/// Breaks foreign text into rows of at most this many columns, between words where possible. Rows of an indented line are
/// indented as it is, so that none passes for another line.
pub(super) fn rows(foreign: &str, columns: usize) -> Vec<String> {
    let Text(safe) = Text::from(foreign);
    let columns = columns.max(2);
    let mut rows = Vec::new();
    for line in safe.replace('\t', TAB).lines() {
        let (mut row, mut width) = (String::new(), 0);
        let blanks = line.chars().take_while(|sign| *sign == ' ').count();
        let indented = " ".repeat(blanks.min((columns - 2) / 2));
        let start = indented.len();
        for word in line.split_word_bounds() {
            if width > start && width + word.width() > columns {
                rows.push(std::mem::replace(&mut row, indented.clone()).trim_end().to_owned());
                width = start;
                if word.trim().is_empty() {
                    continue;
                }
            }
            for sign in word.graphemes(true) {
                if width > start && width + sign.width() > columns {
                    rows.push(std::mem::replace(&mut row, indented.clone()));
                    width = start;
                }
                row.push_str(sign);
                width += sign.width();
            }
        }
        rows.push(row);
    }
    rows
}

/// Foreign text behind a margin of the program: none of its rows can pass for a line of the program.
pub(super) fn block(foreign: &str, columns: usize) -> Vec<String> {
    let rows = rows(foreign.trim_ascii(), columns.saturating_sub(MARGIN.width()));
    rows.into_iter().map(|row| format!("{MARGIN}{row}")).collect()
}

/// The same for a text that is shown as it is: with its own lines, and on a terminal of so many columns in rows that
/// fit, since the terminal would wrap a line to below the margin. Each row begins with the end of the line before.
pub(super) fn margined(foreign: &str, columns: Option<usize>) -> Text {
    let rows = match columns {
        Some(columns) => rows(foreign, columns.saturating_sub(MARGIN.width())),
        None => Text::from(foreign).0.lines().map(str::to_owned).collect(),
    };
    rows.into_iter().map(|row| text!["\n", MARGIN, row]).collect()
}

#[cfg(test)]
mod tests;
