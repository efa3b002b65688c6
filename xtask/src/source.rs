//! Rust text as code: comments and the insides of literals blanked, tests marked.
//!
//! Enough of a lexer for rules that search for words, so that none matches in a comment or a
//! string.

/// A Rust file as code, with every line as long as in the original.
#[derive(Debug)]
pub(crate) struct Source {
    code: String,
    test: Vec<bool>,
}

/// One line of code.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// The code of the line.
    pub code: &'a str,
    /// Whether it is under `#[cfg(test)]`.
    pub test: bool,
}

impl Source {
    /// The code in a file's text.
    pub(crate) fn new(text: &str) -> Self {
        let code = blank(text);
        let mut test = vec![false; code.lines().count()];
        for (start, attribute) in code.match_indices("#[cfg(test)]") {
            let end = item_end(&code, start + attribute.len());
            let (first, last) = (line_of(&code, start), line_of(&code, end));
            test[first..=last.min(code.lines().count() - 1)].fill(true);
        }
        Self { code, test }
    }

    /// All the code, as one text.
    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// Its lines, in order.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let lines = self.code.lines().zip(&self.test).enumerate();
        lines.map(|(index, (code, test))| Line { number: index + 1, code, test: *test })
    }

    /// The line, from 1, that contains the byte at this offset of [`Self::code`].
    pub(crate) fn line(&self, offset: usize) -> Line<'_> {
        let index = line_of(&self.code, offset);
        let code = self.code.lines().nth(index).unwrap_or_default();
        Line { number: index + 1, code, test: self.test.get(index).copied().unwrap_or_default() }
    }
}

/// The index of the line that contains an offset.
fn line_of(code: &str, offset: usize) -> usize {
    code.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

/// The offset at which the item that begins at `from` ends: with its block or its semicolon.
pub(crate) fn item_end(code: &str, from: usize) -> usize {
    let mut depth = 0_i32;
    for (at, byte) in code.bytes().enumerate().skip(from) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' => depth -= 1,
            b'}' if depth <= 1 => return at,
            b'}' => depth -= 1,
            b';' if depth == 0 => return at,
            _ => {}
        }
    }
    code.len()
}

/// The text with comments and the insides of literals replaced by spaces. Line ends stay.
fn blank(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (kept, hidden, end) = opaque(rest).unwrap_or((first.len_utf8(), 0, 0));
        let (keep, after) = rest.split_at(kept);
        let (hide, after) = after.split_at(hidden);
        let (close, after) = after.split_at(end);
        code.push_str(keep);
        // One space per byte: offsets in the code are offsets in the file.
        code.extend(hide.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        code.push_str(close);
        rest = after;
    }
    code
}

/// If the text begins with a comment or a literal: the lengths of its opening, its inside and its
/// closing.
fn opaque(text: &str) -> Option<(usize, usize, usize)> {
    let bytes = text.as_bytes();
    match (bytes.first()?, bytes.get(1)) {
        (b'/', Some(b'/')) => Some((0, text.find('\n').unwrap_or(text.len()), 0)),
        (b'/', Some(b'*')) => Some((0, block_comment(text), 0)),
        (b'"', _) => Some(closed(text, 1, escaped_end(&text[1..], b'"'), 1)),
        (b'r', Some(b'"' | b'#')) => {
            let hashes = bytes[1..].iter().take_while(|byte| **byte == b'#').count();
            let close = format!("\"{}", "#".repeat(hashes));
            let open = 2 + hashes;
            // `r#name` is an identifier.
            (bytes.get(open - 1) == Some(&b'"'))
                .then(|| closed(text, open, text[open..].find(&close), close.len()))
        }
        (b'\'', Some(b'\\')) => Some(closed(text, 1, escaped_end(&text[1..], b'\''), 1)),
        // A letter and a quote make a literal; a letter alone a lifetime.
        (b'\'', Some(_)) => {
            let letter = text[1..].chars().next()?.len_utf8();
            (bytes.get(1 + letter) == Some(&b'\'')).then_some((1, letter, 1))
        }
        _ => None,
    }
}

/// The lengths of a literal whose inside has this length; of the whole rest if it never ends.
fn closed(text: &str, open: usize, inside: Option<usize>, close: usize) -> (usize, usize, usize) {
    inside.map_or((open, text.len() - open, 0), |inside| (open, inside, close))
}

/// The offset of the first `quote` without a backslash.
fn escaped_end(inside: &str, quote: u8) -> Option<usize> {
    let mut bytes = inside.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            byte if byte == quote => return Some(at),
            _ => {}
        }
    }
    None
}

/// The length of a block comment; they nest.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_u32, 0);
    while at < text.len() {
        match text.as_bytes().get(at..at + 2) {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") if depth == 1 => return at + 2,
            Some(b"*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_without_moving_code() {
        let text = "a // c1\nb /* c2 /* c3 */ é */ c\n\"s1 \\\" s2\" r#\"s3 \" s4\"# 'x' '\\'' '\"' &'static d b\"s5\"\n";
        let code = blank(text);
        assert_eq!(code.len(), text.len());
        for hidden in ["c1", "c2", "c3", "s1", "s2", "s3", "s4", "s5", "x", "é"] {
            assert!(!code.contains(hidden), "`{hidden}` is not code: {code}");
        }
        let words: Vec<&str> = code.split_whitespace().filter(|word| word.len() == 1).collect();
        assert_eq!(words[..3], ["a", "b", "c"]);
        assert!(code.contains("&'static d b\"  \""), "{code}");
    }

    #[test]
    fn an_unterminated_literal_blanks_the_rest() {
        assert_eq!(blank("a \"b\nc"), "a \" \n ");
        assert_eq!(blank("a /* b"), "a     ");
    }

    #[test]
    fn only_the_item_under_cfg_test_counts_as_test_code() {
        let text = "fn a() {}\n#[cfg(test)]\n#[allow(dead_code)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n\
                    #[cfg(test)]\nuse x::{y, z};\nfn d() {}\n";
        let test: Vec<bool> = Source::new(text).lines().map(|line| line.test).collect();
        assert_eq!(test, [false, true, true, true, true, true, false, true, true, false]);
    }
}
