//! Parses server-sent events as they arrive.

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Message {
    /// Its id.
    pub(super) id: String,
    /// Its name.
    pub(super) event: String,
    /// Its data.
    pub(super) data: String,
}

/// Parses a stream; pieces may end anywhere.
#[derive(Debug, Default)]
pub(super) struct Parser {
    /// The part of the current line that has arrived.
    line: Vec<u8>,
    message: Message,
}

impl Parser {
    /// Returns the messages that this piece completes.
    pub(super) fn take(&mut self, piece: &[u8]) -> Vec<Message> {
        let mut whole = Vec::new();
        for byte in piece {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches('\r');
            if !line.is_empty() {
                self.field(line);
                continue;
            }
            let message = std::mem::take(&mut self.message);
            if !message.data.is_empty() {
                whole.push(message);
            }
        }
        whole
    }

    fn field(&mut self, line: &str) {
        // A line that begins with a colon is a comment: a heartbeat.
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" => value.clone_into(&mut self.message.id),
            "event" => value.clone_into(&mut self.message.event),
            "data" if self.message.data.is_empty() => value.clone_into(&mut self.message.data),
            "data" => {
                self.message.data.push('\n');
                self.message.data.push_str(value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sse_messages_are_parsed_whole_however_the_stream_is_split() {
        let stream =
            ": alive\n\nid: 1\nevent: item\ndata: {\"a\":\ndata: \"ü\"}\n\nevent: delta\r\ndata:x\r\n\r\n";
        for size in 1..stream.len() {
            let mut parser = Parser::default();
            let messages: Vec<Message> =
                stream.as_bytes().chunks(size).flat_map(|piece| parser.take(piece)).collect();
            let message = |id: &str, event: &str, data: &str| Message {
                id: id.into(),
                event: event.into(),
                data: data.into(),
            };
            assert_eq!(
                messages,
                [message("1", "item", "{\"a\":\n\"ü\"}"), message("", "delta", "x")],
                "cut by {size}"
            );
        }
    }
}
