//! Reads the lines of a child server, one message each: a line that cannot be parsed ends the connection with
//! a reason. If it were skipped, the caller that expects it would wait until its timeout.

use std::{
    io,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, ReadBuf};

/// The longest line, in bytes: the limit of the protocol's implementation.
const LONGEST: usize = 16 << 20;
/// The maximum nesting depth of JSON: the limit of its parser.
const DEEPEST: usize = 127;

/// What was wrong with a line, if one was invalid.
pub(super) type LineError = Arc<OnceLock<&'static str>>;

/// Forwards lines to the parser of messages.
pub(super) struct Lines<R> {
    inner: R,
    line: Line,
    trouble: LineError,
}

impl<R> Lines<R> {
    pub(super) fn new(inner: R, trouble: LineError) -> Self {
        Self { inner, line: Line::default(), trouble }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        for byte in &buffer.filled()[before..] {
            if let Err(why) = self.line.take(*byte) {
                let _ = self.trouble.set(why);
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, why)));
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// The state of the current line.
#[derive(Debug, Default)]
struct Line {
    bytes: usize,
    depth: usize,
    /// Whether it can be a message; some servers write other output in between.
    is_object: bool,
    in_text: bool,
    is_escaped: bool,
}

impl Line {
    fn take(&mut self, byte: u8) -> Result<(), &'static str> {
        if byte == b'\n' {
            *self = Self::default();
            return Ok(());
        }
        self.is_object |= self.bytes == 0 && byte == b'{';
        self.bytes += 1;
        if self.bytes > LONGEST {
            return Err("it sent a message longer than 16 MiB");
        }
        match byte {
            _ if std::mem::take(&mut self.is_escaped) => {}
            b'\\' if self.in_text => self.is_escaped = true,
            b'"' => self.in_text = !self.in_text,
            b'{' | b'[' if !self.in_text => self.depth += 1,
            b'}' | b']' if !self.in_text => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if self.is_object && self.depth > DEEPEST {
            return Err("it sent a message that is nested deeper than 127 levels");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(bytes: impl IntoIterator<Item = u8>) -> Result<(), &'static str> {
        let mut line = Line::default();
        bytes.into_iter().try_for_each(|byte| line.take(byte))
    }

    #[test]
    fn a_line_that_is_nested_too_deep_or_too_long_is_rejected() {
        let nested = |levels: usize| format!("{{\"a\": {}{}}}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(taken(nested(126).bytes()), Ok(()));
        assert!(taken(nested(127).bytes()).is_err_and(|why| why.contains("nested")));
        assert_eq!(taken(format!("{}\n{{", "[".repeat(1_000)).bytes()), Ok(()), "no message");
        let text = format!(r#"{{"a": "\"{}"}}"#, "[".repeat(1_000));
        assert_eq!(taken(text.bytes()), Ok(()), "brackets in a text");
        assert!(taken(std::iter::repeat_n(b' ', LONGEST + 1)).is_err_and(|why| why.contains("longer")));
    }
}
