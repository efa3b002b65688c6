//! A client of an event stream, like a browser's.

use std::time::Duration;

use futures::{StreamExt, stream::BoxStream};
use reqwest::{Response, header::HeaderMap};
use serde_json::Value;

/// How long a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for something that must happen in time, however many heartbeats arrive.
pub(crate) async fn within<T>(what: &str, happens: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, happens)
        .await
        .unwrap_or_else(|_| panic!("not within {PATIENCE:?}: {what}"))
}

/// An open event stream.
pub(crate) struct Stream {
    pub(crate) headers: HeaderMap,
    pieces: BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    buffer: String,
    /// How many heartbeats have come.
    pub(crate) heartbeats: usize,
    /// The number of the last event, once the stream has said that it caught up.
    pub(crate) caught_up: Option<u64>,
}

/// One event of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    pub(crate) id: Option<u64>,
    pub(crate) event: String,
    pub(crate) data: Value,
}

impl Frame {
    /// Whether this reports that an agent has a new status.
    pub(crate) fn is_status_of(&self, agent: &str, status: &str) -> bool {
        self.event == "agent_status" && self.data["agent"] == agent && self.data["status"] == status
    }
}

impl Stream {
    /// Opens a stream; the server must accept it.
    pub(crate) async fn open(request: reqwest::RequestBuilder) -> Self {
        Self::of(request.send().await.expect("an answer"))
    }

    fn of(response: Response) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let headers = response.headers().clone();
        let pieces = response.bytes_stream().boxed();
        Self { headers, pieces, buffer: String::new(), heartbeats: 0, caught_up: None }
    }

    /// The next event; none once the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.take_frame() {
                return Some(frame);
            }
            self.take_piece().await?;
        }
    }

    /// Takes an event that has arrived whole.
    fn take_frame(&mut self) -> Option<Frame> {
        while let Some((block, rest)) = self.buffer.split_once("\n\n") {
            let frame = frame(block);
            self.buffer = rest.to_owned();
            match frame {
                Some(frame) if frame.event == "caught_up" => self.caught_up = frame.data["last"].as_u64(),
                Some(frame) => return Some(frame),
                None => self.heartbeats += 1,
            }
        }
        None
    }

    async fn take_piece(&mut self) -> Option<()> {
        let piece = within("a sign of life", self.pieces.next()).await?;
        let piece = piece.expect("no cut in the middle");
        self.buffer.push_str(std::str::from_utf8(&piece).expect("whole characters"));
        Some(())
    }

    /// Reads events up to the first that fits.
    pub(crate) async fn until(mut self, fits: impl Fn(&Frame) -> bool) -> Vec<Frame> {
        self.read_until(fits).await
    }

    /// The same for a stream that stays open.
    pub(crate) async fn read_until(&mut self, fits: impl Fn(&Frame) -> bool) -> Vec<Frame> {
        let mut seen = Vec::new();
        let reads = async {
            loop {
                let frame = self.next().await.expect("an event that fits before the stream ends");
                seen.push(frame);
                if seen.last().is_some_and(&fits) {
                    return;
                }
            }
        };
        within("an event that fits", reads).await;
        seen
    }

    /// Waits until the stream has caught up; no event may come before that.
    pub(crate) async fn until_caught_up(&mut self) {
        let reads = async {
            loop {
                assert_eq!(self.take_frame(), None);
                if self.caught_up.is_some() {
                    return;
                }
                self.take_piece().await.expect("the stream goes on");
            }
        };
        within("all that was", reads).await;
    }

    /// Waits for a heartbeat.
    pub(crate) async fn heartbeat(&mut self) {
        let before = self.heartbeats;
        while self.heartbeats == before {
            let piece = within("a sign of life", self.pieces.next()).await;
            let piece = piece.expect("the stream goes on").expect("no cut in the middle");
            self.heartbeats += std::str::from_utf8(&piece).expect("text").matches(":\n\n").count();
        }
    }
}

/// Parses one block; `None` for a comment.
fn frame(block: &str) -> Option<Frame> {
    let field = |name: &str| {
        block.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim_start()))
    };
    let data = serde_json::from_str(field("data")?).expect("JSON");
    Some(Frame {
        id: field("id").map(|id| id.parse().expect("a number")),
        event: field("event").expect("a name").to_owned(),
        data,
    })
}
