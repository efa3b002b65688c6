//! A client of an exploration over a WebSocket.

use futures::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{
        Error, Message,
        client::IntoClientRequest as _,
        http::{HeaderName, HeaderValue},
        protocol::{CloseFrame, frame::coding::CloseCode},
    },
};

use crate::{site::Site, stream::within};

/// An open WebSocket.
pub(crate) struct Socket {
    pub(crate) inner: WebSocketStream<TcpStream>,
    /// The `eventId` of the last chunk.
    pub(crate) last_id: Option<String>,
}

/// The status of an answer other than 101, and its problem.
pub(crate) type Refusal = (u16, Value);

/// Asks for a WebSocket with these headers.
pub(crate) async fn connect(site: &Site, query: &str, headers: &[(&str, &str)]) -> Result<Socket, Refusal> {
    let stream = TcpStream::connect(site.address).await.expect("a connection");
    connect_over(stream, site, query, headers).await
}

/// The same for a client whose system takes little that is not read.
pub(crate) async fn connect_small(
    site: &Site,
    query: &str,
    headers: &[(&str, &str)],
) -> Result<Socket, Refusal> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let stream = socket.connect(site.address).await.expect("a connection");
    connect_over(stream, site, query, headers).await
}

async fn connect_over(
    stream: TcpStream,
    site: &Site,
    query: &str,
    headers: &[(&str, &str)],
) -> Result<Socket, Refusal> {
    let mut request = format!("ws://{}/agent/ws{query}", site.address).into_client_request().expect("a URL");
    for (name, value) in headers {
        let (name, value) = (HeaderName::try_from(*name).unwrap(), HeaderValue::try_from(*value).unwrap());
        request.headers_mut().insert(name, value);
    }
    match within("an answer", client_async(request, stream)).await {
        Ok((inner, _)) => Ok(Socket { inner, last_id: None }),
        Err(Error::Http(response)) => {
            let body = response.body().as_deref().unwrap_or_default();
            Err((response.status().as_u16(), serde_json::from_slice(body).unwrap_or_default()))
        }
        Err(error) => panic!("{error}"),
    }
}

impl Socket {
    pub(crate) async fn open(site: &Site, query: &str) -> Self {
        connect(site, query, &[]).await.unwrap_or_else(|refusal| panic!("{refusal:?}"))
    }

    pub(crate) async fn say(&mut self, message: &Value) {
        self.send(Message::text(message.to_string())).await;
    }

    pub(crate) async fn send(&mut self, message: Message) {
        within("it is sent", self.inner.send(message)).await.expect("the connection stands");
    }

    /// The next chunk or reply, or why the server closes.
    pub(crate) async fn next(&mut self) -> Result<Value, Option<CloseFrame>> {
        loop {
            let message = within("a message", self.inner.next()).await;
            match message.expect("a close frame comes first").expect("the connection stands") {
                Message::Text(text) => {
                    let value: Value = serde_json::from_str(&text).expect("JSON");
                    self.last_id = value["eventId"].as_str().map(str::to_owned).or(self.last_id.take());
                    return Ok(value);
                }
                Message::Ping(_) => {}
                Message::Close(frame) => return Err(frame),
                other => panic!("{other:?}"),
            }
        }
    }

    /// What comes up to and including the first of this type.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut seen = Vec::new();
        loop {
            let next = self.next().await.unwrap_or_else(|why| panic!("no `{kind}`, {why:?}: {seen:#?}"));
            let is_it = next["type"] == kind;
            seen.push(next);
            if is_it {
                return seen;
            }
        }
    }

    /// Says something, and returns the reply; chunks in between are dropped.
    pub(crate) async fn ask(&mut self, message: &Value) -> Value {
        self.say(message).await;
        self.until("reply").await.pop().unwrap()
    }

    /// The code with which the server closes, whatever comes before.
    pub(crate) async fn closed(&mut self) -> CloseCode {
        loop {
            if let Err(why) = self.next().await {
                return why.expect("a reason").code;
            }
        }
    }

    /// Waits for a ping.
    pub(crate) async fn ping(&mut self) {
        while !matches!(within("a ping", self.inner.next()).await, Some(Ok(Message::Ping(_)))) {}
    }

    /// Waits until the server has closed the connection itself.
    pub(crate) async fn end(mut self) {
        let reads = async { while let Some(Ok(_)) = self.inner.next().await {} };
        within("the connection ends", reads).await;
    }
}
