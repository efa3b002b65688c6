//! Parses server-sent events: bytes in, the data of whole events out.

/// The events of one stream. Comments, ids and event names are skipped: in this protocol the data contains
/// everything.
#[derive(Debug, Default)]
pub(super) struct Events {
    bytes: Vec<u8>,
    /// The offset up to which the bytes have been returned.
    read: usize,
}

impl Events {
    /// Adds bytes from the network.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.read);
        self.read = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the data of the next line that has any. No server of this protocol spreads the data of one
    /// event over several lines, so a line is an event.
    pub(super) fn next(&mut self) -> Option<&[u8]> {
        loop {
            let end = memchr::memchr2(b'\n', b'\r', &self.bytes[self.read..])?;
            let line = self.read..self.read + end;
            self.read = line.end + 1;
            if data(&self.bytes[line.clone()]).is_some() {
                return data(&self.bytes[line]);
            }
        }
    }

    /// Returns how many bytes wait for the end of their line.
    pub(super) fn unread(&self) -> usize {
        self.bytes.len() - self.read
    }

    /// Returns the data of a last line without a line end.
    pub(super) fn rest(&self) -> Option<&[u8]> {
        data(&self.bytes[self.read..])
    }
}

fn data(line: &[u8]) -> Option<&[u8]> {
    line.strip_prefix(b"data:").map(<[u8]>::trim_ascii).filter(|data| !data.is_empty())
}

#[cfg(test)]
mod tests {
    use super::Events;

    /// Returns the data of all events if the stream arrives in pieces of this many bytes.
    fn read(stream: &str, piece: usize) -> Vec<String> {
        let mut events = Events::default();
        let mut all = Vec::new();
        for bytes in stream.as_bytes().chunks(piece) {
            events.feed(bytes);
            while let Some(data) = events.next() {
                all.push(String::from_utf8(data.to_vec()).unwrap());
            }
        }
        all.extend(events.rest().map(|data| String::from_utf8(data.to_vec()).unwrap()));
        all
    }

    #[test]
    fn events_are_parsed_the_same_however_the_bytes_are_split() {
        let stream = ": hello\r\nid: 7\r\ndata: {\"a\": \"ü\"}\r\n\r\n\nevent: x\ndata:{}\n\ndata: \n\rdata: c\r\rdata: [DONE]";
        for piece in 1..=stream.len() {
            assert_eq!(read(stream, piece), [r#"{"a": "ü"}"#, "{}", "c", "[DONE]"], "in pieces of {piece}");
        }
    }
}
