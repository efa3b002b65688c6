//! A WebSocket as the texts that it brings and takes, whichever side has opened it.

use futures::{Sink, SinkExt, Stream, StreamExt, future};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message as Frame, protocol::WebSocketConfig},
};

/// The largest message: a piece of an answer, or what a node follows.
const MOST_BYTES: usize = 16 << 20;

/// The texts that a WebSocket brings, and the way for those to send. Other frames are no texts.
pub(crate) trait Texts:
    Stream<Item = Result<Option<String>, String>> + Sink<String, Error = String> + Send + Unpin
{
}

impl<T> Texts for T where
    T: Stream<Item = Result<Option<String>, String>> + Sink<String, Error = String> + Send + Unpin
{
}

/// How both sides open one.
pub(crate) fn config() -> WebSocketConfig {
    WebSocketConfig::default().max_message_size(Some(MOST_BYTES)).max_frame_size(Some(MOST_BYTES))
}

/// The texts of a WebSocket.
pub(crate) fn texts(socket: WebSocketStream<TcpStream>) -> impl Texts {
    let texts = socket.map(|frame| match frame {
        Ok(Frame::Text(text)) => Ok(Some(text.to_string())),
        Ok(_) => Ok(None),
        Err(error) => Err(error.to_string()),
    });
    let texts = texts.sink_map_err(|error| error.to_string());
    texts.with(|text: String| future::ready(Ok::<_, String>(Frame::Text(text.into()))))
}
