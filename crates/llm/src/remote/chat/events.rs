//! Server-sent events: bytes in, the data of whole events out.

/// The events of one stream. Comments, ids and event names are skipped: on this wire the data
/// says everything.
#[derive(Debug, Default)]
pub(super) struct Events {
    bytes: Vec<u8>,
    /// Up to here the bytes have been given out.
    read: usize,
}

impl Events {
    /// Takes what the network brought.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.read);
        self.read = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The data of the next line that has any. No server spreads the data of one event over
    /// several lines here, so that a line is an event.
    pub(super) fn next(&mut self) -> Option<&[u8]> {
        loop {
            let end = self.bytes[self.read..].iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
            let line = self.read..self.read + end;
            self.read = line.end + 1;
            if data(&self.bytes[line.clone()]).is_some() {
                return data(&self.bytes[line]);
            }
        }
    }

    /// How many bytes wait for the end of their line.
    pub(super) fn unread(&self) -> usize {
        self.bytes.len() - self.read
    }

    /// The data of a last line that no line end follows.
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

    /// The data of all events when the stream comes in pieces of this many bytes.
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
    fn events_are_the_same_however_the_bytes_arrive() {
        let stream = ": hello\r\nid: 7\r\ndata: {\"a\": \"ü\"}\r\n\r\n\nevent: x\ndata:{}\n\ndata: \n\rdata: c\r\rdata: [DONE]";
        for piece in 1..=stream.len() {
            assert_eq!(read(stream, piece), [r#"{"a": "ü"}"#, "{}", "c", "[DONE]"], "in pieces of {piece}");
        }
    }
}
