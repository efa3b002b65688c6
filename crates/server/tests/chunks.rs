//! A client of the stream of an exploration, like a browser's `EventSource`.

use futures::{StreamExt, stream::BoxStream};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;

use crate::{site::Site, stream::within};

/// An open stream of chunks.
pub(crate) struct Chunks {
    pieces: BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    buffer: Vec<u8>,
    /// The id of the last event, as a browser sends it when it reconnects.
    pub(crate) last_id: Option<String>,
}

impl Chunks {
    /// Starts an exploration by `POST`.
    pub(crate) async fn post(site: &Site, body: &Value) -> Self {
        Self::open(site.request(Method::POST, "/agent/stream").json(body)).await
    }

    /// Opens a stream by `GET`, after the event with this id if there is one.
    pub(crate) async fn get(site: &Site, query: &str, last_id: Option<&str>) -> Self {
        let request = site.request(Method::GET, &format!("/agent/stream{query}"));
        Self::open(match last_id {
            Some(id) => request.header("last-event-id", id),
            None => request,
        })
        .await
    }

    pub(crate) async fn open(request: RequestBuilder) -> Self {
        Self::of(request.send().await.expect("an answer")).await
    }

    pub(crate) async fn of(response: Response) -> Self {
        if response.status() != 200 {
            panic!("{}: {}", response.status(), response.text().await.unwrap_or_default());
        }
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { pieces: response.bytes_stream().boxed(), buffer: Vec::new(), last_id: None }
    }

    /// The next chunk; none once the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(chunk) = self.take() {
                return Some(chunk);
            }
            let piece = within("a piece of the stream", self.pieces.next()).await?;
            self.buffer.extend_from_slice(&piece.expect("the connection stands"));
        }
    }

    /// The chunks up to and including the first of this type.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut seen = Vec::new();
        loop {
            let Some(chunk) = self.next().await else { panic!("no `{kind}` among {seen:#?}") };
            let is_it = chunk["type"] == kind;
            seen.push(chunk);
            if is_it {
                return seen;
            }
        }
    }

    /// Reads so many bytes more, cuts the connection, and returns the chunks that arrived whole.
    pub(crate) async fn cut_after(mut self, mut bytes: usize) -> (Vec<Value>, Option<String>, Ended) {
        let mut seen = Vec::new();
        let mut ended = Ended::Cut;
        loop {
            while let Some(chunk) = self.take() {
                seen.push(chunk);
            }
            let Some(piece) = within("a piece of the stream", self.pieces.next()).await else {
                ended = Ended::Over;
                break;
            };
            let piece = piece.expect("the connection stands");
            let taken = piece.len().min(bytes);
            self.buffer.extend_from_slice(&piece[..taken]);
            bytes -= taken;
            if bytes == 0 {
                while let Some(chunk) = self.take() {
                    seen.push(chunk);
                }
                break;
            }
        }
        (seen, self.last_id, ended)
    }

    /// Takes an event that has arrived whole: what is cut off in the middle of one is lost, as for a browser.
    fn take(&mut self) -> Option<Value> {
        loop {
            let end = self.buffer.windows(2).position(|two| two == b"\n\n")?;
            let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
            let block = String::from_utf8(block).expect("UTF-8");
            let mut data = None;
            for line in block.lines() {
                if let Some(id) = line.strip_prefix("id: ") {
                    self.last_id = Some(id.to_owned());
                }
                data = line.strip_prefix("data: ").map(str::to_owned).or(data);
            }
            // Anything else is a heartbeat.
            if let Some(data) = data {
                return Some(serde_json::from_str(&data).expect("JSON"));
            }
        }
    }
}

/// How reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The client cut the connection.
    Cut,
    /// The server had sent everything.
    Over,
}
